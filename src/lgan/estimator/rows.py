"""What users of scikit-learn pass: lists, arrays and tables of graphs, and their targets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.data import RawGraphs
from lgan.data.sources import is_one_graph
from lgan.task.cells import spelled

# Fewer graphs cannot be taken apart into what is trained on and what is held out.
FEWEST_GRAPHS = 4
# More different numbers, in more than half of the graphs, are measured and no names of classes.
MOST_CLASSES = 20


def as_rows(graphs: Any) -> list[Any]:
    """Graphs as a list; of a table the column of SMILES."""
    if hasattr(graphs, "columns"):  # a DataFrame
        named = [name for name in graphs.columns if str(name).lower() == "smiles"]
        if len(named or graphs.columns) != 1:
            raise ValueError(
                "A table of molecules must have one column `smiles`, or one column alone, got "
                f"{', '.join(map(str, graphs.columns))}. Pass the column itself."
            )
        graphs = graphs[(named or list(graphs.columns))[0]]
    if isinstance(graphs, Mapping):  # which would be read as a list of its keys
        raise TypeError(
            f"`X` must be a list of graphs or SMILES, or a DataFrame, got {type(graphs).__name__}. "
            "Pass one of its values, or `pandas.DataFrame(X)`."
        )
    if isinstance(graphs, str | bytes) or is_one_graph(graphs):
        one = "a text" if isinstance(graphs, str | bytes) else f"one {type(graphs).__name__}"
        raise TypeError(
            f"`X` must be a list of graphs or SMILES, got {one}. Pass a list of one, [X]."
        )
    if isinstance(graphs, np.ndarray) and graphs.ndim == 2 and graphs.shape[1] == 1:
        graphs = graphs[:, 0]
    try:
        len(graphs)  # what can be read only once has none
        rows = list(graphs)
    except TypeError as error:
        raise TypeError(
            f"`X` must be a list of graphs or SMILES, got {type(graphs).__name__}."
        ) from error
    return [row.item() if isinstance(row, np.generic) else row for row in rows]


def table_columns(graphs: Any, names: list[str]) -> dict[str, list[Any]]:
    """Columns of a table by name, one value a row each."""
    there = [str(name) for name in getattr(graphs, "columns", ())]
    missing = [name for name in names if name not in there]
    if missing:
        got = ", ".join(map(repr, there)) or "a list"
        raise ValueError(
            f"`X` must be a table with the column {missing[0]!r}, which `graph_features` names, "
            f"got {got}. Pass a DataFrame with SMILES and that column."
        )
    return {name: list(graphs[name]) for name in names}


def target_columns(graphs: Any, y: Any, *, fewest: int = FEWEST_GRAPHS) -> dict[str, list[Any]]:
    """The targets by name, one value a graph each; an error where there are too few graphs."""
    if hasattr(y, "columns"):
        names = [str(name) for name in y.columns]
        if len(set(names)) < len(names):
            raise ValueError(f"The columns of `y` must have different names, got {names}.")
        if not names:
            raise ValueError("`y` must have a column or more, got a table without any.")
        columns = {str(name): _cells(y[name]) for name in y.columns}
    elif getattr(y, "name", None) is not None and not isinstance(y, np.ndarray):
        columns = {str(y.name): _cells(y)}
    else:
        values = np.asarray(y)
        if values.ndim == 0:
            raise TypeError(
                f"`y` must be a list of one value for each graph, got {type(y).__name__}."
            )
        if values.ndim > 2:
            raise ValueError(f"`y` must have the shape [n] or [n, T], got {list(values.shape)}.")
        if values.ndim == 2 and values.shape[1] > 1:
            columns = {f"y{i}": _cells(values[:, i]) for i in range(values.shape[1])}
        else:
            columns = {"y": _cells(values.reshape(-1))}
    rows = len(as_rows(graphs))
    for name, column in columns.items():
        if len(column) != rows:
            raise ValueError(
                f"`y` must have one value for each of {rows} graphs, got {len(column)} in {name!r}."
            )
    if rows < fewest:
        raise ValueError(
            f"`X` must hold {fewest} graphs or more, so that some can be held out, got {rows}. Add "
            "graphs."
        )
    return columns


def _cells(column: Any) -> list[Any]:
    """A column as a list, with plain numbers in place of those of numpy."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def check_classes(columns: Mapping[str, Sequence[Any]]) -> None:
    """Refuse numbers with a point of which most are different: they are measured."""
    for name, column in columns.items():
        there = [v for v in column if isinstance(v, float) and v == v]
        if (different := len(set(there))) > max(MOST_CLASSES, len(there) / 2):
            raise ValueError(
                f"`y` must hold classes, got {different} different numbers for {len(there)} graphs "
                f"in {name!r}. Use `LGANRegressor` for numbers."
            )


