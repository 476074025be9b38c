"""Several unions as one."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from lgan.graph.ego_lines import FIELDS, EgoLines
from lgan.graph.union import GraphUnion


def concatenate(unions: Sequence[GraphUnion]) -> GraphUnion:
    """The graphs of several unions, in order, as one union with the name and task of the first.

    Where categories are encoded by one encoder the result has the bits of a union that was encoded
    at once: distinct rows of features are in the order of their categories.

    Args:
        unions: Unions with the same features, on one device, that no :class:`Lift` has changed.
    """
    first = unions[0]
    if len(unions) == 1:
        return first
    kinds = {
        (u.num_features, u.num_graph_features, str(u.lines.edge_layout), u.x_table is None)
        for u in unions
    }
    if len(kinds) > 1 or any(union.cells for union in unions):
        raise ValueError(
            "Unions must have the same features and no cells to become one, got "
            f"{', '.join(map(repr, unions[:3]))}. Encode their graphs with one encoder."
        )
    lines = [union.lines for union in unions]
    starts = list(accumulate((each.num_nodes for each in lines), initial=0))
    graph_x = [u.graph_x for u in unions if u.graph_x is not None]
    x, x_table = torch.cat([u.x for u in unions]), None
    if first.x_table is not None:
        x_table, x = _table([(u.x_table, u.x) for u in unions])
    return GraphUnion(
        x=x,
        y=torch.cat([u.y for u in unions]),
        num_features=first.num_features,
        num_classes=first.num_classes,
        node_ptr=torch.cat(
            [u.node_ptr[:-1] + s for u, s in zip(unions, starts, strict=False)]
            + [first.node_ptr.new_tensor(starts[-1:])]
        ),
        lines=joined_lines(lines, **_carried(lines)),
        original_nodes=sum(u.original_nodes for u in unions),
        name=first.name,
        task=first.task,
        x_table=x_table,
        graph_x=torch.cat(graph_x) if graph_x else None,
        _trusted=True,
    )


def joined_lines(lines: Sequence[EgoLines], **carried: Any) -> EgoLines:
    """Several structures, in order, as one, whose pairs carry what is given."""
    starts = list(accumulate((each.num_nodes for each in lines), initial=0))
    shifted = list(zip(lines, starts, strict=False))
    rest: dict[str, Any] = {
        name: torch.cat([getattr(each, name) for each in lines]) for name in FIELDS[2:]
    }
    return EgoLines(
        num_nodes=starts[-1],
        pair_index=torch.cat([each.pair_index + start for each, start in shifted], 1),
        opposite_index=torch.cat([each.opposite_index + start for each, start in shifted]),
        **rest,
        **carried,
        _trusted=True,
    )


def _carried(lines: Sequence[EgoLines]) -> dict[str, Any]:
    """What the pairs of several structures carry, as fields of the one they become."""
    first = lines[0]
    if first.pair_table is None:
        return {}
    table, rows = _table([(each.pair_table, each.row_of_pair) for each in lines])
    return {
        "pair_table": table,
        "pair_rows": rows.to(torch.int32),
        **first.edge_layout,
    }


def _table(parts: Sequence[tuple[Tensor | None, Tensor]]) -> tuple[Tensor, Tensor]:
    """The distinct rows of several tables as one, and where the rows of each are in it.

    From the largest down: of one-hot vectors that is the order of their categories.
    """
    tables = [table for table, _ in parts if table is not None]
    rows, place = torch.unique(-torch.cat(tables), dim=0, return_inverse=True)
    starts = accumulate((len(table) for table in tables), initial=0)
    found = [place[start:][rows.long()] for (_, rows), start in zip(parts, starts, strict=False)]
    return -rows, torch.cat(found)
