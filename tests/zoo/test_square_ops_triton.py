import pytest
import torch

from triton_process import run_triton

pytest.importorskip("triton", reason="the GPU kernels need the package triton")

PROGRAM = """
import torch
from lgan import kernels
from lgan.zoo.square_ops import matrix_product, square_readout
from lgan.zoo.squares import Squares

device = torch.device({device!r})
generator = torch.Generator().manual_seed(0)
for sizes, models, width in [([1, 3, 4], (2,), 5), ([2, 18], (), 70), ([1], (3,), 4)]:
    size = torch.tensor(sizes, dtype=torch.int64, device=device)
    rows = sum(n * n for n in sizes)
    graphs = torch.arange(len(sizes), device=device)
    starts = [sum(n * n for n in sizes[:i]) for i in range(len(sizes))]
    diagonal = [at + i * (n + 1) for at, n in zip(starts, sizes) for i in range(n)]
    diagonal = torch.tensor(diagonal, device=device)
    nodes, adjacency = torch.arange(sum(sizes), device=device), torch.zeros(rows, device=device)
    squares = Squares(graphs, size, sizes, nodes, diagonal, adjacency)
    a, b = torch.randn(2, *models, rows, width, generator=generator).to(device)
    results = []
    for name in ("triton", "torch"):
        leaves = [a.clone().requires_grad_(), b.clone().requires_grad_()]
        with kernels.backend(name):
            product = matrix_product(*leaves, squares)
            top = square_readout(product, squares, "max")
        ((top * top).sum() + (product**3).sum()).backward()
        results.append((product, top, *(leaf.grad for leaf in leaves)))
    for got, want in zip(*results):
        scale = want.abs().max().clamp(min=1)
        assert ((got - want).abs().max() / scale) < 1e-5, (sizes, got, want)
print("agreed")
"""


def test_the_kernels_of_squares_agree_with_plain_tensor_operations() -> None:
    assert "agreed" in run_triton(PROGRAM, "cpu")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_kernels_of_squares_agree_on_the_gpu() -> None:
    assert "agreed" in run_triton(PROGRAM, "cuda")
