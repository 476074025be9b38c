"""One large graph: triangles on every edge, and a forward pass of the linear form."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from benchmarks.child import ChildRun, available_memory, call_in_child
from benchmarks.config import BenchConfig
from benchmarks.graphs import power_law
from benchmarks.peers import missing
from benchmarks.row import Bar, Row
from lgan.data import load_tensors, save_tensors
from lgan.graph import EgoLines
from lgan.graph.triangles import pair_triangles
from lgan.nn import LGANConv

BUDGET = 24 * 2**30
WIDTH = 32
# Steps of length two a block of scipy's product may hold: 8 bytes each.
BLOCK = 1 << 27
# A peer that takes longer is stopped; the bar is long reached by then.
SECONDS = 120


def large(config: BenchConfig) -> list[Row]:
    """A power-law graph of 16 million edges (with ``--full``), counts per edge, one layer.

    Every side has a process of its own, limited to 24 GiB (or to what the machine has free), that
    starts from the list of edges.
    scipy multiplies the adjacency matrix with itself in blocks of rows, because the whole square
    does not fit; igraph's time is that of listing the triangles, without counting them by edge.
    """
    sizes = [4_000] if config.quick else [1_000_000, 16_000_000] if config.full else [1_000_000]
    rows = []
    for num_edges in sizes:
        config.progress(f"{num_edges:,} edges: generating")
        with TemporaryDirectory(prefix="lgan-bench-") as folder:
            path = Path(folder) / "graph.safetensors"
            pair_index, num_nodes = power_law(num_edges, seed=config.seed)
            save_tensors(path, {"pair_index": pair_index}, {"num_nodes": str(num_nodes)})
            del pair_index
            rows += _rows(path, num_edges, config)
    return rows


def _rows(path: Path, num_edges: int, config: BenchConfig) -> list[Row]:
    runs = {side: _run(side, path, num_edges, config) for side in ("lgan", "scipy", "igraph")}
    ours = runs["lgan"]
    if ours.problem:
        raise ValueError(f"The counts of {num_edges:,} edges {ours.problem}.")
    found = {runs[side].result["triangles"] for side in runs if not runs[side].problem}
    if len(found) > 1:
        raise ValueError(f"The sides disagree on the number of triangles: {found}.")
    name, triangles = f"{num_edges / 1e6:g} M edges", int(ours.result["triangles"])
    rows = [
        Row(
            name=f"{name}, counts",
            what=f"triangles on every edge, {triangles:,} in all",
            seconds=ours.result["seconds"],
            peer=side,
            peer_seconds=runs[side].result.get("seconds"),
            memory=ours.memory,
            peer_memory=runs[side].memory,
            bar=Bar("speedup", 5),
            size=num_edges,
            note=runs[side].problem,
        )
        for side in ("scipy", "igraph")
    ]
    rows.append(
        Row(
            name=f"{name}, layer too",
            what=f"then one layer of the linear form, width {WIDTH}, forward",
            seconds=ours.result["seconds"] + ours.result["layer seconds"],
            memory=ours.memory,
            bar=Bar("memory", BUDGET),
            size=num_edges,
            detail={"layer seconds": ours.result["layer seconds"]},
        )
    )
    return rows


def _run(side: str, path: Path, num_edges: int, config: BenchConfig) -> ChildRun:
    config.progress(f"{num_edges:,} edges: {side}")
    absent = missing(side) if side != "lgan" else ""
    if absent:
        return ChildRun(0.0, None, "", absent)
    return call_in_child(
        f"benchmarks.large:count_{side}",
        {"path": str(path), "repeats": 3 if 100_000 < num_edges <= 1_000_000 else 1},
        memory_limit=min(BUDGET, available_memory()),
        timeout=SECONDS if side != "lgan" else 1800,
    )


def count_lgan(path: str, repeats: int) -> dict[str, float]:
    """Triangles on every edge, then a layer; runs in a child."""
    pair_index, num_nodes = _read(path)
    conv = LGANConv(WIDTH, WIDTH, comb="linear").eval()
    with torch.no_grad():
        tiny = _counted(torch.tensor([[0, 0, 1], [1, 2, 2]]), 3)
        conv(torch.randn(3, WIDTH), tiny)  # compiles the loops
        seconds, lines = _timed(lambda: _counted(pair_index, num_nodes), repeats)
        x = torch.randn(num_nodes, WIDTH)
        layer, _ = _timed(lambda: conv(x, lines), repeats)
    triangles = int(lines.pair_triangles.sum(dtype=torch.int64)) // 3
    return {"seconds": seconds, "layer seconds": layer, "triangles": triangles}


def count_scipy(path: str, repeats: int) -> dict[str, float]:
    """``(A A) ∘ A`` in blocks of rows; runs in a child."""
    pair_index, num_nodes = _read(path)
    u, v = pair_index.to(torch.int32).numpy()
    seconds, blocks = _timed(lambda: _scipy_blocks(u, v, num_nodes), repeats)
    return {"seconds": seconds, "triangles": sum(int(b.sum()) for b in blocks) // 6}


def _scipy_blocks(u: Any, v: Any, num_nodes: int) -> list[Any]:
    import numpy as np
    from scipy.sparse import csr_array

    ones = np.ones(2 * u.size, np.int32)
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    adjacency = csr_array((ones, ends), shape=(num_nodes, num_nodes))
    degree = np.diff(adjacency.indptr).astype(np.int64)
    steps = np.cumsum(adjacency @ degree)  # of length two, from all rows so far
    cuts = np.searchsorted(steps, np.arange(BLOCK, steps[-1] + BLOCK, BLOCK), side="right")
    counts: list[Any] = []
    for start, stop in zip([0, *cuts[:-1]], [*cuts[:-1], num_nodes], strict=True):
        if start < stop:
            block = adjacency[start:stop]
            counts.append((block @ adjacency).multiply(block).tocsr())
    return counts


def count_igraph(path: str, repeats: int) -> dict[str, float]:
    """igraph's list of triangles; runs in a child."""
    import igraph

    pair_index, num_nodes = _read(path)
    graph = igraph.Graph(num_nodes, pair_index.t().numpy())
    seconds, found = _timed(graph.list_triangles, repeats)
    return {"seconds": seconds, "triangles": len(found)}


def _timed(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The median time of some runs, and what the last one returned."""
    seconds, result = [], None
    for _ in range(repeats):
        result = None  # two results at a time would be counted as memory
        begin = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - begin)
    return median(seconds), result


def _read(path: str) -> tuple[Tensor, int]:
    tensors, metadata = load_tensors(Path(path))
    return tensors["pair_index"], int(metadata["num_nodes"])


def _counted(pair_index: Tensor, num_nodes: int) -> EgoLines:
    """All that the linear form reads: triangles on every edge, nothing of what lies opposite."""
    found = pair_triangles(pair_index, num_nodes)
    counts = torch.bincount(found.flatten(), minlength=pair_index.size(1))
    return EgoLines(
        num_nodes=num_nodes,
        pair_index=pair_index,
        opposite_index=torch.empty(0, dtype=torch.int32),
        opposite_count=torch.zeros(pair_index.size(1), dtype=torch.int32),
        pair_triangles=counts.to(torch.int32),
        multiplicity=torch.ones(num_nodes, dtype=torch.int32),
    )
