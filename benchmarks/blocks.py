"""One layer on a large graph, block of nodes by block, in bounded memory."""

import time
from itertools import pairwise
from math import isclose
from typing import Any

import torch

from benchmarks.child import available_memory, call_in_child
from benchmarks.config import BenchConfig
from benchmarks.graphs import ring_lattice
from benchmarks.large import BUDGET, WIDTH
from benchmarks.row import Bar, Row
from lgan.nn import LGANConv
from lgan.nn.blocks import conv_by_blocks

# The whole layer is measured beside the blocks up to here.
WHOLE = 1_000_000


def blocks(config: BenchConfig) -> list[Row]:
    """A ring whose nodes know ten on either side, 100 million edges with ``--full``.

    Every side has a process of its own. Memory is that of the whole process: the list of edges,
    16 bytes each, the features and the result are in it.
    """
    sizes = [4_000] if config.quick else [WHOLE, 100_000_000] if config.full else [WHOLE]
    return [_row(num_edges, config) for num_edges in sizes]


def _row(num_edges: int, config: BenchConfig) -> Row:
    runs = {}
    for side in ("by blocks", "whole") if num_edges <= WHOLE else ("by blocks",):
        config.progress(f"{num_edges:,} edges, {side}")
        runs[side] = call_in_child(
            "benchmarks.blocks:layer",
            {"num_edges": num_edges, "by_blocks": side == "by blocks"},
            memory_limit=min(BUDGET, available_memory()),
        )
    ours, whole = runs["by blocks"], runs.get("whole")
    said = [run.result["norm"] for run in runs.values() if not run.problem]
    if not all(isclose(a, b, rel_tol=1e-4) for a, b in pairwise(said)):
        raise ValueError(f"The layer by blocks is not the layer: norms of {said}.")
    return Row(
        name=f"{num_edges / 1e6:g} M edges, by blocks",
        what=f"one layer of width {WIDTH}, forward, {num_edges // 10:,} nodes",
        seconds=ours.result.get("seconds"),
        memory=ours.memory,
        peer="" if whole is None else "the whole graph",
        peer_seconds=None if whole is None else whole.result.get("seconds"),
        peer_memory=None if whole is None else whole.memory,
        bar=Bar("memory", BUDGET) if whole is None else None,
        size=num_edges,
        note=ours.problem,
    )


def layer(num_edges: int, by_blocks: bool) -> dict[str, Any]:
    """Time of one layer from the list of edges on; runs in a child."""
    torch.manual_seed(0)
    conv = LGANConv(WIDTH, WIDTH).eval()
    with torch.no_grad():
        for size in (1_000, num_edges):  # the first compiles the loops
            pairs, num_nodes = ring_lattice(size)
            x = torch.randn(num_nodes, WIDTH)
            begin = time.perf_counter()
            out = conv_by_blocks(conv, x, pairs) if by_blocks else conv(x, pairs)
            seconds = time.perf_counter() - begin
        norm = float(torch.linalg.vector_norm(out))
    return {"seconds": seconds, "norm": norm}
