"""What a model says of graphs, as cells of a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from lgan.data import RawGraphs
from lgan.predictor.predictor import Predictor
from lgan.task import Task

Row = dict[str, Any]


def predicted_columns(task: Task) -> list[str]:
    """The columns that a prediction adds to those of its source.

    Example:
        >>> predicted_columns(Task("regression", ("logS",)))
        ['logS_predicted', 'logS_std', 'logS_lower', 'logS_upper', 'seen', 'error']
    """
    names = []
    for target in task.targets:
        names.append(f"{target}_predicted")
        if task.classes:
            names += [f"{target}_probability_{name}" for name in task.classes]
        else:
            names += [f"{target}_{word}" for word in ("std", "lower", "upper")]
    return [*names, "seen", "error"]


def near_columns(nearest: int) -> list[str]:
    """The columns of so many training molecules that a molecule is most like."""
    each = [f"nearest_{k}{what}" for k in range(1, nearest + 1) for what in ("", "_similarity")]
    return [*each, "unlike"] if each else []


def said_cells(predictor: Predictor, answers: Tensor, members: Tensor) -> list[Row]:
    """What is said of every graph: ``answers [G, O]``, and ``members [K, G, O]`` on their own."""
    task, rows, around = predictor.task, [], _uncertainty(predictor, members)
    shape = (len(answers), len(task.targets))
    places = predictor.decide(answers).view(shape).tolist() if task.classes else []
    for graph, values in enumerate(answers.tolist()):
        row: Row = {}
        for t, target in enumerate(task.targets):
            if not task.classes:
                row[f"{target}_predicted"] = float(f"{values[t]:.7g}")
                continue
            row[f"{target}_predicted"] = task.classes[places[graph][t]]
            shares = values if task.has_classes else (1 - values[t], values[t])
            for name, share in zip(task.classes, shares, strict=True):
                row[f"{target}_probability_{name}"] = round(share, 6)
        rows.append({**row, **{name: column[graph] for name, column in around.items()}})
    return rows


def _uncertainty(predictor: Predictor, members: Tensor) -> dict[str, list[Any]]:
    """By column: the members' deviation and the ends of intervals that hold 90 % of the truths."""
    task, columns = predictor.task, {}
    if task.classes or not members.size(1):
        return {}
    ends = None if predictor.checkpoint.out_of_fold is None else predictor.intervals(members)
    for t, target in enumerate(task.targets):
        if len(members) > 1:
            columns[f"{target}_std"] = _digits(members[..., t].std(0))
        if ends is not None:
            columns[f"{target}_lower"] = _digits(ends[:, t, 0])
            columns[f"{target}_upper"] = _digits(ends[:, t, 1])
    return columns


def _digits(values: Tensor) -> list[Any]:
    return [float(f"{value:.7g}") if np.isfinite(value) else "" for value in values.tolist()]


def near_cells(predictor: Predictor, raw: RawGraphs, nearest: int) -> list[Row]:
    """For every molecule the training molecules it is most like, and whether it is unlike."""
    rows = []
    for near in predictor.neighbours(raw, nearest):
        row: Row = {"unlike": "yes" if predictor.is_unlike(near) else ""}
        for k, one in enumerate(near, 1):
            row |= {f"nearest_{k}": one.smiles or ""}
            row |= {f"nearest_{k}_similarity": round(one.similarity, 4)}
        rows.append(row)
    return rows


def cells_of(source: Any, raw: RawGraphs) -> dict[str, Sequence[Any]]:
    """What identifies the rows of a source that is no table, and its targets."""
    if isinstance(source, list | tuple) and source and isinstance(source[0], str):
        return {"smiles": source}
    cells: dict[str, Sequence[Any]] = {"graph": range(raw.num_rows)}
    place = raw.graph_of_row
    told = {"smiles": raw.ids} if raw.featuriser is not None and raw.ids is not None else {}
    for name, values in {**told, **raw.targets}.items():
        cells[name] = [values[place[row]] if row in place else "" for row in range(raw.num_rows)]
    return cells


def renamed(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """The columns of a source; one that has the name of a predicted one says where it is from."""
    found: list[str] = []
    for name in names:
        new = name
        while new in taken or new in found or (new != name and new in names):
            new = f"{new} (input)"
        found.append(new)
    return found
