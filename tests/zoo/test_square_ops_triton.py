import pytest
import torch

from triton_process import run_triton

pytest.importorskip("triton", reason="the GPU kernels need the package triton")

PROGRAM = """
import torch
from lgan import ops
from lgan.zoo import square_ops_triton
from lgan.zoo.square_ops import matrix_product, square_readout
from lgan.zoo.squares import Squares

# Small enough that graphs have several pieces, and some have products of their own.
square_ops_triton.PIECE, square_ops_triton.ROWS, Squares.LARGE = 16, 8, 5
device = torch.device({device!r})
generator = torch.Generator().manual_seed(0)
single, half = torch.float32, torch.bfloat16
for sizes, models, width, dtype in [
    ([4, 1, 3], (2,), 5, single), ([2, 18], (), 70, single), ([1], (3,), 4, single),
    ([6, 4, 5, 1], (2,), 20, single), ([7], (), 3, single),
    ([0, 2], (2,), 3, single), ([], (2,), 3, single), ([5, 3], (2,), 4, half),
]:
    size = torch.tensor(sizes, dtype=torch.int64, device=device)
    rows = sum(n * n for n in sizes)
    starts = [sum(n * n for n in sizes[:i]) for i in range(len(sizes))]
    diagonal = [at + i * (n + 1) for at, n in zip(starts, sizes) for i in range(n)]
    diagonal = torch.tensor(diagonal, dtype=torch.int64, device=device)
    adjacency = torch.zeros(rows, device=device)
    squares = Squares(size, sizes, slice(0, sum(sizes)), diagonal, adjacency)
    a, b = torch.randn(2, *models, rows, width, generator=generator).to(device, dtype)
    results = []
    for name in ("triton", "torch"):
        leaves = [a.clone().requires_grad_(), b.clone().requires_grad_()]
        with ops.backend(name):
            product = matrix_product(*leaves, squares)
            top = square_readout(product, squares, "max")
        ((top * top).sum() + (product**3).sum()).backward()
        results.append((product, top, *(leaf.grad for leaf in leaves)))
    for got, want in zip(*results):
        if not want.numel():
            assert got.shape == want.shape
            continue
        scale = want.float().abs().max().clamp(min=1)
        limit = 1e-5 if dtype == single else 3e-2
        assert ((got.float() - want.float()).abs().max() / scale) < limit, (sizes, got, want)
for name in ("triton", "torch"):  # what is broken must not look whole
    size = torch.tensor([2, 1], device=device)
    diagonal = torch.tensor([0, 3, 4], device=device)
    squares = Squares(size, [2, 1], slice(0, 3), diagonal, torch.zeros(5, device=device))
    h = torch.tensor([1.0, 2.0, float("nan"), 0.0, float("-inf")], device=device)[:, None]
    with ops.backend(name):
        top = square_readout(h, squares, "max")
    assert top[0, 0] == 1 and top[0, 1].isnan(), top
    assert top[1, 0] == float("-inf") and top[1, 1] == 0, top
print("agreed")
"""


def test_the_kernels_of_squares_agree_with_plain_tensor_operations() -> None:
    assert "agreed" in run_triton(PROGRAM, "cpu")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_kernels_of_squares_agree_on_the_gpu() -> None:
    assert "agreed" in run_triton(PROGRAM, "cuda")
