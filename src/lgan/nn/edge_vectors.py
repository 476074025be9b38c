"""Features of edges as a layer reads them."""

import torch
from torch import Tensor
from torch.nn import functional as F

from lgan.graph import EgoLines

# Categories of `edge_attr [E]` or columns of real vectors; a tuple for categories `[E, c]`.
EdgeDim = int | tuple[int, ...]


def edge_channels(edge_dim: EdgeDim) -> int:
    """Columns of the vectors that a layer reads of an edge."""
    sizes = edge_dim if isinstance(edge_dim, tuple) else (edge_dim,)
    if not sizes or any(type(size) is not int or size < 1 for size in sizes):
        raise ValueError(
            f"`edge_dim` must be 1 or more, or a tuple of such numbers, got {edge_dim!r}."
        )
    return sum(sizes)


def check_edge_columns(lines: EgoLines, edge_dim: EdgeDim | None) -> None:
    """Raise an error unless the edges have the features that a layer reads."""
    columns, categories = lines.edge_columns, lines.edge_categories
    if edge_dim is None:
        if columns:
            raise ValueError(
                f"The edges have features ({_shown(columns, categories)}) and the model reads "
                "none. Build it with `edge_dim`, or leave them out with "
                "`lgan.EgoLineGraph(edge_attr=False)`."
            )
        return
    wanted = f"`edge_dim={edge_dim}`"
    if not columns:
        if lines.num_pairs == 0:
            return
        raise ValueError(
            f"The model reads features of edges ({wanted}) and the graph has none. "
            "Give `edge_attr`, or build the model without `edge_dim`."
        )
    fits = columns == (1 if isinstance(edge_dim, int) else len(edge_dim)) if categories else (
        columns == edge_channels(edge_dim)
    )  # fmt: skip
    if not fits:
        raise ValueError(
            f"The model reads features of edges ({wanted}), and those of the graph are "
            f"{_shown(columns, categories)}. Set `edge_dim` to the number of categories of "
            "integer `edge_attr` [E], a tuple of them for [E, c], or the columns of real [E, d]."
        )


def check_direction(lines: EgoLines, *, directed: bool) -> None:
    """Raise an error unless a layer reads the direction of arcs, or there is none to read."""
    if lines.edge_directed and not directed:
        raise ValueError(
            "The edges of the graph have a direction and the model does not read it. Build it with "
            "`directed=True`, or prepare the graph as an undirected one."
        )
    if directed and not lines.edge_directed and lines.num_pairs:
        raise ValueError(
            "The model reads the direction of arcs (`directed=True`) and the graph has none. "
            "Prepare it with `lgan.EgoLineGraph(directed=True)` or `lgan.load(directed=True)`."
        )


def edge_vectors(lines: EgoLines, edge_dim: EdgeDim | None) -> Tensor:
    """The features of edges in the rows of the table of pairs ``[U, D]``, categories one-hot."""
    assert edge_dim is not None
    table = lines.edge_table
    if table is None:  # a graph without edges
        return torch.zeros(0, edge_channels(edge_dim), device=lines.pair_index.device)
    if not lines.edge_categories:
        return table
    sizes = (edge_dim,) if isinstance(edge_dim, int) else edge_dim
    ids = table.long()
    if table.device.type == "cpu" and table.numel():
        most = ids.amax(0).tolist()
        if any(high >= size for high, size in zip(most, sizes, strict=True)):
            raise ValueError(
                f"`edge_attr` must hold categories below `edge_dim={edge_dim}`, got up to "
                f"{most if len(most) > 1 else most[0]}. Set `edge_dim` to the number of categories."
            )
    return torch.cat([F.one_hot(ids[:, i], size) for i, size in enumerate(sizes)], 1)


def _shown(columns: int, categories: bool) -> str:
    kind = "categories" if categories else "real values"
    return f"{columns} column{'s' if columns > 1 else ''} of {kind}"
