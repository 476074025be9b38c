r"""Integrated Gradients over the edges of a graph.

Sundararajan et al., *Axiomatic Attribution for Deep Networks* (ICML 2017), with a value
:math:`m_e` between 0 and 1 for every undirected edge as the input, the graph without edges as the
baseline, and the straight path :math:`m_e(\alpha) = \alpha`:

.. math::
    s_e = \int_0^1 \frac{\partial f}{\partial m_e}(m(\alpha))\, d\alpha, \qquad
    \sum_e s_e = f(1) - f(0)

A triangle is there to the degree :math:`m_{uv} m_{uw} m_{vw}`. The part of the integral that goes
through this product is the score of the triangle.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lgan.explain.attribution import (
    Attribution,
    Explained,
    completeness,
    explained_by_default,
    explained_output,
)
from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.explain.masking import dtype_of, evaluating, masked_outputs, prepared
from lgan.explain.path import Panel, Path, worst
from lgan.graph import EgoLines

__all__ = [
    "METHOD",
    "checked_target",
    "integrated_gradients",
    "mask_gradients",
    "outputs_at_ends",
    "unions",
]

METHOD = "integrated-gradients"
# Values of pairs and triangle entries in one pass; bounds memory, not results.
CHUNK = 1 << 16


def integrated_gradients(
    model: nn.Module,
    graphs: Sequence[Any],
    targets: Sequence[int | None],
    path: Path | None = None,
    *,
    of: Explained | None = None,
) -> list[Attribution]:
    """Attributions of several graphs, computed together.

    Args:
        model: The model.
        graphs: Graphs in any form that :func:`lgan.attribute` takes.
        targets: Class to explain for each; ``None`` for the predicted one.
        path: How the integral is taken.
        of: What is explained of a class; :func:`explained_by_default` unless given.
    """
    path = path or Path()
    found: list[Attribution] = []
    with evaluating(model):
        for union in unions(prepared(model, graphs), path.steps):
            wanted = targets[len(found) : len(found) + len(union.graphs)]
            integrals = _integrate(model, union, wanted, path, of)
            found += [integral.attribution(path) for integral in integrals]
    return [f.to(graph.edge_index.device) for f, graph in zip(found, graphs, strict=True)]


class _Integral:
    """What is known so far of the integral of one graph."""

    def __init__(self, graph: MaskableGraph, target: int | None, of: Explained | None) -> None:
        self.graph = graph
        self.wanted = target
        self.asked_of = of
        self.outputs: dict[float, Tensor] = {}  # by point of the path
        self.panels: list[Panel] = []
        self.steps = 0

    @property
    def ends(self) -> Tensor:
        """Outputs for the graph without edges and for the graph ``[2, C]``."""
        return torch.stack([self.outputs[0.0], self.outputs[1.0]])

    @property
    def target(self) -> int:
        """The class that is explained."""
        return checked_target(self.wanted, self.outputs[1.0])

    @property
    def of(self) -> Explained:
        """What is explained of the class."""
        return self.asked_of or explained_by_default(self.outputs[1.0].numel())

    def value(self, *points: float) -> Tensor:
        """What is explained, at points where the outputs are known."""
        outputs = torch.stack([self.outputs[point] for point in points])
        return explained_output(outputs, self.target, self.of)

    def next_panels(self, path: Path) -> list[tuple[float, float]]:
        """Panels to look at next; none where the integral is good enough, or can be no better."""
        if not self.panels:
            return path.first()
        scores = torch.stack([panel.scores for panel in self.panels]).sum(0)
        *_, complete = completeness(scores, self.value(0.0, 1.0), path.tolerance)
        room = (path.max_steps - self.steps) // (2 * path.order)
        if complete or room < 1:
            return []
        cut = worst(self.panels, room)
        self.panels = [panel for panel in self.panels if panel not in cut]
        return [half for panel in cut for half in panel.halves()]

    def attribution(self, path: Path) -> Attribution:
        """The result."""
        return Attribution.from_scores(
            self.graph,
            torch.stack([panel.scores for panel in self.panels]).sum(0),
            self.ends,
            target=self.target,
            method=METHOD,
            sides=torch.stack([panel.sides for panel in self.panels]).sum(0),
            steps=self.steps,
            tolerance=path.tolerance,
            of=self.of,
        )


def _integrate(
    model: nn.Module,
    union: MaskableUnion,
    targets: Sequence[int | None],
    path: Path,
    of: Explained | None,
) -> list[_Integral]:
    """Attempt after attempt, until every graph adds up or has all the steps it may have."""
    integrals = [_Integral(s, t, of) for s, t in zip(union.graphs, targets, strict=True)]
    going = integrals
    while going:
        asked = [integral.next_panels(path) for integral in going]
        todo = [(i, panels) for i, panels in zip(going, asked, strict=True) if panels]
        if len(todo) < len(union.graphs) and todo:
            union = MaskableUnion.of([integral.graph for integral, _ in todo])
        going = [integral for integral, _ in todo]
        if going:
            _look(model, union, todo, path)
    return integrals


def _look(
    model: nn.Module,
    union: MaskableUnion,
    todo: Sequence[tuple[_Integral, list[tuple[float, float]]]],
    path: Path,
) -> None:
    """Evaluate panels of all graphs of a union, each its own ones, in one pass."""
    fresh = [sorted({e for p in panels for e in p} - set(i.outputs)) for i, panels in todo]
    outputs = _outputs(model, union, _side_by_side(fresh, model, union))
    for b, ((integral, _), points) in enumerate(zip(todo, fresh, strict=True)):
        integral.outputs |= dict(zip(points, outputs[:, b], strict=False))

    rule, weights = path.rule()
    weights = weights.to(outputs)
    inside = [[low + (high - low) * x for low, high in p for x in rule.tolist()] for _, p in todo]
    alpha = _side_by_side(inside, model, union)
    target = torch.tensor([integral.target for integral, _ in todo], device=alpha.device)
    by_pair, by_entry = _gradients(model, union, alpha, target, todo[0][0].of)
    parts = zip(
        todo,
        by_pair.split(torch.diff(union.pair_ptr).tolist(), 1),
        by_entry.split(torch.diff(union.entry_ptr).tolist(), 1),
        strict=True,
    )
    for (integral, wanted), pair_part, entry_part in parts:
        count = len(wanted) * path.order
        scores, sides = (
            torch.einsum("kop,o->kp", part[:count].unflatten(0, (-1, path.order)), weights)
            for part in (pair_part, entry_part)
        )
        for k, (low, high) in enumerate(wanted):
            width = high - low
            rise = integral.value(low, high).diff()
            gap = float(width * scores[k].sum() - rise)
            integral.panels.append(Panel(low, high, width * scores[k], width * sides[k], gap))
        integral.steps += count if integral.graph.num_pairs else 0


def _side_by_side(
    points: Sequence[Sequence[float]], model: nn.Module, union: MaskableUnion
) -> Tensor:
    """Points of the path, a column for every graph ``[S, B]``; short columns end with ones."""
    rows = max(len(column) for column in points)
    filled = [[*column, *[1.0] * (rows - len(column))] for column in points]
    return torch.tensor(filled, dtype=dtype_of(model), device=union.pair_ptr.device).t()


@torch.no_grad()
def _outputs(model: nn.Module, union: MaskableUnion, alpha: Tensor) -> Tensor:
    """Outputs at points of the path ``[S, B]``, as ``[S, B, C]``."""
    pieces = _pieces(alpha, union)
    return torch.cat([masked_outputs(model, union, piece[:, union.pair_graph]) for piece in pieces])


def _gradients(
    model: nn.Module, union: MaskableUnion, alpha: Tensor, target: Tensor, of: Explained
) -> tuple[Tensor, Tensor]:
    """Changes along the path by pair ``[S, P]``, and by triangle entry ``[S, M]``."""
    lines = union.batch.lines
    by_pair, by_entry = [], []
    for piece in _pieces(alpha, union):
        mask = piece[:, union.pair_graph]
        if union.num_pairs == 0:
            by_pair.append(mask)
            by_entry.append(mask)
            continue
        mask.requires_grad_()
        side_mask = lines.side_product(mask)
        outputs = masked_outputs(model, union, mask, side_mask)
        explained = explained_output(outputs, target, of)
        pairs, sides = mask_gradients(model, explained, mask, side_mask)
        by_pair.append(pairs)
        # The product of three equal masks alpha changes by 3 alpha² along the path.
        slope = 3 * piece[:, union.entry_graph] ** 2
        by_entry.append(torch.zeros_like(slope) if sides is None else sides * slope)
    return torch.cat(by_pair), torch.cat(by_entry)


def mask_gradients(
    model: nn.Module, outputs: Tensor, mask: Tensor, side_mask: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Gradients of the sum of outputs in the mask, and in the triangles' part of it, if any."""
    found: tuple[Tensor | None, ...] = (None, None)
    if outputs.requires_grad:
        found = torch.autograd.grad(outputs.sum(), [mask, side_mask], allow_unused=True)
    if found[0] is None:
        raise TypeError(
            f"The output of {type(model).__name__} does not depend on its edges: the mask did not "
            "reach it. Add an argument `edge_weight` to its `forward`."
        )
    return found[0], found[1]


