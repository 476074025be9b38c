from dataclasses import replace

import networkx as nx
import pytest
import torch
from torch import Tensor

from lgan import wl
from lgan.graph.named import named_graph
from lgan.zoo import ppgn
from lgan.zoo.ppgn import PPGN, check_size, pairs_of_nodes
from lifted import everything, union_of, varied
from stacks import build_stack

pytestmark = pytest.mark.usefixtures("float64")


def _slow(model: PPGN, graph: nx.Graph, x: Tensor) -> Tensor:
    """One graph through the equations of the paper, entry after entry."""
    n = len(graph)
    tensor = torch.zeros(n, n, 1 + x.size(1))
    for i in range(n):
        tensor[i, i, 1:] = x[i]
        for j in graph[i]:
            tensor[i, j, 0] = 1
    total = torch.zeros(model.heads[0].out_channels)
    for block, head in zip(model.blocks, model.heads, strict=True):
        a = b = tensor
        for first, second in zip(block.m1, block.m2, strict=True):
            a = (a @ first.weight + first.bias).relu()
            b = (b @ second.weight + second.bias).relu()
        product = torch.stack([a[:, :, c] @ b[:, :, c] for c in range(a.size(2))], 2)
        skip = torch.cat([block.of_input.weight, block.of_product.weight])
        tensor = torch.cat([tensor, product], 2) @ skip + block.of_input.bias
        pooled = []
        for on in (True, False):
            entries = [tensor[i, j] for i in range(n) for j in range(n) if (i == j) is on]
            stacked = torch.stack(entries) if entries else torch.zeros(1, tensor.size(2))
            how = {"sum": stacked.sum(0), "mean": stacked.mean(0), "max": stacked.amax(0)}
            pooled.append(how[model.readout])
        total = total + torch.cat(pooled) @ head.weight + head.bias
    return total


@pytest.mark.parametrize("readout", ["max", "sum", "mean"])
def test_network_is_the_equations_of_the_paper(readout):
    graphs = varied()
    x = torch.randn(sum(map(len, graphs)), 3)
    model = PPGN(3, 5, 2, readout=readout)
    out = model(everything(union_of(graphs, x, channels=3)))
    parts = torch.split(x, [len(g) for g in graphs])
    slow = torch.stack([_slow(model, g, part) for g, part in zip(graphs, parts, strict=True)])
    torch.testing.assert_close(out, slow, rtol=1e-10, atol=1e-10)


def test_one_block_on_an_edge_by_hand():
    model = PPGN(1, 1, 1, num_layers=1, mlp_depth=1, readout="sum")
    block = model.blocks[0]
    with torch.no_grad():
        for layer in (block.m1[0], block.m2[0]):
            layer.weight.copy_(torch.tensor([[1.0], [0.0]]))  # the adjacency alone
        block.of_input.weight.copy_(torch.tensor([[10.0], [100.0]]))
        block.of_product.weight.fill_(1.0)
        model.heads[0].weight.copy_(torch.tensor([[1.0], [1000.0]]))
    # A² is the identity: 1 + 100 on the diagonal, 10 beside it.
    out = model(everything(union_of([nx.path_graph(2)], torch.zeros(2, dtype=torch.long))))
    assert out.item() == 2 * 101 + 1000 * 2 * 10


@pytest.mark.parametrize("readout", ["max", "sum"])
def test_power_is_that_of_folklore_two_wl(readout):
    names = [
        ("hexagon", "two-triangles"),
        ("prism", "k33"),
        ("decalin", "bicyclopentyl"),
        ("cube", "wagner"),
        ("csl(9,2)", "csl(9,3)"),
        ("rook4x4", "shrikhande"),
        ("c8", "two-c4"),
    ]
    pairs = [(named_graph(a), named_graph(b)) for a, b in names]
    model = PPGN(1, 12, 6, readout=readout)
    result = wl.check(model, pairs, test="2-fwl", seeds=[0, 1])
    assert result.separated == (True, True, True, True, True, False, True)
    assert result.beyond == ()


def test_evaluation_in_parts_gives_the_same_outputs(monkeypatch):
    batch = everything(union_of(varied()))
    models = build_stack(lambda: PPGN(1, 4, 3), [0, 1])
    whole = models(batch)
    monkeypatch.setattr(ppgn, "PIECE", 500)
    with torch.no_grad():
        torch.testing.assert_close(models(batch), whole.detach(), rtol=1e-12, atol=1e-12)


def test_a_deleted_edge_is_no_edge():
    graph = nx.path_graph(4)
    batch = everything(union_of([graph]))
    model = PPGN(1, 16, 3, readout="sum")
    mask = torch.tensor([1.0, 0.0, 1.0], requires_grad=True)
    masked = model(replace(batch, lines=batch.lines.masked(mask)))
    graph.remove_edge(1, 2)
    torch.testing.assert_close(masked, model(everything(union_of([graph]))))
    masked.sum().backward()
    assert mask.grad is not None
    assert mask.grad[1] != 0


def test_rows_are_the_pairs_of_nodes():
    assert pairs_of_nodes(union_of([nx.empty_graph(3), nx.empty_graph(7)])).tolist() == [9, 49]


def test_a_set_beyond_the_tensor_limit_is_refused_with_its_numbers(monkeypatch):
    union = union_of([nx.empty_graph(n) for n in (3, 5, 10)])
    check_size(union, {"hidden": 400, "batch_size": 5})
    monkeypatch.setattr(ppgn, "TENSOR_LIMIT", 1249)
    message = (
        r"2 graphs of up to 10 nodes in 10 channels make a tensor of 1,250 numbers, more than "
        r"the limit of 1,249\. Choose a smaller `batch_size` or `hidden`"
    )
    with pytest.raises(ValueError, match=message):
        check_size(union, {"hidden": 10, "batch_size": 2})
    check_size(union, {"hidden": 10, "batch_size": 1})


@pytest.mark.parametrize("option", ["num_layers", "mlp_depth"])
def test_sizes_below_one_are_refused(option):
    with pytest.raises(ValueError, match=f"`{option}` must be 1 or more, got 0"):
        PPGN(1, 4, 2, **{option: 0})
