"""The layer as one compiled function against the operations one by one."""

import pytest
import torch
from torch import Tensor

import lgan
from lgan import EgoLines, LGANConv, ops
from stacks import build_stack

# Two triangles that share an edge, a tail, and a node alone.
EDGES = torch.tensor([[0, 0, 1, 1, 2, 3], [1, 2, 2, 3, 3, 4]])
OPTIONS = [
    {},
    {"residual": True},
    {"comb": "linear"},
    {"branches": "target"},
    {"pair_code": "full", "residual": True},
    {"comb": "linear", "pair_code": "triangles"},
    {"pair_code": "full", "code_map": "spline"},
    {"squash": True},
    {"squash": True, "comb": "linear", "residual": True},
    {"squash": True, "branches": "target", "pair_code": "triangles"},
]
OPTIONS = [{**options, "norm": norm} for norm in ("batch", "layer", "none") for options in OPTIONS]
pytestmark = pytest.mark.usefixtures("float64")


def _lines(options: dict, edges: Tensor = EDGES) -> EgoLines:
    return EgoLines.from_edge_index(edges, 6).coded(options.get("pair_code", "none"))


def _input(kind: str, models: int) -> Tensor:
    if kind == "categories":
        return torch.tensor([0, 1, 2, 0, 1, 2])
    axis = {"own": (models,), "one for all": (1,)}.get(kind, ())
    return torch.randn(*axis, 6, 3)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["shared", "own", "one for all", "categories", "no triangles"])
def test_stacked_models_in_training(options, kind):
    results = []
    x = _input(kind, 3)
    lines = _lines(options, EDGES[:, [0, 3]] if kind == "no triangles" else EDGES)
    for backend in ("numba", "torch"):
        stack = build_stack(lambda: LGANConv(3, 4, **options), range(3)).train()
        given = x.clone().requires_grad_() if x.is_floating_point() else x
        with ops.backend(backend):
            out = stack(given, lines)
            out.square().sum().backward()
        grads = {name: p.grad for name, p in stack.named_parameters() if p.grad is not None}
        grads |= {} if given is x else {"x": given.grad}
        results.append({"out": out.detach(), **grads, **dict(stack.named_buffers())})
    assert results[0].keys() == results[1].keys()
    for name, expected in results[1].items():
        torch.testing.assert_close(results[0][name], expected, rtol=1e-10, atol=1e-10, msg=name)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize(
    "edges", [EDGES, EDGES[:, [0, 3]], EDGES[:, :0]], ids=["all", "two", "none"]
)
def test_models_in_evaluation(options, models, edges):
    stack = build_stack(lambda: LGANConv(3, 4, **options), range(models)).train()
    lines = _lines(options, edges)
    stack(torch.randn(models, 6, 3), lines)  # moves the running statistics
    layer = stack.eval()
    if models == 1:
        layer = LGANConv(3, 4, **options).eval()
        layer.load_state_dict({name: t[0] for name, t in stack.state_dict().items()})
    for x in (torch.randn(6, 3), torch.tensor([0, 1, 2, 0, 1, 2])):
        one_by_one = layer(x, lines)
        with torch.no_grad():
            whole = layer(x, lines)
        assert one_by_one.requires_grad
        torch.testing.assert_close(whole, one_by_one.detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_an_empty_graph(norm):
    nothing = EgoLines.from_edge_index(torch.zeros(2, 0, dtype=torch.int64), 0)
    stack = build_stack(lambda: LGANConv(3, 4, norm=norm), range(2)).train()
    x = torch.zeros(2, 0, 3, requires_grad=True)
    out = stack(x, nothing)
    out.sum().backward()
    assert out.shape == (2, 0, 4)
    assert not stack.pair.weight.grad.any()
    with torch.no_grad():
        assert lgan.LGANConv(3, 4, norm=norm).eval()(torch.zeros(0, 3), nothing).shape == (0, 4)
