"""The data sets the library knows by name."""

from dataclasses import dataclass
from typing import Literal

from lgan.catalogue.names import known

# What a node can be told of itself, see `lgan.data.node_features`.
FEATURES = ("labels", "attributes", "labels+attributes", "degree", "degree-bins", "constant")
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
    row.name: row
    for row in (
        DatasetSpec(
            "MUTAG", "molecule", 188, 2, "labels", "sum",
            "Nitroaromatic compounds, mutagenic or not",
            "bbf2e1a9e1a8baea7b1f50147e6307da487cb3289bb13135d4a20aa63444d275",
        ),
        DatasetSpec(
            "PTC_MR", "molecule", 344, 2, "labels", "sum",
            "Compounds, carcinogenic to male rats or not",
            "538dddb9c34ff51e67fbd9ce854004252b3515433cd9fed697ec36b5405a2499",
        ),
        DatasetSpec(
            "PTC_GIN", "molecule", 344, 2, "labels", "sum",
            "PTC_MR with explicit hydrogens, the PTC of GIN's tables",
            "6ca17d64f235c5c7cf38393e85bc7094e43e31396f8b11644d1dac80692174cf",
            downloadable=False,
        ),
        DatasetSpec(
            "Mutagenicity", "molecule", 4337, 2, "labels", "sum",
            "Compounds, mutagenic (class 0) or not, with bond types",
            "b3ba69c84f2c3560e08166fdf86cac7a7cb3085c05fa7bfd88d23203ce34a0e0",
        ),
        DatasetSpec(
            "PROTEINS", "protein", 1113, 2, "labels", "sum",
            "Secondary structure elements of proteins, enzyme or not",
            "6e7fe62a1fc104988ebc072c2153e9a170f02d7e5b4f7b16d3419f5e0843e986",
        ),
        DatasetSpec(
            "IMDB-BINARY", "social", 1000, 2, "degree", "mean",
            "Actors who played together, action or romance",
            "34eb6cdfbb60bcc730cbaaff9d5d744d80cb1bf7e310217ccecc8a8797971fc6",
        ),
        DatasetSpec(
            "IMDB-MULTI", "social", 1500, 3, "degree", "mean",
            "Actors who played together, comedy, romance or science fiction",
            "a1556e6c3035a8847409b0756618fbeeaca50d40ac45c1f159a1ac97baa60b7b",
        ),
        DatasetSpec(
            "COLLAB", "social", 5000, 3, "degree", "mean",
            "Scientists who wrote together, three fields of physics",
            "da7640202f1449981ddc20914bc331d4c4d61566fb2c979d9d1d47dff527b5fe",
        ),
        DatasetSpec(
            "triangles", "synthetic", 200, 2, "labels", "sum",
            "Pairs that 1-WL cannot separate: triangles against hexagons",
            downloadable=False, paired=True,
        ),
        DatasetSpec(
            "motifs-ba", "synthetic", 1000, 2, "labels", "sum",
            "A house or a 5-cycle planted in a Barabási-Albert graph",
            downloadable=False,
        ),
        DatasetSpec(
            "motifs-tree", "synthetic", 1000, 2, "labels", "sum",
            "A house or a 5-cycle planted in a random tree",
            downloadable=False,
        ),
        DatasetSpec(
            "csl", "synthetic", 150, 10, "labels", "sum",
            "Circular skip links: 4-regular graphs told apart by their skip",
            downloadable=False,
        ),
        DatasetSpec(
            "regular", "synthetic", 300, 3, "labels", "sum",
            "Random regular graphs of degree 3, 4 or 5",
            downloadable=False,
        ),
    )
}  # fmt: skip


def dataset_spec(name: str) -> DatasetSpec:
    """The row of a data set, or an error that names the nearest.

    Example:
        >>> dataset_spec("MUTAG").graphs
        188
    """
    return DATASETS[known(name, DATASETS, "data set")]
