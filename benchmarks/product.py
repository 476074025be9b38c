"""The product with the incidence matrices, forward and backward."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks.config import BenchConfig
from benchmarks.graphs import ego_networks
from benchmarks.measure import (
    OURS,
    cache_bandwidth,
    comparison,
    interleaved,
    launch_seconds,
    peak_bandwidth,
)
from benchmarks.row import Bar, Row
from lgan.data import load
from lgan.graph import EgoLines
from lgan.ops import ego_sum

WIDTH = 64
CSR, GATHER = "torch.sparse CSR", "index_add"
LIMIT = "bytes / bandwidth"
CACHE = "gathered bytes / cache bandwidth"
REPLAYED = "lgan, replayed"

# From node values [n, 2 F] to (B_t Z ‖ B_n Z) [n, 2 F].
Aggregate = Callable[[Tensor], Tensor]


def product(config: BenchConfig) -> list[Row]:
    """``Z = relu(a_u + a_v)``, then ``(B_t Z ‖ B_n Z)``, and the gradient of ``a``.

    On a batch of 128 graphs of COLLAB with twins merged, both branches 64 wide; all sides read
    the same matrices. The bar on 2 cores is against the faster of the two peers.
    """
    device = config.device
    lines = _lines(config).to(device)
    a = torch.randn(lines.num_nodes, 2 * WIDTH, generator=torch.Generator().manual_seed(0))
    grad = torch.randn(a.shape, generator=torch.Generator().manual_seed(1)).to(device)
    a = a.to(device).requires_grad_()
    config.progress("building the peers' matrices")
    sides: dict[str, Aggregate] = {
        OURS: lambda a: ego_sum(a, lines, WIDTH),
        CSR: _csr(lines),
        GATHER: _gather(lines),
    }
    _check_agreement(sides, a, grad)
    work: dict[str, Callable[[], object]] = {
        name: partial(_both_ways, side, a, grad) for name, side in sides.items()
    }
    if device.type == "cuda":
        work[REPLAYED] = _replayed(work[OURS])
    samples = interleaved(
        work,
        repeats=2 if config.quick else 15,
        inner=10 if device.type == "cuda" else 1,
        device=device,
        progress=config.progress,
    )
    entries = _entries(lines)
    size = sum(entries.values())
    what = (
        f"{lines.num_nodes:,} nodes, {lines.num_pairs:,} pairs, "
        f"{entries['entries of B_n']:,} entries of B_n, width {WIDTH}, forward and backward"
    )
    faster = min((CSR, GATHER), key=lambda peer: sorted(samples[peer])[len(samples[peer]) // 2])
    rows = []
    for peer in (CSR, GATHER):
        judged = peer == faster and device.type == "cpu"
        rows.append(
            comparison(
                "B Z", what, samples, peer=peer, size=size,
                bar=Bar("speedup", 1.5) if judged else None,
                note="the faster of the two peers" if peer == faster else "",
            )
        )  # fmt: skip
    config.progress("measuring the copy bandwidth")
    bandwidth = peak_bandwidth(device, size=1 << 20 if config.quick else 1 << 30)
    moved = compulsory_bytes(lines)
    limit = {OURS: samples.get(REPLAYED, samples[OURS]), LIMIT: [moved / bandwidth]}
    how = "captured once and replayed, as in training; " if REPLAYED in samples else ""
    rows.append(
        comparison(
            "B Z, memory limit", what, limit, peer=LIMIT, size=size,
            note=f"{how}the peer is the compulsory bytes at the bandwidth of a copy",
            detail={"compulsory bytes": moved, "copy bytes per second": bandwidth, **entries},
        )
    )  # fmt: skip
    if device.type == "cuda":
        rows.append(_cache_row(what, limit[OURS], lines, device))
    return rows


def _cache_row(what: str, ours: list[float], lines: EgoLines, device: torch.device) -> Row:
    """Beside what the caches can give: `Z` lies in them, but an entry reads a row of it again."""
    bandwidth, moved = cache_bandwidth(device), gathered_bytes(lines)
    longest = int(lines.neighbour_incidence().indices()[0].bincount().max())
    return comparison(
        "B Z, cache limit", what, {OURS: ours, CACHE: [moved / bandwidth]}, peer=CACHE,
        size=moved, bar=Bar("share", 0.25),
        note="the peer is the rows that entries read, from caches at the speed of a sum",
        detail={
            "gathered bytes": moved,
            "cache bytes per second": bandwidth,
            "entries of the longest row": longest,
            "seconds to launch an empty kernel": launch_seconds(device),
        },
    )  # fmt: skip


def _replayed(run: Callable[[], object]) -> Callable[[], object]:
    """The same work captured once and replayed: the time of the kernels, without launches."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def compulsory_bytes(lines: EgoLines) -> int:
    """Bytes that both directions cannot do without, at 4 bytes a number.

    Each way: the id and the weight of every entry of ``B_t`` and ``B_n``, ``Z`` (or its
    gradient) once, the result (or its gradient) once.
    """
    entries = sum(_entries(lines).values())
    rows = (lines.num_pairs + lines.num_nodes) * 2 * WIDTH
    return 2 * 4 * (2 * entries + rows)