def distinct_labels(columns: Mapping[str, Sequence[Any]]) -> NDArray[Any]:
    """The labels of all targets that are not missing, each once, in their order."""
    there = [v for column in columns.values() for v in column if spelled(v) is not None]
    if len({_kind_of_label(value) for value in there}) > 1:
        raise TypeError(
            "`y` must hold labels of one kind, got several of texts, truth values and others. Make "
            "all of them texts."
        )
    labels = np.unique(np.asarray(there))
    names = {spelled(label) for label in labels.tolist()}
    if len(names) < len(labels):
        raise ValueError(
            "The labels of `y` must differ by more than blanks around them, got "
            f"{labels.tolist()[:10]}. Spell each class in one way."
        )
    if len(names) < 2:
        raise ValueError(
            f"`y` must hold two classes or more, got {labels.tolist()}. Add graphs of another "
            "class."
        )
    return labels


def _kind_of_label(value: Any) -> type:
    """Text, a truth value, or anything else: what numpy would turn into one another."""
    if isinstance(value, str):
        return str
    return bool if isinstance(value, bool | np.bool_) else object


def texts_read_as_missing(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Texts that are not empty and still mean a missing label: ``NA``, but ``Na`` as well."""
    texts = {v.strip() for column in columns.values() for v in column if isinstance(v, str)}
    return sorted(text for text in texts if text and spelled(text) is None)


def row_values(values: Any, name: str, raw: RawGraphs, graphs: Any) -> list[Any] | None:
    """One value a graph that was read, from one a row; nothing where none were given."""
    if values is None:
        return None
    each = one_each(values, name, graphs)
    return [each[row] for row in raw.rows.tolist()]


def one_each(values: Any, name: str, graphs: Any) -> list[Any]:
    """Values as a list, of which there must be one for each graph."""
    rows = len(as_rows(graphs))
    each = list(values) if hasattr(values, "__iter__") else [values]
    if len(each) != rows:
        raise ValueError(
            f"`{name}` must have one value for each of {rows} graphs, got {len(each)}."
        )
    return each


def check_all_read(answers: NDArray[np.float64], tolerant: str) -> None:
    """Refuse answers ``[n, T]`` of which some are NaN; name what gives them all the same."""
    unread = np.flatnonzero(np.isnan(answers).any(axis=1))
    if unread.size:
        raise ValueError(
            f"{unread.size} of {len(answers)} graphs cannot be read, the first of them row "
            f"{int(unread[0]) + 1}. Leave them out, or call {tolerant}, which gives NaN there."
        )


def graph_weights(sample_weight: Any, raw: RawGraphs, graphs: Any) -> Tensor | None:
    """The weight of every graph that was read, 1 on the average; nothing where none were given."""
    values = row_values(sample_weight, "sample_weight", raw, graphs)
    if values is None:
        return None
    weight = torch.from_numpy(np.array(values, dtype=np.float64))  # None is NaN
    right = weight.dim() == 1 and bool((weight.isfinite() & (weight >= 0)).all())
    if not right or not bool((weight > 0).any()):
        raise ValueError(
            "`sample_weight` must hold finite numbers [n] of 0 or more, not all of them 0, got "
            f"{weight[:10].tolist()}. Correct them, or leave it out."
        )
    return weight / weight[weight > 0].mean()
