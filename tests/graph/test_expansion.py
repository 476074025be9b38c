import networkx as nx
import pytest
import torch

import reference
from lgan.graph import EgoLines, undirected_pairs
from lgan.graph.expansion import expand_classes


@pytest.mark.parametrize(
    "graph",
    [nx.complete_graph(6), nx.lollipop_graph(4, 3), nx.barbell_graph(5, 0), nx.path_graph(5)],
)
def test_merged_graphs_expand_to_themselves(graph: nx.Graph) -> None:
    lines, _ = EgoLines.compressed(reference.pair_index(graph), len(graph))
    edges, pair = expand_classes(lines.pair_index, lines.multiplicity)
    assert nx.is_isomorphic(nx.Graph(edges.t().tolist()), graph)
    assert torch.equal(edges, undirected_pairs(edges, len(graph)))
    assert pair.unique().numel() == lines.num_pairs


def test_no_edges_expand_to_none() -> None:
    edges, pair = expand_classes(torch.empty((2, 0), dtype=torch.int64), torch.ones(3))
    assert edges.shape == (2, 0)
    assert pair.numel() == 0
