"""The data sets the library knows by name."""

from dataclasses import dataclass
from typing import Literal

from lgan.catalogue.names import known

__all__ = ["DATASETS", "EDGE_FEATURES", "FEATURES", "DatasetSpec", "dataset_spec"]

# What a node can be told of itself, see `lgan.data.node_features`.
FEATURES = ("labels", "attributes", "labels+attributes", "degree", "constant")
EDGE_FEATURES = ("all", "labels", "attributes", "none")


@dataclass(frozen=True)
class DatasetSpec:
    """What is known of a data set before it is read.

    Args:
        name: The name it is asked for by.
        kind: What its graphs are; synthetic sets are generated, the others read from files.
        graphs: The number of graphs.
        classes: The number of classes.
        features: The node features of the usual protocol, see `node_features`.
        readout: The read-out of the usual protocol.
        description: One line for people.
        content_sha256: The checksum of what its files hold, `RawGraphs.content_sha256`. It does
            not depend on how they were packed.
        downloadable: Whether the TU Dortmund collection has it.
        paired: Whether graphs ``2i`` and ``2i + 1`` are partners of different classes.
    """

    name: str
    kind: Literal["molecule", "protein", "social", "synthetic"]
    graphs: int
    classes: int
    features: Literal["labels", "labels+attributes", "degree"]
    readout: Literal["sum", "mean"]
    description: str
    content_sha256: str | None = None
    downloadable: bool = True
    paired: bool = False


DATASETS: dict[str, DatasetSpec] = {
    "MUTAG": DatasetSpec(
        name="MUTAG",
        kind="molecule",
        graphs=188,
        classes=2,
        features="labels",
        readout="sum",
        description="Nitroaromatic compounds, mutagenic or not",
        content_sha256="bbf2e1a9e1a8baea7b1f50147e6307da487cb3289bb13135d4a20aa63444d275",
    ),
    "PTC_MR": DatasetSpec(
        name="PTC_MR",
        kind="molecule",
        graphs=344,
        classes=2,
        features="labels",
        readout="sum",
        description="Compounds, carcinogenic to male rats or not",
        content_sha256="538dddb9c34ff51e67fbd9ce854004252b3515433cd9fed697ec36b5405a2499",
    ),
    "PTC_GIN": DatasetSpec(
        name="PTC_GIN",
        kind="molecule",
        graphs=344,
        classes=2,
        features="labels",
        readout="sum",
        description="PTC_MR with explicit hydrogens, the PTC of GIN's tables",
        content_sha256="6ca17d64f235c5c7cf38393e85bc7094e43e31396f8b11644d1dac80692174cf",
        downloadable=False,
    ),
    "Mutagenicity": DatasetSpec(
        name="Mutagenicity",
        kind="molecule",
        graphs=4337,
        classes=2,
        features="labels",
        readout="sum",
        description="Compounds, mutagenic (class 0) or not, with bond types",
        content_sha256="b3ba69c84f2c3560e08166fdf86cac7a7cb3085c05fa7bfd88d23203ce34a0e0",
    ),
    "PROTEINS": DatasetSpec(
        name="PROTEINS",
        kind="protein",
        graphs=1113,
        classes=2,
        features="labels",
        readout="sum",
        description="Secondary structure elements of proteins, enzyme or not",
        content_sha256="6e7fe62a1fc104988ebc072c2153e9a170f02d7e5b4f7b16d3419f5e0843e986",
    ),
    "IMDB-BINARY": DatasetSpec(
        name="IMDB-BINARY",
        kind="social",
        graphs=1000,
        classes=2,
        features="degree",
        readout="mean",
        description="Actors who played together, action or romance",
        content_sha256="34eb6cdfbb60bcc730cbaaff9d5d744d80cb1bf7e310217ccecc8a8797971fc6",
    ),
    "IMDB-MULTI": DatasetSpec(
        name="IMDB-MULTI",
        kind="social",
        graphs=1500,
        classes=3,
        features="degree",
        readout="mean",
        description="Actors who played together, comedy, romance or science fiction",
        content_sha256="a1556e6c3035a8847409b0756618fbeeaca50d40ac45c1f159a1ac97baa60b7b",
    ),
    "COLLAB": DatasetSpec(
        name="COLLAB",
        kind="social",
        graphs=5000,
        classes=3,
        features="degree",
        readout="mean",
        description="Scientists who wrote together, three fields of physics",
        content_sha256="da7640202f1449981ddc20914bc331d4c4d61566fb2c979d9d1d47dff527b5fe",
    ),
    "triangles": DatasetSpec(
        name="triangles",
        kind="synthetic",
        graphs=200,
        classes=2,
        features="labels",
        readout="sum",
        description="Pairs that 1-WL cannot separate: triangles against hexagons",
        downloadable=False,
        paired=True,
    ),
    "motifs-ba": DatasetSpec(
        name="motifs-ba",
        kind="synthetic",
        graphs=1000,
        classes=2,
        features="labels",
        readout="sum",
        description="A house or a 5-cycle planted in a Barabási-Albert graph",
        downloadable=False,
    ),
    "motifs-tree": DatasetSpec(
        name="motifs-tree",
        kind="synthetic",
        graphs=1000,
        classes=2,
        features="labels",
        readout="sum",
        description="A house or a 5-cycle planted in a random tree",
        downloadable=False,
    ),
    "csl": DatasetSpec(
        name="csl",
        kind="synthetic",
        graphs=150,
        classes=10,
        features="labels",
        readout="sum",
        description="Circular skip links: 4-regular graphs told apart by their skip",
        downloadable=False,
    ),
    "regular": DatasetSpec(
        name="regular",
        kind="synthetic",
        graphs=300,
        classes=3,
        features="labels",
        readout="sum",
        description="Random regular graphs of degree 3, 4 or 5",
        downloadable=False,
    ),
}


def dataset_spec(name: str) -> DatasetSpec:
    """The row of a data set, or an error that names the nearest.

    Example:
        >>> dataset_spec("MUTAG").graphs
        188
    """
    return DATASETS[known(name, DATASETS, "data set")]
