"""The models by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import Tensor, nn

from lgan.catalogue import known
from lgan.graph import GraphUnion, Lift
from lgan.nn import LGAN
from lgan.zoo.cwn import CWN, cells_per_graph, lift_rings
from lgan.zoo.dcnn import DCNN
from lgan.zoo.dgcnn import DGCNN, sort_pool_size
from lgan.zoo.gin import GIN
from lgan.zoo.graph_kernels import (
    local_two_wl,
    propagation,
    random_walk,
    shortest_path,
    two_wl,
    wl_subtree,
)
from lgan.zoo.k_gnn import KGNN, lift_sets, sets_per_graph
from lgan.zoo.patchy_san import PatchySan
from lgan.zoo.ppgn import PPGN, check_size, pairs_of_nodes
from lgan.zoo.receptive_fields import mean_size, receptive_fields

Options = Mapping[str, Any]


@dataclass(frozen=True)
class NetworkSpec:
    """A network of the zoo.

    Attributes:
        build: Called with ``(in_channels, hidden_channels, out_channels, **options)``.
        power: Its place in the Weisfeiler-Leman hierarchy.
        reference: Where it comes from.
        compress: Whether it reads a graph of twin classes as it reads the graph itself.
        triangles: Whether it reads triangles; for the others they are not listed.
        captured: Whether a GPU may use CUDA graphs: a training step does not synchronise.
        lift: The transform it needs for given options.
        rows: Rows of its largest activations for every graph ``[G]``; by default the nodes.
        data_options: Options that the data set decides, from it and the options given.
        data_option_names: Names of these options.
        check: Raises an error, before any training, for a data set it cannot do; called with all
            settings of the experiment.
        defaults: Settings of its own paper that differ from the recipe.
        source: Where these settings are from.
    """

    build: Callable[..., nn.Module]
    power: str
    reference: str
    compress: bool = False
    triangles: bool = False
    captured: bool = False
    lift: Callable[[Options], Lift] | None = None
    rows: Callable[[GraphUnion], Tensor] | None = None
    data_options: Callable[[GraphUnion, Options], Options] | None = None
    data_option_names: tuple[str, ...] = ()
    check: Callable[[GraphUnion, Options], None] | None = None
    defaults: Options = field(default_factory=dict)
    source: str = "the protocol of Xu et al., 2019"


@dataclass(frozen=True)
class KernelSpec:
    """A graph kernel of the zoo, fitted with a support vector machine.

    Attributes:
        grams: Called with the raw graphs, a category for every node, the options, and a progress
            callback; returns the Gram matrices to choose from inside the training part
            (:class:`lgan.zoo.graph_kernels.Grams`).
        power: Its place in the Weisfeiler-Leman hierarchy.
        reference: Where it comes from.
        defaults: Options of its own paper.
        source: Where these options are from.
    """

    grams: Callable[..., Any]
    power: str
    reference: str
    defaults: Options = field(default_factory=dict)
    source: str = ""


ModelSpec = NetworkSpec | KernelSpec


def feature_sizes(union: GraphUnion, options: Options) -> Options:
    """The features of an edge and of a whole graph that a data set has, where it has any."""
    sizes = {"edge_dim": union.num_edge_features, "graph_dim": union.num_graph_features}
    return {name: size for name, size in sizes.items() if size}


def sizes_and_direction(union: GraphUnion, options: Options) -> Options:
    """The same, and whether the edges have a direction."""
    directed = {"directed": True} if union.edge_directed else {}
    return {**feature_sizes(union, options), **directed}


def _passes(epochs: int, *, batch_size: int, lr: float, lr_halving: int = 0) -> Options:
    """A training whose epochs are passes over the training part."""
    training = {"batch_size": batch_size, "lr": lr, "lr_halving": lr_halving}
    return {"epochs": epochs, "iterations": 0, **training}


_PPGN: Options = {
    "hidden": 400, "num_layers": 3, "readout": "max", **_passes(500, batch_size=5, lr=0.0001),
}  # fmt: skip
_KGNN: Options = {
    "hidden": 64, "num_layers": 3, "set_layers": 2, "connected": True, "touching": True,
    "aggregate": "mean", "set_readout": "mean", "dropout": 0.5,
    **_passes(50, batch_size=32, lr=0.001),
}  # fmt: skip
_CWN: Options = {
    "hidden": 64, "num_layers": 4, "max_ring": 6, "init": "mean", "readout": "sum", "dropout": 0.0,
    **_passes(150, batch_size=32, lr=0.001, lr_halving=20),
}  # fmt: skip

_lgan = partial(
    NetworkSpec,
    compress=True,
    triangles=True,
    captured=True,
    data_options=sizes_and_direction,
    data_option_names=("edge_dim", "directed", "graph_dim"),
)

MODELS: dict[str, ModelSpec] = {
    "lgan": _lgan(
        build=LGAN,
        power="above 1-WL on unlabelled graphs; incomparable with it on labelled ones",
        reference="Du et al., LGAN, AAAI 2026",
    ),
    "lgan-res": _lgan(
        build=partial(LGAN, residual=True),
        power="above 1-WL, below 3-WL",
        reference="Du et al., LGAN, AAAI 2026",
    ),
    "lgan-code": _lgan(
        build=LGAN,
        power="above LGAN-res, incomparable with 3-WL (275 of BREC's 400 pairs; 3-WL 270)",
        reference="LGAN-res with structural pair codes, docs/expressivity.md",
        defaults={"residual": True, "pair_code": "full"},
    ),
    "gin": NetworkSpec(
        build=GIN,
        power="1-WL where nodes have no labels; with labels, GIN-0 is weaker and GIN-ε is 1-WL",
        reference="Xu et al., How Powerful are Graph Neural Networks?, ICLR 2019",
        captured=True,
        data_options=feature_sizes,
        data_option_names=("edge_dim", "graph_dim"),
        defaults={"include_input": True},
    ),
    "dcnn": NetworkSpec(
        build=DCNN,
        power="below 1-WL: it compares averages over random walks",
        reference="Atwood and Towsley, Diffusion-Convolutional Neural Networks, NIPS 2016",
        captured=True,
        defaults={"num_hops": 3},
        source="three hops: the authors' program (the paper tries 2 to 5); the training is that "
        "of Xu et al., 2019, in place of AdaGrad with early stopping",
    ),
    "patchy-san": NetworkSpec(
        build=PatchySan,
        power="incomparable with 1-WL: it also sees how many nodes are at which distance, but "
        "only the nearest ten",
        reference="Niepert et al., Learning Convolutional Neural Networks for Graphs, ICML 2016",
        lift=receptive_fields,
        data_options=mean_size,
        data_option_names=("num_fields",),
        defaults={"hidden": 128, "field_size": 10, "dropout": 0.5, "lr": 0.001},
        source="the paper's single architecture, k = 10; it tunes epochs and batch size on each "
        "set, so that these are those of Xu et al., 2019, and Adam at its usual rate replaces "
        "RMSProp at its usual rate",
    ),
    "dgcnn": NetworkSpec(
        build=DGCNN,
        power="at most 1-WL",
        reference="Zhang et al., An End-to-End Deep Learning Architecture for Graph "
        "Classification, AAAI 2018",
        captured=True,
        data_options=sort_pool_size,
        data_option_names=("k",),
        defaults={"dropout": 0.5, **_passes(300, batch_size=50, lr=0.0001)},
        source="the paper and, for the training, the authors' script for MUTAG (batches of 50; "
        "later versions take single graphs, which are 50 times as many steps)",
    ),
    "ppgn": NetworkSpec(
        build=PPGN,
        power="3-WL (2-FWL)",
        reference="Maron et al., Provably Powerful Graph Networks, NeurIPS 2019",
        rows=pairs_of_nodes,
        check=check_size,
        defaults=_PPGN,
        source="the paper and, for the training, the authors' program for MUTAG, which gives "
        "D^-1/2 A D^-1/2 to all channels where the paper, and we, give A to one, has a ReLU behind "
        "the last map of a block, and no node features on IMDB and COLLAB",
    ),
    "rw": KernelSpec(
        grams=random_walk,
        power="at most 1-WL",
        reference="Gärtner et al., On Graph Kernels: Hardness Results and Efficient Alternatives, "
        "COLT 2003",
        source="decay by the rule of Shervashidze et al., JMLR 2011, which Zhang et al., AAAI "
        "2018, the source of the figures quoted, follow",
    ),
    "sp": KernelSpec(
        grams=shortest_path,
        power="incomparable with 1-WL",
        reference="Borgwardt and Kriegel, Shortest-Path Kernels on Graphs, ICDM 2005",
        source="no parameter",
    ),
    "pk": KernelSpec(
        grams=propagation,
        power="at most 1-WL",
        reference="Neumann et al., Propagation Kernels, Machine Learning 2016",
        defaults={"rounds": 5, "bin_width": 1e-3},
        source="Zhang et al., DGCNN, AAAI 2018, the source of the figures quoted",
    ),
    "wl": KernelSpec(
        grams=wl_subtree,
        power="1-WL",
        reference="Shervashidze et al., Weisfeiler-Lehman Graph Kernels, JMLR 2011",
        defaults={"rounds": 5},
        source="rounds from 0 to 5: Morris et al., NeurIPS 2020",
    ),
    "2-wl": KernelSpec(
        grams=two_wl,
        power="at most 1-WL; weaker on labelled graphs",
        reference="Morris et al., Weisfeiler and Leman Go Neural, AAAI 2019; Glocalized "
        "Weisfeiler-Lehman Graph Kernels, ICDM 2017",
        defaults={"rounds": 5},
        source="rounds from 0 to 5: Morris et al., AAAI 2019",
    ),
    "delta-2-lwl": KernelSpec(
        grams=local_two_wl,
        power="above 1-WL, at most 3-WL (2-FWL)",
        reference="Morris et al., Weisfeiler and Leman Go Sparse, NeurIPS 2020",
        defaults={"rounds": 5, "plus": False},
        source="the paper",
    ),
    "1-2-3-gnn": NetworkSpec(
        build=KGNN,
        triangles=True,
        power="above 1-WL (with sums; means see shares, not counts); sets with local neighbours "
        "and 3-WL are incomparable",
        reference="Morris et al., Weisfeiler and Leman Go Neural, AAAI 2019",
        lift=lift_sets,
        rows=sets_per_graph,
        defaults=_KGNN,
        source="the authors' program for MUTAG (for IMDB-BINARY and PROTEINS: `touching` false, "
        "batches of 20, 100 epochs, the rate lowered where the validation loss stays; for PROTEINS "
        "means as read-out, where ours is that of the set), but 3-sets "
        "begin with the results of 2-sets, as in the paper, and not with those of nodes",
    ),
    "cwn": NetworkSpec(
        build=CWN,
        power="above 1-WL, not below 3-WL",
        reference="Bodnar et al., Weisfeiler and Lehman Go Cellular: CW Networks, NeurIPS 2021",
        compress=True,
        lift=lift_rings,
        rows=cells_per_graph,
        defaults=_CWN,
        source="the authors' script for NCI109; the paper searches, on each set, batches of 32 or "
        "128, dropout 0 or 0.5, width 16 or 64, rate 0.001 or 0.01 with four schedules, and both "
        "initial features",
    ),
}


def model_spec(name: str) -> ModelSpec:
    """The entry of a model, or an error that names the nearest."""
    return MODELS[known(name, MODELS, "model")]
