"""Time and memory of a layer against the number of incidence entries."""

import time
from math import log
from pathlib import Path
from statistics import linear_regression, median
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from benchmarks.child import call_in_child, peak_memory, reset_peak, resident_memory
from benchmarks.config import BenchConfig
from benchmarks.graphs import ego_networks
from benchmarks.measure import synchronize
from benchmarks.row import Row
from lgan.data import load_tensors, save_tensors
from lgan.graph import EgoLines
from lgan.graph.ego_lines import FIELDS
from lgan.nn import LGANConv

WIDTH = 64


def scaling(config: BenchConfig) -> list[Row]:
    """One layer, forward and backward, on more and more IMDB-like ego networks.

    Sizes are entries of ``B_t`` and ``B_n`` of the original graph, so that the two lines,
    compressed and not, can be read at the same place. Memory is what the layer needs beyond its
    input and the structure; on the CPU, where only a process can tell, every measurement has one
    of its own.
    """
    rows = []
    with TemporaryDirectory(prefix="lgan-bench-") as folder:
        path = Path(folder) / "lines.safetensors"
        for size in _sizes(config):
            config.progress(f"{size:.0e} entries: building")
            pair_index, num_nodes = _graphs_of_size(size, config.seed)
            lines = EgoLines.from_pairs(pair_index, num_nodes)
            entries = _entries(lines)
            for compress in (False, True):
                if compress:
                    lines, _ = EgoLines.compressed(pair_index, num_nodes)
                save_tensors(path, {field: getattr(lines, field) for field in FIELDS}, {})
                config.progress(f"{size:.0e} entries, {_name(compress)}")
                rows.append(_row(path, entries, compress, config))
    for compress in (False, True):
        line = [r for r in rows if r.name == _name(compress) and r.seconds]
        rows.append(_slope(_name(compress), line))
    return rows


def run_layer(path: str, device: str, repeats: int) -> dict[str, float]:
    """Seconds and bytes of one layer, forward and backward; runs in a child."""
    place = torch.device(device)
    tensors, _ = load_tensors(Path(path))
    lines = EgoLines.from_data(SimpleNamespace(**tensors)).to(place)
    conv = LGANConv(WIDTH, WIDTH).to(place)
    tiny = EgoLines.from_edge_index(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3).to(place)
    conv(torch.randn(3, WIDTH, device=place), tiny).sum().backward()  # compiles the loops

    x = torch.randn(lines.num_nodes, WIDTH, device=place, requires_grad=True)
    _ = lines.opposite_ptr, lines.has_triangles
    if place.type == "cuda":  # the kernels there read the matrices by rows
        _ = lines.by_node.side_pieces, lines.float_weights
    structure = sum(part.numel() * part.element_size() for part in tensors.values())
    before = _held(place)
    seconds = []
    for _ in range(repeats):
        synchronize(place)
        begin = time.perf_counter()
        conv(x, lines).sum().backward()
        synchronize(place)
        seconds.append(time.perf_counter() - begin)
        x.grad = None
    return {
        "seconds": median(seconds),
        "memory": max(_peak(place) - before, 0),
        "structure bytes": structure,
        "nodes": lines.num_nodes,
        "pairs": lines.num_pairs,
        "stored entries": 2 * lines.num_pairs + lines.opposite_index.numel(),
    }


def _sizes(config: BenchConfig) -> list[int]:
    if config.quick:
        return [3_000, 10_000]
    largest = {"cpu": 8, "cuda": 9}[config.device.type] if config.full else 7
    return [10**power for power in range(4, largest + 1)]


def _graphs_of_size(size: int, seed: int) -> tuple[Tensor, int]:
    """As many ego networks as together have ``size`` entries, as pairs and number of nodes."""
    trial = 512
    lines = EgoLines.from_pairs(*_union(trial, seed)[:2])
    wanted = round(trial * size / _entries(lines))
    if size >= 10**6:
        return _union(wanted, seed)[:2]
    # Few graphs differ much from the mean: more are made than needed, and the first ones kept.
    pair_index, num_nodes, node_ptr = _union(max(64, 2 * wanted), seed)
    count = EgoLines.from_pairs(pair_index, num_nodes).opposite_count
    reached = int(torch.searchsorted(torch.cumsum(count + 2, 0), size))
    if reached < pair_index.size(1):
        last = torch.bucketize(pair_index[0, reached], node_ptr, right=True)
        num_nodes = int(node_ptr[last])
        pair_index = pair_index[:, pair_index[0] < num_nodes].contiguous()
    return pair_index, num_nodes


def _union(num_graphs: int, seed: int) -> tuple[Tensor, int, Tensor]:
    pair_index, node_ptr = ego_networks("IMDB-like", num_graphs, seed=seed)
    return pair_index, int(node_ptr[-1]), node_ptr


def _entries(lines: EgoLines) -> int:
    return 2 * lines.num_pairs + lines.opposite_index.numel()


def _row(path: Path, entries: int, compress: bool, config: BenchConfig) -> Row:
    arguments: dict[str, Any] = {
        "path": str(path), "device": str(config.device), "repeats": 2 if config.quick else 7,
    }  # fmt: skip
    result, problem = _measured(arguments, config.device)
    seconds, memory = result.pop("seconds", None), result.pop("memory", None)
    return Row(
        name=_name(compress),
        what=f"{entries:,} entries, width {WIDTH}, one layer forward and backward",
        seconds=seconds,
        memory=memory,
        size=entries,
        note=problem,
        detail=result,
    )


def _measured(arguments: dict[str, Any], place: torch.device) -> tuple[dict[str, Any], str]:
    """What :func:`run_layer` found, or what kept it from it."""
    if place.type == "cpu":
        run = call_in_child("benchmarks.scaling:run_layer", arguments)
        return dict(run.result), run.problem
    try:
        return run_layer(**arguments), ""
    except torch.OutOfMemoryError:
        return {}, "out of GPU memory"
    finally:
        torch.cuda.empty_cache()


def _slope(name: str, line: list[Row]) -> Row:
    """The power of the size that time and memory grow with.

    Fitted where size decides and not the calls: from where on the time is twice the least.
    """
    line = sorted((r for r in line if r.size and r.seconds), key=lambda r: r.size or 0)
    seconds = [r.seconds or 0.0 for r in line]
    fast = [i for i, each in enumerate(seconds) if each < 2 * min(seconds)]
    line = line[fast[-1] + 1 :] if fast else line
    detail = {}
    for what in ("seconds", "memory"):
        values = [(row.size, getattr(row, what)) for row in line]
        points = [(log(size), log(value)) for size, value in values if size and value]
        if len(points) > 1:
            detail[what] = linear_regression(*zip(*points, strict=True)).slope
    stated = ", ".join(f"{key} {value:.2f}" for key, value in detail.items())
    return Row(
        name=f"{name}, slope",
        what="power of the number of entries, from where on the time is twice the least",
        seconds=None,
        note=f"{stated}, over {len(line)} sizes" if stated else "too few sizes",
        detail=detail,
    )


def _name(compress: bool) -> str:
    return "twins merged" if compress else "as given"


def _held(place: torch.device) -> int:
    if place.type == "cuda":
        torch.cuda.empty_cache()  # what sorting the structure took lies in pieces
        torch.cuda.reset_peak_memory_stats(place)
        return torch.cuda.memory_allocated(place)
    reset_peak()  # what loading the structure took for a moment is not the layer's
    return resident_memory()


def _peak(place: torch.device) -> int:
    return torch.cuda.max_memory_allocated(place) if place.type == "cuda" else peak_memory()
