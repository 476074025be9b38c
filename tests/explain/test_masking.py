"""What mask values of 0 and 1 are: edges deleted and kept, but for what was computed before."""

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GraphConv, global_add_pool

import lgan
import reference
from explained_graphs import random_graph as graph
from explained_graphs import shake
from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.explain.masking import evaluating, masked_outputs
from lgan.train.stack import stack
from lgan.zoo import GIN, MODELS
from stacks import build_stack


def without(data: Data, kept: Tensor) -> Data:
    """The graph with only the kept edges, each given once."""
    pairs = lgan.EgoLines.from_edge_index(data.edge_index, data.num_nodes).pair_index[:, kept]
    return Data(x=data.x, edge_index=torch.cat([pairs, pairs.flip(0)], 1), num_nodes=data.num_nodes)


def zero_one_masks(pairs: int) -> Tensor:
    masks = torch.rand(4, pairs) < 0.6
    masks[0], masks[1] = False, True
    return masks


def assert_masks_delete_edges(model: nn.Module, data: Data, called=lambda kept: (kept,)) -> None:
    """A mask of zeros and ones gives what the model says of the graph with the kept edges alone."""
    union = MaskableUnion.of([MaskableGraph.of(data)])
    masks = zero_one_masks(union.num_pairs)
    got = masked_outputs(model, union, masks.double())
    for mask, outputs in zip(masks, got, strict=True):
        expected = model(*called(without(data, mask)))
        torch.testing.assert_close(outputs, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("fusion", ["concat", "sum", "mean", "gate"])
@pytest.mark.parametrize("comb", ["deepsets", "linear"])
@pytest.mark.parametrize("residual", [False, True])
def test_a_mask_of_zeros_and_ones_deletes_edges_and_their_triangles(residual, comb, fusion, norm):
    options = {"residual": residual, "comb": comb, "fusion": fusion, "norm": norm}
    model = shake(lgan.LGAN(3, 6, 2, num_layers=2, **options))
    assert_masks_delete_edges(model, graph(), lambda kept: (lgan.EgoLineGraph()(kept),))


class WithWeights(nn.Module):
    """A network of PyG with the signature its users write."""

    def __init__(self) -> None:
        super().__init__()
        self.first = GraphConv(3, 5)
        self.second = GCNConv(5, 2)

    def forward(self, x, edge_index, edge_weight=None, batch=None):
        h = self.first(x, edge_index, edge_weight).relu()
        return global_add_pool(self.second(h, edge_index, edge_weight), batch)


def test_networks_of_pyg_lose_masked_edges_too():
    model = shake(WithWeights())
    assert_masks_delete_edges(model, graph(1), lambda kept: (kept.x, kept.edge_index))


@pytest.mark.parametrize("name", ["dcnn", "dgcnn", "ppgn", "gin"])
def test_networks_of_the_zoo_lose_masked_edges_too(name):
    torch.manual_seed(0)
    assert_masks_delete_edges(shake(MODELS[name].build(3, 4, 2)), graph(1))


def test_the_masks_of_a_network_of_pyg_are_taken_off_again():
    model = shake(GIN(3, 6, 2))
    data = graph(1)
    before = model(data)
    union = MaskableUnion.of([MaskableGraph.of(data)])
    masked_outputs(model, union, torch.zeros(1, union.num_pairs, dtype=torch.float64))
    torch.testing.assert_close(model(data), before, rtol=0, atol=0)


def test_several_graphs_get_the_outputs_they_get_alone():
    model = shake(lgan.LGAN(3, 6, 2, num_layers=2))
    maskables = [MaskableGraph.of(g) for g in (graph(0), graph(2, 7, 0.3), graph(3, 5, 1.0))]
    union = MaskableUnion.of(maskables)
    mask = torch.rand(3, union.num_pairs, dtype=torch.float64)
    together = masked_outputs(model, union, mask)
    for i, maskable in enumerate(maskables):
        part = mask[:, union.pair_ptr[i] : union.pair_ptr[i + 1]]
        alone = masked_outputs(model, MaskableUnion.of([maskable]), part)
        torch.testing.assert_close(together[:, i], alone[:, 0], rtol=1e-12, atol=1e-12)


class OwnNetwork(nn.Module):
    """A user's own network around the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = lgan.LGANConv(3, 4)

    def forward(self, data):
        return global_add_pool(self.conv(data.x, lgan.EgoLines.from_data(data)), data.batch)


def test_a_network_around_the_layer_sees_the_mask():
    assert_masks_delete_edges(
        shake(OwnNetwork()), graph(4), lambda kept: (lgan.EgoLineGraph()(kept),)
    )


@pytest.mark.parametrize("real", [False, True])
def test_masks_of_gine_equal_deleting_edges_with_their_features(real):
    data = graph()
    low, high = data.edge_index.min(0).values, data.edge_index.max(0).values
    kind = (low + 2 * high) % 4
    data.edge_attr = torch.nn.functional.one_hot(kind, 4).double() if real else kind
    torch.manual_seed(0)
    members = [MODELS["gin"].build(data.x.size(1), 4, 2, edge_dim=4).double() for _ in range(2)]
    union = MaskableUnion.of([MaskableGraph.of(data)])
    masks = torch.rand(3, union.num_pairs, generator=torch.Generator().manual_seed(1)) < 0.6
    masks[0] = True
    stacked = stack(members).eval()
    together = masked_outputs(stacked, union, masks.double().expand(2, -1, -1))
    for model, other in zip(members, together, strict=True):
        got = masked_outputs(model.eval(), union, masks.double())
        torch.testing.assert_close(got, other)
        for mask, outputs in zip(masks, got, strict=True):
            kept = union.to_columns(mask.double()) > 0
            rest = Data(
                x=data.x, edge_index=data.edge_index[:, kept], edge_attr=data.edge_attr[kept]
            )
            torch.testing.assert_close(outputs, model(rest), rtol=1e-10, atol=1e-10)
    found = lgan.attribute(stacked, data)  # the consensus also takes edges away
    assert found.complete
    assert float(found.edge_spread.max()) > 0


CODED = {"pair_code": "full", "num_layers": 2}


def test_along_a_mask_pair_codes_stay_those_of_the_whole_graph():
    data = graph(0)
    coded = shake(lgan.LGAN(3, 6, 2, **CODED))
    union = MaskableUnion.of([MaskableGraph.of(data, pair_code=CODED["pair_code"])])
    masks = zero_one_masks(union.num_pairs)[:3]
    masked = masked_outputs(coded, union, masks.double())
    deleted = torch.stack(
        [coded(lgan.EgoLineGraph(pair_code="full")(without(data, mask))) for mask in masks]
    )
    # Without any edge no code is read, and with all of them all are right.
    torch.testing.assert_close(masked[:2], deleted[:2], rtol=1e-12, atol=1e-12)
    assert (masked[2] - deleted[2]).abs().max() > 1e-3


def test_a_network_that_cannot_be_masked_is_refused():
    class Blind(nn.Module):
        def forward(self, data):
            return data.x.sum(0, keepdim=True)

    union = MaskableUnion.of([MaskableGraph.of(graph())])
    with pytest.raises(TypeError, match=r"cannot be masked.*Add an argument `edge_weight`"):
        masked_outputs(Blind(), union, torch.ones(1, union.num_pairs))


def test_stacked_training_with_a_mask_goes_around_the_compiled_layer():
    data = lgan.EgoLineGraph()(graph())
    data.x = data.x.float()
    lines = lgan.EgoLines.from_data(data)
    outputs = []
    for mask in (None, torch.ones(lines.num_pairs), torch.full((lines.num_pairs,), 0.5)):
        stack = build_stack(lambda: lgan.LGAN(3, 4, 2, num_layers=1), [0, 1]).train()
        data.lines = lines if mask is None else lines.masked(mask)
        outputs.append(stack(data))
    plain, whole, half = outputs
    torch.testing.assert_close(whole, plain)
    assert not torch.allclose(half, plain)


def test_merged_twins_and_masks_of_another_length_are_refused():
    k4 = Data(x=torch.ones(4, 1), edge_index=reference.edge_index(nx.complete_graph(4)))
    merged = lgan.EgoLines.from_data(lgan.EgoLineGraph(compress=True)(k4))
    with pytest.raises(ValueError, match="twins are merged here"):
        merged.masked(torch.ones(1))
    plain = lgan.EgoLines.from_edge_index(k4.edge_index, 4)
    with pytest.raises(ValueError, match=r"one value for each of 6 pairs, got shape \[5\]"):
        plain.masked(torch.ones(5))


def test_the_mode_of_a_model_is_restored():
    model = lgan.LGAN(3, 4, 2).train()
    with evaluating(model):
        assert not model.training
    assert model.training