def gathered_bytes(lines: EgoLines) -> int:
    """Bytes that both directions read and write where every entry reads its row."""
    return compulsory_bytes(lines) + 2 * 4 * WIDTH * sum(_entries(lines).values())


def _lines(config: BenchConfig) -> EgoLines:
    if config.quick:
        pair_index, node_ptr = ego_networks("COLLAB-like", 4, seed=config.seed)
        return EgoLines.compressed(pair_index, int(node_ptr[-1]))[0]
    config.progress("COLLAB: preparing")
    union = load("COLLAB", root=config.root, mirror=config.mirror)
    generator = torch.Generator().manual_seed(config.seed)
    return EgoLines.from_data(
        union.batch(torch.randperm(union.num_graphs, generator=generator)[:128])
    )


def _both_ways(side: Aggregate, a: Tensor, grad: Tensor) -> Tensor:
    (back,) = torch.autograd.grad(side(a), a, grad)
    return back


def _check_agreement(sides: dict[str, Aggregate], a: Tensor, grad: Tensor) -> None:
    """A comparison of different results would mean nothing."""
    expected = _both_ways(sides[OURS], a, grad)
    for name, side in sides.items():
        gap = float((_both_ways(side, a, grad) - expected).abs().max() / expected.abs().max())
        if not gap < 1e-4:
            raise ValueError(f"{name} and lgan disagree on the gradient by {gap:.2g} of its size.")


def _entries(lines: EgoLines) -> dict[str, int]:
    return {
        "entries of B_t": lines.target_incidence().values().numel(),
        "entries of B_n": lines.neighbour_incidence().values().numel(),
    }


def _gather(lines: EgoLines) -> Aggregate:
    """What PyG's layers do: take rows, weigh them, add them up."""
    u, v = lines.pair_index.long()
    matrices = []
    for matrix in (lines.target_incidence(), lines.neighbour_incidence()):
        row, pair = matrix.indices()
        matrices.append((row, pair, matrix.values().float()[:, None]))

    def aggregate(a: Tensor) -> Tensor:
        z = (a.index_select(0, u) + a.index_select(0, v)).relu()
        zero, out = a.new_zeros((lines.num_nodes, WIDTH)), []
        for part, (row, pair, weight) in zip(z.split(WIDTH, 1), matrices, strict=True):
            out.append(zero.index_add(0, row, weight * part.index_select(0, pair)))
        return torch.cat(out, 1)

    return aggregate


def _csr(lines: EgoLines) -> Aggregate:
    """CSR products, the transposed matrices stored for the way back."""
    (u, v), pair = lines.pair_index.long(), torch.arange(lines.num_pairs, device=_device(lines))
    ends = torch.sparse_coo_tensor(
        torch.stack([torch.cat([pair, pair]), torch.cat([u, v])]),
        torch.ones(2 * lines.num_pairs, device=_device(lines)),
        (lines.num_pairs, lines.num_nodes),
        check_invariants=False,
    ).coalesce()
    pairs = _CSRMatrix(ends)
    branches = [_CSRMatrix(m) for m in (lines.target_incidence(), lines.neighbour_incidence())]

    def aggregate(a: Tensor) -> Tensor:
        z = pairs(a).relu()
        parts = zip(branches, z.split(WIDTH, 1), strict=True)
        return torch.cat([branch(part.contiguous()) for branch, part in parts], 1)

    return aggregate


class _CSRMatrix:
    """A sparse matrix and its transpose, both by rows."""

    def __init__(self, matrix: Tensor) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CSR tensors announce themselves as beta
            self.rows = matrix.float().to_sparse_csr()
            self.columns = matrix.float().t().coalesce().to_sparse_csr()

    def __call__(self, x: Tensor) -> Tensor:
        return _CSRProduct.apply(x, self)  # type: ignore[no-any-return]


class _CSRProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: _CSRMatrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.rows @ x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.columns @ grad.contiguous(), None


def _device(lines: EgoLines) -> torch.device:
    return lines.pair_index.device
