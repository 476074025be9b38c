import networkx as nx
import pytest
import torch

import reference
from lgan import EgoLines, ops


def test_the_torch_backend_is_differentiable_twice():
    pairs = torch.tensor(reference.pairs(nx.wheel_graph(5))).t()
    lines, _ = EgoLines.compressed(pairs, 5)
    n, inside, weight = lines.num_nodes, lines, lines.multiplicity
    a, table = (torch.randn(rows, 4, dtype=torch.float64, requires_grad=True) for rows in (n, 2))
    code = torch.arange(lines.num_pairs) % 2
    scale, shift = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    ptr = torch.tensor([0, 2, n])

    def norm(*parts: torch.Tensor) -> torch.Tensor:
        running = torch.zeros(4).double(), torch.ones(4).double()
        return ops.norm(*parts, running=running, momentum=0.1, eps=1e-5)

    check = torch.autograd.gradgradcheck
    with ops.backend("torch"):
        check(lambda a, t: ops.ego_sum(a.tanh(), inside, 2, table=t, code=code), (a, table))
        check(lambda a: ops.linear_sum(a.tanh(), inside, 2), (a,))
        check(lambda a: ops.segment_sum(a.tanh(), weight, ptr), (a,))
        check(lambda *p: norm(p[0], weight, *p[1:]), (a, scale, shift))


def test_the_torch_backend_computes_in_half_precision():
    lines = EgoLines.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3)
    a = torch.ones(3, 4, dtype=torch.bfloat16)
    assert ops.ego_sum(a, lines, 2).dtype == torch.bfloat16
    assert ops.ego_sum(a, lines, 2).tolist() == [[4, 4, 2, 2]] * 3


def _masked(mask: torch.Tensor) -> tuple[EgoLines, EgoLines]:
    lines = EgoLines.from_edge_index(reference.edge_index(nx.gnp_random_graph(9, 0.6, seed=2)), 9)
    return lines, lines.masked(mask[..., : lines.num_pairs])


@pytest.mark.parametrize("relu", [True, False])
def test_a_mask_of_ones_changes_nothing(relu):
    lines, masked = _masked(torch.ones(36).double())
    a, table = torch.randn(9, 6).double(), torch.randn(4, 6).double()
    code = torch.arange(lines.num_pairs, dtype=torch.int32) % 4
    for options in ({}, {"table": table, "code": code}):
        sums = [ops.ego_sum(a, x, 3, relu=relu, **options) for x in (lines, masked)]
        torch.testing.assert_close(*sums, rtol=1e-12, atol=1e-12)
    sums = [ops.linear_sum(a, x, 3) for x in (lines, masked)]
    torch.testing.assert_close(*sums, rtol=1e-12, atol=1e-12)


def test_planes_of_masks_are_masks_side_by_side():
    mask = torch.rand(3, 36).double()
    _, together = _masked(mask)
    a = torch.randn(9, 6).double()
    for k in range(3):
        _, alone = _masked(mask[k])
        for sums in (ops.ego_sum, ops.linear_sum):
            torch.testing.assert_close(sums(a, together, 3)[k], sums(a, alone, 3))


@pytest.mark.parametrize("sums", [ops.ego_sum, ops.linear_sum])
def test_masked_sums_are_differentiable_in_values_and_mask(sums):
    a = torch.randn(9, 4).double().requires_grad_()
    mask = torch.rand(36).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda a, m: sums(a, _masked(m)[1], 2), (a, mask))


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("leading", [((), ()), ((), (3,)), ((3,), ()), ((3,), (3,))])
def test_compiled_masked_sums_and_their_gradients_are_those_of_plain_operations(
    relu, coded, leading
):
    values, masks = leading
    for width in (2, 4):  # both branches, and the target branch alone
        a = torch.randn(*values, 9, 4).double().requires_grad_()
        table = torch.randn(*values, 5, 4).double().requires_grad_()
        mask = torch.rand(*masks, 36).double().requires_grad_()
        found = []
        for backend in ("torch", "numba"):
            lines, masked = _masked(mask)
            code = torch.arange(lines.num_pairs, dtype=torch.int32) % 5
            options = {"table": table, "code": code} if coded else {}
            with ops.backend(backend):
                out = ops.ego_sum(a, masked, width, relu=relu, **options)
            wanted = [a, mask, *([table] if coded else [])]
            weight = torch.arange(out.numel()).double().cos().view_as(out)
            found.append([out, *torch.autograd.grad((out * weight).sum(), wanted)])
        for plain, compiled in zip(*found, strict=True):
            torch.testing.assert_close(compiled, plain, rtol=1e-12, atol=1e-12)


def test_the_compiled_maximum_and_its_gradient_are_those_of_plain_operations():
    ptr = torch.tensor([0, 3, 3, 7])
    for models in ((), (2,)):
        x = torch.randint(-2, 1, (*models, 8, 5)).double().requires_grad_()  # many are equal
        found = []
        for backend in ("torch", "numba"):
            with ops.backend(backend):
                out = ops.segment_max(x, ptr)
            found.append([out, *torch.autograd.grad(out.square().sum(), x)])
        for plain, compiled in zip(*found, strict=True):
            torch.testing.assert_close(compiled, plain, rtol=0, atol=1e-15)
    near = torch.tensor([[3.0], [3.0000005], [2.9]], requires_grad=True)
    ops.segment_max(near, torch.tensor([0, 3])).sum().backward()
    assert near.grad.flatten().tolist() == [0.5, 0.5, 0]
    endless = torch.tensor([[1.0], [torch.inf], [-torch.inf]], requires_grad=True)
    ops.segment_max(endless, torch.tensor([0, 2, 3])).sum().backward()
    assert endless.grad.flatten().tolist() == [0, 1, 1]
    x = torch.zeros(3, 2)
    x[1, 0] = torch.nan
    assert ops.segment_max(x, torch.tensor([0, 3])).isnan().tolist() == [[True, False]]
