"""What a source was understood to hold, in numbers and names."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lgan.data import Columns
from lgan.data.molecules.tables import count_duplicates
from lgan.data.raw import RawGraphs
from lgan.data.readers.tables import is_table, open_table
from lgan.experiment.reading import Reading
from lgan.experiment.settings import settings_for
from lgan.experiment.source import ReadSource
from lgan.graph import GraphUnion
from lgan.task import Task
from lgan.task.cells import TargetColumn


def overview(
    source: str,
    reading: Reading,
    *,
    features: str | None = None,
    compress: bool = True,
    progress: Callable[..., None] | None = None,
) -> dict[str, Any]:
    """What a source holds, as JSON's types; a source without a task says why it has none."""
    name = Path(source).name
    settings = settings_for(
        "lgan", name, features=features, compress=compress, pair_code="none", readout="sum",
        graph_features="none",
    )  # fmt: skip
    facts: dict[str, Any] = {"name": name}
    if is_table(Path(source)):
        facts["columns"] = list(open_table(source).names)
    try:
        found, why = ReadSource.of(settings, source, reading, progress=progress), ""
    except ValueError as error:  # still worth a look, unless nothing can be read at all
        plain = replace(reading, targets=(), task=None)
        found, why = ReadSource.of(settings, source, plain, progress=progress), str(error)
    facts |= contents(found, why)
    if found.shards is not None:
        facts |= _sizes(found.select(range(found.raw.num_graphs)))
    return facts | structure(found.whole)


def contents(found: ReadSource, why: str = "") -> dict[str, Any]:
    """What the graphs of a source and their targets are; of shards no more than is at hand."""
    raw, task = found.raw, found.encoder.task
    facts: dict[str, Any] = {
        "graphs": raw.num_graphs,
        "task": str(task) if task is not None else f"none: {why}",
        "targets": {}
        if task is None
        else {t: _cells(t, raw.targets[t], task) for t in task.targets},
        "rows without a target": found.unlabelled,
        "unreadable rows": [{"row": row + 1, "reason": reason} for row, reason in raw.errors],
    }
    if raw.featuriser is not None and raw.ids is not None:
        several = count_duplicates(raw.ids, raw.targets)
        facts["molecules in several rows"] = {
            "molecules": several.molecules,
            "rows": several.rows,
            "with different targets": several.conflicting,
            **({"as several stereoisomers": several.stereo} if several.stereo else {}),
        }
    return facts | _sizes(raw) if found.shards is None else facts


def _sizes(raw: RawGraphs) -> dict[str, Any]:
    """What is told of nodes and edges, and how many there are."""
    nodes = raw.node_ptr.diff()
    edges = torch.searchsorted(raw.pair_index[0].contiguous(), raw.node_ptr).diff()
    return {
        "node features": _columns(raw.nodes),
        "edge features": _columns(raw.pairs),
        "nodes per graph": _spread(nodes),
        "edges per graph": _spread(edges),
        "graphs without edges": int((edges == 0).sum()),
    }


def structure(union: GraphUnion) -> dict[str, int]:
    """Sizes of a union, with twins and with twins merged."""
    lines = union.lines
    edges = lines.weights()[4]  # edges of the original graph that a pair stands for
    own = int((lines.pair_index[0] == lines.pair_index[1]).sum())
    return {
        "inputs of a model": union.num_features,
        "nodes": union.original_nodes,
        "nodes after merging twins": lines.num_nodes,
        "edges": int(edges.sum()),
        "edges after merging twins": lines.num_pairs - own,
        "triangles": int((edges * lines.pair_triangles.long()).sum()) // 3,
        "triangle entries stored": lines.opposite_index.numel(),
        "bytes": union.nbytes,
    }


def _cells(name: str, cells: Sequence[Any], task: Task) -> dict[str, Any]:
    """How often every class of a target occurs, or where its numbers lie."""
    column = TargetColumn.read(name, cells)
    missing = {"missing": column.texts.count(None)} if None in column.texts else {}
    if task.classes:
        counts = Counter(column.texts)
        return {word: counts[word] for word in task.classes} | missing
    numbers = column.numbers[column.numbers == column.numbers]
    spread = {"least": numbers.min(), "mean": numbers.mean(), "most": numbers.max()}
    return {word: float(f"{value:.6g}") for word, value in spread.items()} | missing


def _columns(columns: Columns) -> dict[str, Any]:
    """By column, its number of values, or that it holds numbers."""
    counts = [len(words) for words in columns.vocabularies]
    categories = dict(zip(columns.names, counts, strict=True))
    return categories | dict.fromkeys(columns.number_names, "number")


def _spread(counts: Tensor) -> dict[str, int]:
    if not len(counts):
        return {}
    found = {"least": counts.min(), "median": counts.median(), "most": counts.max()}
    return {word: int(value) for word, value in found.items()}