def outputs_at_ends(model: nn.Module, union: MaskableUnion) -> Tensor:
    """Outputs for the graphs without edges and with all ``[2, B, C]``."""
    ends = [[0.0, 1.0]] * len(union.graphs)
    return _outputs(model, union, _side_by_side(ends, model, union))


def checked_target(target: int | None, outputs: Tensor) -> int:
    """The class to explain, the likeliest by default, or an error if there is no such class."""
    if target is None:
        return int(outputs.argmax())
    if not 0 <= target < outputs.numel():
        raise ValueError(
            f"`target` must be a class from 0 to {outputs.numel() - 1}, got {target}. "
            "Leave it out to explain the predicted class."
        )
    return target


def _pieces(alpha: Tensor, union: MaskableUnion) -> tuple[Tensor, ...]:
    """Points that fit into one pass."""
    rows = max(1, CHUNK // max(1, _load(union.batch.lines)))
    pieces: tuple[Tensor, ...] = alpha.split(rows)
    return pieces


def _load(lines: EgoLines) -> int:
    return lines.num_pairs + lines.opposite_index.numel() + lines.num_nodes


def unions(graphs: Sequence[MaskableGraph], copies: int) -> Iterator[MaskableUnion]:
    """The graphs in order, as many in a union as fit into one pass with so many copies."""
    part: list[MaskableGraph] = []
    room = CHUNK
    for graph in graphs:
        load = copies * _load(graph.lines)
        if part and load > room:
            yield MaskableUnion.of(part)
            part, room = [], CHUNK
        part.append(graph)
        room -= load
    if part:
        yield MaskableUnion.of(part)
