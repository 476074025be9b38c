"""The GPU kernels, run by Triton's interpreter on the CPU where there is no GPU."""

import pytest
import torch

from triton_process import run_triton

pytest.importorskip("triton", reason="the GPU kernels need the package triton")

PROGRAM = """
import lgan
import torch
from lgan import ops
from lgan.graph import EgoLines, undirected_pairs
from lgan.graph.device_union import DeviceUnion
from lgan.ops.row_sum import SparseRows, row_sum

device = torch.device({device!r})
generator = torch.Generator().manual_seed(0)


def agree(got, want, limit=1e-5):
    scale = want.abs().max().clamp(min=1)
    assert ((got.double() - want.double()).abs().max() / scale) < limit, (got, want)


def case(nodes, probability, compress, width, models, codes, relu, half=False):
    edges = torch.combinations(torch.arange(nodes)).t()
    edges = edges[:, torch.rand(edges.size(1), generator=generator) < probability]
    pairs = undirected_pairs(edges, nodes)
    lines = EgoLines.compressed(pairs, nodes)[0] if compress else EgoLines.from_pairs(pairs, nodes)
    lines = lines.to(device)
    a = torch.randn(models, lines.num_nodes, 2 * width, generator=generator).to(device)
    a = a.bfloat16().float()  # numbers that half precision holds
    table = code = None
    if codes:
        table = torch.randn(models, codes, 2 * width, generator=generator).to(device)
        code = torch.randint(codes, (lines.num_pairs,), generator=generator).int().to(device)
    for columns in (2 * width, width):
        results = []
        for name in ("triton", "torch"):
            leaf = a[..., :columns].clone().requires_grad_()
            if half and name == "triton":
                leaf = a[..., :columns].bfloat16().requires_grad_()
            offset = None if table is None else table[..., :columns].clone().requires_grad_()
            with ops.backend(name):
                out = ops.ego_sum(
                    leaf, lines, width, table=offset, code=code, relu=relu)
            (out * out).sum().backward()
            results.append((out, leaf.grad, None if offset is None else offset.grad))
        for got, want in zip(*results):
            if want is not None:
                agree(got, want, 2e-2 if half else 1e-5)
        if not relu and table is None:
            linear(lines, a[..., :columns], width, half)


def linear(lines, a, width, half, nodes=None):
    results = []
    for name in ("triton", "torch"):
        leaf = (a.bfloat16() if half and name == "triton" else a).clone().requires_grad_()
        with ops.backend(name):
            out = ops.linear_sum(leaf, lines, width)
            again = ops.linear_sum(leaf, lines, width)
        assert name == "torch" or torch.equal(out, again)  # torch adds in any order on a GPU
        out = out[:, :nodes]
        (first,) = torch.autograd.grad((out * out).sum(), leaf, create_graph=not half)
        second = None if half else torch.autograd.grad((first * a).sum(), leaf)[0]
        results.append((out, first[:, :nodes], None if second is None else second[:, :nodes]))
    for got, want in zip(*results):
        if got is not None:
            agree(got, want, 2e-2 if half else 1e-5)


for settings in [
    (9, 0.6, False, 8, 2, 0, True),
    (9, 0.9, True, 8, 1, 0, True),
    (12, 0.5, False, 5, 3, 4, True),
    (8, 1.0, True, 16, 2, 3, False),
    (5, 0.0, False, 4, 1, 0, True),
    (9, 0.6, False, 8, 2, 0, False),
    (9, 0.9, True, 5, 3, 0, False),
    (11, 0.8, True, 4, 2, 0, False, True),
    (3, 0.0, False, 4, 1, 0, False),
    (26, 1.0, False, 3, 1, 0, True),  # rows of B_n long enough to be cut
]:
    case(*settings)
if device.type == "cuda":  # the interpreter takes half a minute
    case(26, 1.0, False, 3, 2, 0, True, True)

union = lgan.load("motifs-ba").to(device)
on_device, ids = DeviceUnion(union), torch.tensor([3, 0])
capacity = on_device.capacity(ids[None]).padded(1.5)
batch = on_device.batch(ids.to(device), capacity)  # and room for more
a = torch.randn(1, capacity.nodes, 8, generator=generator).to(device)
linear(batch.lines, a, 4, False, nodes=int(batch.ptr[-1]))

x = torch.randn(2, 7, 6, generator=generator).to(device)
weight = torch.tensor([1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 9.0], device=device)
ptr = torch.tensor([0, 2, 2, 6], device=device)  # an empty segment, a row beyond the last
results = []
for name in ("triton", "torch"):
    leaf = x.clone().requires_grad_()
    with ops.backend(name):
        out = ops.segment_sum(leaf, weight, ptr)
    (out * out).sum().backward()
    results.append((out, leaf.grad))
for got, want in zip(*results):
    agree(got, want)

for models, nodes, width, shared in [(3, 70, 5, False), (1, 9, 8, True), (1, 2100, 3, False)]:
    x = torch.randn(models, nodes, width, generator=generator).to(device)
    rows = 1 if shared else models
    weight = torch.randint(4, (rows, nodes), generator=generator).float().to(device)
    if not shared:
        weight[-1] = 0  # a model that sees nothing
    scale, shift = torch.randn(2, models, width, generator=generator).to(device)
    share = torch.randn(x.shape, generator=generator).to(device)
    results = []
    for name in ("triton", "torch"):
        leaves = [t.clone().requires_grad_() for t in (x, scale, shift)]
        running = (torch.zeros_like(scale), torch.ones_like(scale))
        with ops.backend(name):
            out = ops.norm(
                leaves[0], weight[0] if shared else weight, leaves[1], leaves[2],
                running=running, momentum=0.1, eps=0.1)
        (share * out * out).sum().backward()
        results.append((out, *running, *(leaf.grad for leaf in leaves)))
    for got, want in zip(*results):
        agree(got, want)

for models, nodes, width, half in [(3, 70, 5, False), (1, 9, 8, False), (2, 2100, 3, False),
                                   (2, 5, 130, True)]:
    x = torch.randn(models, nodes, width, generator=generator).to(device).bfloat16().float()
    x[0, 0] = 2.5  # a row that does not vary
    scale, shift = torch.randn(2, models, width, generator=generator).to(device)
    share = torch.randn(x.shape, generator=generator).to(device)
    results = []
    for name in ("triton", "torch"):
        leaves = [t.clone().requires_grad_() for t in (x, scale, shift)]
        if half:
            leaves[0] = x.bfloat16().requires_grad_()
        with ops.backend(name):
            out = ops.layer_norm(*leaves, eps=0.1)
        assert out.dtype == leaves[0].dtype
        (share * out * out).sum().backward()
        results.append((out, *(leaf.grad for leaf in leaves)))
    for got, want in zip(*results):
        agree(got, want, 2e-2 if half else 1e-5)

rows = SparseRows(*(
    torch.tensor(values, device=device).to(kind)
    for values, kind in [([0, 3, 3, 4], torch.int64), ([0, 1, 4, 1], torch.int32),
                         ([0, 1, 3, 3, 3, 4], torch.int64), ([0, 0, 2, 0], torch.int32)]))
weighted = SparseRows.regular(
    torch.tensor([[0, 4], [4, 1], [1, 0]], device=device), torch.rand(3, 2).to(device), 5)
for pattern in (rows, weighted):
    results = []
    for name in ("triton", "torch"):
        leaf = x[:, :5].clone().requires_grad_()
        with ops.backend(name):
            out = row_sum(leaf, pattern)
        (out * out).sum().backward()
        results.append((out, leaf.grad))
    for got, want in zip(*results):
        agree(got, want)
print("agreed")
"""


def test_triton_kernels_agree_with_plain_tensor_operations() -> None:
    assert "agreed" in run_triton(PROGRAM, "cpu")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_triton_kernels_agree_on_the_gpu() -> None:
    assert "agreed" in run_triton(PROGRAM, "cuda")
