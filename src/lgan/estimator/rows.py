"""What users of scikit-learn pass: lists, arrays and tables of graphs, and their targets."""

from typing import Any

import numpy as np

__all__ = ["as_rows", "target_columns"]


def as_rows(graphs: Any) -> list[Any]:
    """Graphs as a list; of a table the column of SMILES."""
    if hasattr(graphs, "columns"):  # a DataFrame
        named = [name for name in graphs.columns if str(name).lower() == "smiles"]
        if not named and len(graphs.columns) != 1:
            raise ValueError(
                "A table of molecules must have a column `smiles`, or one column alone, got "
                f"{', '.join(map(str, graphs.columns))}. Pass the column itself."
            )
        graphs = graphs[(named or list(graphs.columns))[0]]
    if isinstance(graphs, str | bytes):
        raise TypeError(
            "`X` must be a list of graphs or SMILES, got a text. Pass a list of one, [text]."
        )
    if isinstance(graphs, np.ndarray) and graphs.ndim == 2 and graphs.shape[1] == 1:
        graphs = graphs[:, 0]
    try:
        rows = list(graphs)
    except TypeError as error:
        raise TypeError(
            f"`X` must be a list of graphs or SMILES, got {type(graphs).__name__}."
        ) from error
    return [row.item() if isinstance(row, np.generic) else row for row in rows]


def target_columns(graphs: Any, y: Any) -> dict[str, list[Any]]:
    """The targets by name, one value a graph each."""
    if hasattr(y, "columns"):
        columns = {str(name): list(y[name]) for name in y.columns}
    elif getattr(y, "name", None) is not None and not isinstance(y, np.ndarray):
        columns = {str(y.name): list(y)}
    else:
        values = np.asarray(y)
        if values.ndim == 2 and values.shape[1] > 1:
            columns = {f"y{i}": values[:, i].tolist() for i in range(values.shape[1])}
        else:
            columns = {"y": values.reshape(-1).tolist()}
    rows = len(as_rows(graphs))
    for name, column in columns.items():
        if len(column) != rows:
            raise ValueError(
                f"`y` must have one value for each of {rows} graphs, got {len(column)} in {name!r}."
            )
    if rows < 4:
        raise ValueError(f"`X` must hold four graphs or more to hold some out, got {rows}.")
    return columns
