import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import lgan
from labelled_graphs import named_pair
from lgan import wl

PAIRS = [
    named_pair("hexagon", "two-triangles"),
    named_pair("prism", "k33"),
    named_pair("cube", "wagner"),
    named_pair("decalin", "bicyclopentyl"),
    named_pair("rook4x4", "shrikhande"),
    (nx.path_graph(4), nx.star_graph(3)),
]


@pytest.mark.parametrize("options", [{}, {"residual": True}, {"comb": "linear"}, {"squash": True}])
def test_a_random_network_separates_what_its_refinement_does(options: dict[str, object]) -> None:
    model = lgan.LGAN(1, 16, 8, **options)  # type: ignore[arg-type]
    result = wl.check(model, PAIRS, transform=lgan.EgoLineGraph(), test="lgan", seeds=[0, 1])
    assert result.separated == (True, True, False, False, False, True)
    assert result.beyond == ()
    assert result.num_separated == 3
    assert result.largest_control < 1e-13
    assert result.smallest_separation is not None
    assert result.smallest_separation > 1e-5


def test_weights_stay_as_they_are_without_seeds() -> None:
    model = lgan.LGAN(1, 8, 4)
    with torch.no_grad():
        model.head.weight.zero_()
    result = wl.check(model, PAIRS, transform=lgan.EgoLineGraph())
    assert result.separated == (False,) * 6
    assert result.differences == (0.0,) * 6
    assert next(model.parameters()).dtype == torch.float32


def test_a_model_that_reads_the_order_of_nodes_separates_nothing() -> None:
    def cheat(data: Data) -> Tensor:
        return data.edge_index[:, :5].double().flatten()

    result = wl.check(cheat, PAIRS)
    assert result.largest_control > 0.1
    assert result.num_separated == 0


def test_claims_beyond_the_refinement_are_listed() -> None:
    def spectrum(data: Data) -> Tensor:
        n = int(data.num_nodes)
        adjacency = torch.zeros(n, n, dtype=torch.float64)
        adjacency[data.edge_index[0], data.edge_index[1]] = 1
        return torch.linalg.eigvalsh(adjacency)

    result = wl.check(spectrum, PAIRS[:3], test="lgan-res")
    assert result.separated == (True, True, True)
    assert result.beyond == (2,)


def test_pyg_graphs_are_taken_with_their_features() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    a = Data(x=torch.tensor([[1.0], [2.0], [1.0]]), edge_index=edges)
    b = Data(x=torch.tensor([[2.0], [1.0], [2.0]]), edge_index=edges)
    result = wl.check(lambda data: data.x.sum(0), [(a, b), (a, a)], test="1-wl")
    assert result.separated == (True, False)
    assert a.x.dtype == torch.float32


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (lambda data: data.x.sum(0), {"seeds": [0]}, "Pass a `torch.nn.Module`"),
        (nn.Sequential(), {"seeds": [0]}, "need a module with a method `reset_parameters`"),
        (lambda data: data.x.sum(0) / 0, {}, "not finite"),
        (lambda data: data.x, {}, "vectors of one size"),
    ],
)
def test_unsuitable_models_are_refused(
    model: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        wl.check(model, [(nx.path_graph(3), nx.path_graph(4))], **options)  # type: ignore[arg-type]
