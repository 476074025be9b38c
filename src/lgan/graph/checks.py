"""What must hold before compiled loops may read a structure, since they trust every index.

A structure is checked once, when it is made. What is cut from a checked one is not checked again.
`lines` are always an `EgoLines`, whose module calls these functions.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lgan.graph.cells import NODES, Cells
from lgan.graph.edges import INDICES, check_ids, check_integers, undirected_pairs

REBUILD = "Rebuild the line graphs with `lgan.EgoLineGraph()` after changing the graph."

# Ids and counts are stored in 32 bits.
LARGEST = 2**31 - 1
NOTHING = np.empty(0, np.int32)


def check_pairs(pair_index: Tensor, num_nodes: int, *, loops: bool = False) -> None:
    """Raise an error unless pairs are as ``undirected_pairs`` lists them.

    Args:
        pair_index: Pairs ``[2, P]``.
        num_nodes: Number of nodes.
        loops: Allow the pair of a class of twins with itself.
    """
    check_ids("pair_index", pair_index, num_nodes)
    check_integers("pair_index", pair_index, (2, None), remedy="Convert it with `.long()`.")
    if not bool(_in_order(pair_index, num_nodes, loops=loops)):
        raise ValueError(
            "`pair_index` must list every edge once, `u < v`, in lexicographic order; an "
            "`edge_index` lists it twice. "
            "Pass `lgan.graph.undirected_pairs(edge_index, num_nodes)`."
        )


def _in_order(pair_index: Tensor, num_nodes: int, *, loops: bool) -> Tensor:
    u, v = pair_index.long()
    key = u * num_nodes + v
    good: Tensor = (u <= v if loops else u < v).all() & (key[1:] > key[:-1]).all()
    return good


def check_lines(lines: Any) -> None:
    """Raise an error unless the fields of ego line graphs fit together.

    One compiled pass on the CPU; elsewhere all values are read together, so that the host waits
    for the device once.
    """
    nodes, pairs = lines.num_nodes, lines.pair_index
    check_integers("pair_index", pairs, (2, None), remedy=REBUILD)
    each = (pairs.size(1),)
    table, rows = lines.pair_table, lines.pair_rows
    fields: list[tuple[str, Tensor, tuple[int | None, ...], int, int]] = [
        ("pair_index", pairs, (2, None), 0, nodes - 1),
        ("opposite_index", lines.opposite_index, (None,), 0, nodes - 1),
        ("opposite_count", lines.opposite_count, each, 0, LARGEST),
        ("pair_triangles", lines.pair_triangles, each, -1, LARGEST),
        ("multiplicity", lines.multiplicity, (nodes,), 1, LARGEST),
    ]
    if table is not None:
        check_table(table, rows, each[0])
    table_rows = 0 if table is None else table.size(0)
    if rows is not None:
        fields.append(("pair_rows", rows, each, 0, table_rows - 1))
    for name, value, shape, _, _ in fields:
        check_integers(name, value, shape, device=pairs.device, remedy=REBUILD)
    _check_mask("mask", lines.mask, each[0])
    _check_mask("side_mask", lines.side_mask, lines.opposite_index.numel())
    if pairs.device.type == "cpu":
        from lgan.graph.checks_numba import lines_fit

        arrays = [value.numpy() for _, value, *_ in fields]
        if lines_fit(*arrays, *([NOTHING] if rows is None else []), table_rows):
            return
    _check_values(lines, [(name, value, low, high) for name, value, _, low, high in fields])


def _check_values(lines: Any, fields: list[tuple[str, Tensor, int, int]]) -> None:
    """The same in tensor operations, for any device and to say what is wrong."""
    nodes, found = lines.num_nodes, []
    for _, value, _, _ in fields:
        found += [b.long() for b in torch.aminmax(value)] if value.numel() else []
    found += [lines.opposite_count.sum(), _in_order(lines.pair_index, nodes, loops=True).long()]
    *bounds, total, ordered = torch.stack(found).tolist()
    for name, value, least, most in fields:
        if value.numel() == 0:
            continue
        low, high, *bounds = bounds
        if low < least or high > most:
            raise ValueError(
                f"`{name}` must hold numbers from {least} to {most}, got {low} to {high}: the "
                f"line graphs do not fit a graph of {nodes} nodes. {REBUILD}"
            )
    if total != lines.opposite_index.numel():
        raise ValueError(
            f"`opposite_index` must have {total} entries, the sum of `opposite_count`, got "
            f"{lines.opposite_index.numel()}. {REBUILD}"
        )
    if not ordered:
        raise ValueError(
            "`pair_index` must list every pair once, `u ≤ v`, in lexicographic order. " + REBUILD
        )


def check_table(table: Tensor, rows: Tensor | None, pairs: int) -> None:
    """What pairs carry: a row for every pair, or any number of rows that the pairs refer to."""
    good = isinstance(table, Tensor) and table.is_floating_point() and table.dim() == 2
    if not good or (rows is None and table.size(0) != pairs):
        got = f"{table.dtype} {list(table.shape)}" if isinstance(table, Tensor) else type(table)
        raise ValueError(
            f"`pair_code` and `pair_attr` must hold a row for each of {pairs} pairs, got {got}. "
            f"{REBUILD}"
        )


def check_direction(direction: Tensor, pairs: int) -> None:
    """Raise an error unless every pair has one of the directions -1, 0, 1."""
    check_integers("pair_direction", direction, (pairs,), remedy=REBUILD)
    # Looked at on the CPU alone: elsewhere the look would wait for the device.
    if direction.device.type == "cpu" and pairs and int(direction.abs().max()) > 1:
        raise ValueError(f"`pair_direction` must hold -1, 0 or 1, got others. {REBUILD}")


def _check_mask(name: str, mask: Tensor | None, size: int) -> None:
    if mask is not None and (mask.shape[-1:] != (size,) or not mask.is_floating_point()):
        raise ValueError(
            f"`{name}` must hold {size} floats, got {mask.dtype} {list(mask.shape)}. {REBUILD}"
        )


def check_edges(edge_index: Tensor, lines: Any) -> None:
    """Raise an error unless the edges of a graph are the pairs of its ego line graphs."""
    pairs, nodes = lines.pair_index, lines.num_nodes
    if isinstance(edge_index, Tensor) and edge_index.is_cpu and edge_index.dtype in INDICES:
        from lgan.graph.checks_numba import same_edges

        columns = edge_index.dim() == 2 and edge_index.size(0) == 2
        if columns and same_edges(edge_index.numpy(), pairs.numpy(), nodes):
            return
    between = pairs[:, pairs[0] != pairs[1]]
    if not torch.equal(undirected_pairs(edge_index, nodes), between.long()):
        raise ValueError(
            "`edge_index` has changed since the line graphs were built: its edges are not those "
            "of `pair_index`. " + REBUILD
        )


def check_ptr(name: str, ptr: Any, rows: int, *, remedy: str) -> None:
    """Raise an error unless int64 pointers lead through ``0 … rows`` without a step back."""
    if _fits(ptr, rows):
        return
    check_integers(name, ptr, (None,), remedy=remedy)
    if ptr.dtype != torch.int64:
        raise TypeError(f"`{name}` must hold int64, got {ptr.dtype}. {remedy}")
    if ptr.numel() == 0:
        raise ValueError(f"`{name}` must begin with 0, got no entry. {remedy}")
    backwards = (ptr[1:] < ptr[:-1]).any().long()
    first, last, falls = torch.stack([ptr[0].long(), ptr[-1].long(), backwards]).tolist()
    if first != 0 or last != rows or falls:
        raise ValueError(
            f"`{name}` must rise from 0 to {rows}, got {first} to {last}"
            f"{' and a step back' if falls else ''}. {remedy}"
        )


def _fits(ptr: Any, rows: int) -> bool:
    """The quick way to see it, on the CPU."""
    if not isinstance(ptr, Tensor) or ptr.dtype != torch.int64 or ptr.dim() != 1 or not ptr.is_cpu:
        return False
    from lgan.ops.numba_rows import rising

    array = ptr.numpy()
    return array.size > 0 and array[0] == 0 and array[-1] == rows and rising(array, rows)


def check_cells(cells: Mapping[str, Cells], node_ptr: Tensor) -> None:
    """Raise an error unless the cells of every graph refer to nodes and cells of that graph."""
    remedy = "Lift the data set again."
    ptrs = {NODES: node_ptr, **{name: family.ptr for name, family in cells.items()}}
    for name, family in cells.items():
        check_integers(f"cells/{name}", family.ptr, tuple(node_ptr.shape), remedy=remedy)
        rows = family.num_cells
        check_ptr(f"cells/{name}", family.ptr, rows, remedy=remedy)
        for key, value in family.fields.items():
            if value.dim() == 0 or value.size(0) != rows:
                raise ValueError(f"`{name}.{key}` must have {rows} rows. {remedy}")
    for name, family in cells.items():
        for key, target in family.points.items():
            if target not in ptrs or family[key].dtype not in INDICES:
                raise ValueError(f"`{name}.{key}` must hold ids of the cells {target!r}. {remedy}")
            check_own(f"{name}.{key}", family[key], family.ptr, ptrs[target])


def check_own(name: str, ids: Tensor, ptr: Tensor, limit: Tensor) -> None:
    """Raise an error unless the ids of graph ``g``, those from ``ptr[g]`` on, lie within
    ``limit[g]`` and ``limit[g + 1]``.
    """
    from lgan.graph.checks_numba import first_outside

    rows = ids.reshape(ids.size(0), -1).cpu().contiguous().numpy() if ids.numel() else None
    if rows is not None and (graph := first_outside(rows, ptr.cpu().numpy(), limit.cpu().numpy())):
        raise ValueError(
            f"`{name}` of graph {graph - 1} refers to another graph. Build the union again."
        )
