"""A data set as both sides of a comparison read it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from benchmarks.config import BenchConfig
from benchmarks.peers import pyg_graphs
from lgan.data import DATASETS, RawGraphs, load_raw, node_features, triangle_pairs
from lgan.data.columns import Columns
from lgan.graph import EdgeFeatures, GraphUnion
from lgan.graph.segments import concat_ranges
from lgan.nn.readout import Readout


@dataclass(frozen=True)
class BothSides:
    """One set, twice.

    Attributes:
        union: As the library trains on it, twins merged.
        graphs: As PyG's ``TUDataset`` gives it.
        readout: Read-out of the usual protocol.
        note: What a reader must know: that this is a sample, or not the set at all.
    """

    union: GraphUnion
    graphs: list[Data]
    readout: Readout
    note: str = ""


def load_both(
    name: str,
    config: BenchConfig,
    *,
    sample: int | None = None,
    edges: Callable[[RawGraphs], Tensor] | None = None,
) -> BothSides:
    """A set for both sides, or a random sample of its graphs; a tiny one if ``quick``.

    Args:
        name: The set.
        config: Where from, and how thoroughly.
        sample: Graphs to draw; all unless given.
        edges: The features of the pairs of the set ``[P, d]``; none unless given.
    """
    raw = (
        _generated(name, config.seed)
        if config.quick
        else load_raw(name, root=config.root, mirror=config.mirror)
    )
    category, num_features = node_features(raw, "labels" if config.quick else _features(name))
    note = "quick: generated graphs instead" if config.quick else ""
    if sample is not None and sample < raw.num_graphs:
        note = f"a random sample of {sample} graphs on both sides"
        generator = torch.Generator().manual_seed(config.seed)
        ids = torch.randperm(raw.num_graphs, generator=generator)[:sample].sort().values
        raw, nodes = sample_graphs(raw, ids)
        category = category[nodes]
    pair_attr = None if edges is None else edges(raw)
    union = GraphUnion.build(
        category,
        raw.pair_index,
        raw.y,
        raw.node_ptr,
        num_features=num_features,
        num_classes=raw.num_classes,
        name=name,
        edges=None if pair_attr is None else EdgeFeatures.of(pair_attr),
    )
    graphs = pyg_graphs(raw, category, num_features, pair_attr)
    return BothSides(union.to(config.device), graphs, DATASETS[name].readout, note)


def sample_graphs(raw: RawGraphs, ids: Tensor) -> tuple[RawGraphs, Tensor]:
    """Some graphs of a set, in order, and which of its nodes they hold."""
    start = raw.node_ptr[ids]
    return raw.select(ids), concat_ranges(start, raw.node_ptr[ids + 1] - start)


def _generated(name: str, seed: int) -> RawGraphs:
    """A few graphs in place of a set, with bonds, as most sets have them."""
    raw = triangle_pairs(num_graphs=40, seed=seed)
    bonds = ["single" if pair % 3 else "double" for pair in range(raw.num_pairs)]
    return replace(raw, name=name, pairs=Columns.of_categories({"label": bonds}))


def _features(name: str) -> str:
    features = DATASETS[name].features
    # Both sides read categories: the sets of these benchmarks have no attributes in the tables.
    assert features in ("labels", "degree"), features
    return features
