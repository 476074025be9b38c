r"""Integrated Gradients over the edges of a graph.

Sundararajan et al., *Axiomatic Attribution for Deep Networks* (ICML 2017), with a value
:math:`m_e` between 0 and 1 for every undirected edge as the input, the graph without edges as the
baseline, and the straight path :math:`m_e(\alpha) = \alpha`:

.. math::
    s_e = \int_0^1 \frac{\partial f}{\partial m_e}(m(\alpha))\, d\alpha, \qquad
    \sum_e s_e = f(1) - f(0)

A triangle is there to the degree :math:`m_{uv} m_{uw} m_{vw}`. The part of the integral that goes
through this product is the score of the triangle. From another baseline :math:`b` the path is
:math:`b + \alpha (1 - b)`; see :class:`lgan.explain.Path`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from lgan.explain.attribution import completeness
from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.explain.masking import dtype_of, masked_outputs, num_members, pass_load
from lgan.explain.path import Panel, worst
from lgan.explain.question import Found, Question, as_members
from lgan.graph import EgoLines

METHOD = "integrated-gradients"
# Values of pairs and triangle entries in one pass; bounds memory, not results.
CHUNK = 1 << 16


def integrated_gradients(question: Question) -> list[Found]:
    """Scores of the edges of several graphs, computed together; members share the path."""
    draw = torch.Generator().manual_seed(question.seed)
    ends = question.ends or outputs_at_ends(question.model, question.graphs)
    asked: list[Integral] = []
    for graph, target, (low, high) in zip(
        question.graphs, question.targets, (each.unbind(1) for each in ends), strict=True
    ):
        for start in question.path.starts(graph.num_pairs, draw):
            known = {1.0: high} if bool(start.any()) else {0.0: low, 1.0: high}
            start = start.to(graph.edge_index.device, dtype_of(question.model))
            asked.append(Integral(question, graph, target, start, known))
    members, done = max(num_members(question.model), 1), 0
    for union in unions([each.graph for each in asked], question.path.steps * members):
        _integrate(question, union, asked[done : done + len(union.graphs)])
        done += len(union.graphs)
    each = len(asked) // max(len(question.graphs), 1)  # paths of a graph
    return [_joined(asked[i : i + each]) for i in range(0, len(asked), each)]


def _joined(integrals: Sequence["Integral"]) -> Found:
    """The mean over the paths of a graph."""
    found = [integral.found() for integral in integrals]
    if len(found) == 1:
        return found[0]
    starts = torch.stack([integral.values(0.0)[:, 0] for integral in integrals])
    return Found(
        pairs=torch.stack([each.pairs for each in found]).mean(0),
        sides=torch.stack([each.sides for each in found if each.sides is not None]).mean(0),
        baseline=starts.mean(0),
        sums=True,
        steps=sum(each.steps for each in found),
    )


@dataclass(eq=False)
class Integral:
    """What is known so far of the integral of one graph, along one path."""

    question: Question
    graph: MaskableGraph
    target: int
    start: Tensor  # [P]
    outputs: dict[float, Tensor] = field(default_factory=dict)  # by point, each [K, C]
    panels: list[Panel] = field(default_factory=list)
    steps: int = 0

    def values(self, *points: float) -> Tensor:
        """What is explained, by member, at points where the outputs are known ``[K, S]``."""
        outputs = torch.stack([self.outputs[point] for point in points], 1)
        return self.question.values(outputs, self.target)

    def value(self, *points: float) -> Tensor:
        """The same, the mean over members ``[S]``."""
        return self.values(*points).mean(0)

    def next_panels(self) -> list[tuple[float, float]]:
        """Panels to look at next; none where the integral is good enough, or can be no better."""
        path = self.question.path
        if not self.panels:
            return path.first()
        scores = torch.stack([panel.scores for panel in self.panels]).sum(0).mean(0)
        *_, complete = completeness(scores, self.value(0.0, 1.0), path.tolerance)
        room = (path.max_steps - self.steps) // (2 * path.order)
        if complete or room < 1:
            return []
        cut = worst(self.panels, room)
        self.panels = [panel for panel in self.panels if panel not in cut]
        return [half for panel in cut for half in panel.halves()]

    def fresh_ends(self, panels: list[tuple[float, float]]) -> list[float]:
        """Points at which outputs are needed beside those known, so that panels can be judged."""
        ends = (
            {0.0, 1.0} if self.question.path.fixed else {end for panel in panels for end in panel}
        )
        return sorted(ends - set(self.outputs))

    def add(self, panels: list[tuple[float, float]], by_pair: Tensor, by_entry: Tensor) -> None:
        """Take in the changes at the points of some panels ``[K, S, P]``, ``[K, S, M]``."""
        path = self.question.path
        weights = path.rule()[1].to(by_pair)
        scores, sides = (
            torch.einsum("ksop,o->skp", part.unflatten(1, (-1, path.order)), weights)
            for part in (by_pair, by_entry)
        )
        for k, (low, high) in enumerate(panels):
            width = high - low
            rise = 0.0 if path.fixed else float(self.value(low, high).diff())
            gap = float(width * scores[k].mean(0).sum()) - rise
            self.panels.append(Panel(low, high, width * scores[k], width * sides[k], gap))
        self.steps += len(panels) * path.order

    def found(self) -> Found:
        """The result."""
        return Found(
            pairs=torch.stack([panel.scores for panel in self.panels]).sum(0),
            sides=torch.stack([panel.sides for panel in self.panels]).sum(0),
            sums=True,
            steps=self.steps if self.graph.num_pairs else 0,
        )


def _integrate(question: Question, union: MaskableUnion, going: list[Integral]) -> None:
    """Attempt after attempt, until every graph adds up or has all the steps it may have."""
    while going:
        asked = [integral.next_panels() for integral in going]
        todo = [(i, panels) for i, panels in zip(going, asked, strict=True) if panels]
        if len(todo) < len(union.graphs) and todo:
            union = MaskableUnion.of([integral.graph for integral, _ in todo])
        going = [integral for integral, _ in todo]
        if going:
            _look(question, union, todo)


def _look(
    question: Question,
    union: MaskableUnion,
    todo: Sequence[tuple[Integral, list[tuple[float, float]]]],
) -> None:
    """Evaluate panels of all graphs of a union, each its own ones, in one pass."""
    model, path = question.model, question.path
    start = torch.cat([integral.start for integral, _ in todo])  # [P]
    fresh = [integral.fresh_ends(panels) for integral, panels in todo]
    if any(fresh):
        alpha = _side_by_side(fresh, model, union)
        outputs = _outputs(model, union, alpha, start)  # [K, S, B, C]
        for b, ((integral, _), points) in enumerate(zip(todo, fresh, strict=True)):
            integral.outputs |= dict(zip(points, outputs[:, :, b].unbind(1), strict=False))

    inside = [path.points(panels) for _, panels in todo]
    alpha = _side_by_side(inside, model, union)
    target = torch.tensor([integral.target for integral, _ in todo], device=alpha.device)
    by_pair, by_entry = _gradients(question, union, alpha, start, target)  # [K, S, P], [K, S, M]
    parts = zip(
        todo,
        inside,
        by_pair.split([graph.num_pairs for graph in union.graphs], 2),
        by_entry.split([graph.lines.opposite_index.numel() for graph in union.graphs], 2),
        strict=True,
    )
    for (integral, panels), points, pair_part, entry_part in parts:
        integral.add(panels, pair_part[:, : len(points)], entry_part[:, : len(points)])


def _side_by_side(
    points: Sequence[Sequence[float]], model: nn.Module, union: MaskableUnion
) -> Tensor:
    """Points of the path, a column for every graph ``[S, B]``; short columns end with ones."""
    rows = max(len(column) for column in points)
    filled = [[*column, *[1.0] * (rows - len(column))] for column in points]
    return torch.tensor(filled, dtype=dtype_of(model), device=union.batch.ptr.device).t()


@torch.no_grad()
def _outputs(model: nn.Module, union: MaskableUnion, alpha: Tensor, start: Tensor) -> Tensor:
    """Outputs at points of the path ``[S, B]``, as ``[K, S, B, C]``."""
    found = [
        masked_outputs(model, union, _by_member(model, _mask(piece, union, start)))
        for piece in pieces(model, alpha, union.batch.lines)
    ]
    return as_members(torch.cat(found, -3), num_members(model))


def _mask(alpha: Tensor, union: MaskableUnion, start: Tensor) -> Tensor:
    """The masks ``[S, P]`` at points of the path ``[S, B]``."""
    return torch.lerp(start, torch.ones_like(start), alpha[:, union.pair_graph])


def _gradients(
    question: Question, union: MaskableUnion, alpha: Tensor, start: Tensor, target: Tensor
) -> tuple[Tensor, Tensor]:
    """Changes along the path by pair ``[K, S, P]``, and by triangle entry ``[K, S, M]``."""
    by_pair, by_entry = [], []
    speed, sides = 1 - start, union.batch.lines.entry_pairs
    for piece in pieces(question.model, alpha, union.batch.lines):
        mask = _mask(piece, union, start)
        pairs, entries = _mask_gradients(question, union, _by_member(question.model, mask), target)
        by_pair.append(pairs * speed)
        # How fast the product of the three masks of a triangle changes along the path.
        a, b, c = (mask[:, side] for side in sides)
        fast = speed[sides[0]] * b * c + speed[sides[1]] * a * c + speed[sides[2]] * a * b
        by_entry.append(entries * fast)
    return torch.cat(by_pair, 1), torch.cat(by_entry, 1)


def _by_member(model: nn.Module, mask: Tensor) -> Tensor:
    """A mask for every stacked model, where there are several."""
    members = num_members(model)
    return mask.expand(members, *mask.shape).contiguous() if members else mask


def gradient(question: Question) -> list[Found]:
    """The gradient in the mask at the full graph: one point of the path instead of many."""
    found: list[Found] = []
    for union in unions(question.graphs, max(num_members(question.model), 1)):
        wanted = question.targets[len(found) : len(found) + len(union.graphs)]
        full = torch.ones(
            1, union.num_pairs, dtype=dtype_of(question.model), device=union.batch.ptr.device
        )
        target = torch.tensor(wanted, device=full.device)
        by_pair, _ = _mask_gradients(question, union, _by_member(question.model, full), target)
        parts = by_pair[:, 0].split([graph.num_pairs for graph in union.graphs], 1)
        found += [Found(part, steps=1) for part in parts]
    return found


def absolute_gradient(question: Question) -> list[Found]:
    """The size of the gradient of every member."""
    return [replace(found, pairs=found.pairs.abs()) for found in gradient(question)]


def _mask_gradients(
    question: Question, union: MaskableUnion, mask: Tensor, target: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of what is explained in the mask and in the triangles' part of it, by member.

    Shapes:
        ``mask``: ``[S, P]`` or ``[K, S, P]``; result: ``[K, S, P]``, ``[K, S, M]``.
    """
    model, members = question.model, num_members(question.model)
    mask = mask.detach().requires_grad_()
    side_mask = union.batch.lines.side_product(mask)
    if union.num_pairs == 0:
        return as_members(mask.detach(), members), as_members(side_mask.detach(), members)
    outputs = masked_outputs(model, union, mask, side_mask)
    # In the units of the target, whose scale may be another for every member.
    values = question.values(outputs.flatten(-3, -2), target.repeat(outputs.size(-3)))
    found: tuple[Tensor | None, ...] = (None, None)
    if values.requires_grad:
        found = torch.autograd.grad(values.sum(), [mask, side_mask], allow_unused=True)
    if found[0] is None:
        raise TypeError(
            f"The output of {type(model).__name__} does not depend on its edges: the mask did not "
            "reach it. Add an argument `edge_weight` to its `forward`."
        )
    sides = torch.zeros_like(side_mask) if found[1] is None else found[1]
    return as_members(found[0], members), as_members(sides, members)


def outputs_at_ends(model: nn.Module, graphs: Sequence[MaskableGraph]) -> list[Tensor]:
    """Outputs for every graph without edges and with all ``[K, 2, C]``."""
    found: list[Tensor] = []
    for union in unions(graphs, 2 * max(num_members(model), 1)):
        ends = _side_by_side([[0.0, 1.0]] * len(union.graphs), model, union)
        found += _outputs(model, union, ends, ends.new_zeros(union.num_pairs)).unbind(2)
    return found


def pieces(model: nn.Module, alpha: Tensor, lines: EgoLines) -> tuple[Tensor, ...]:
    """Points that fit into one pass over a graph or union ``[S, …]``."""
    load = pass_load(lines) * max(num_members(model), 1)
    found: tuple[Tensor, ...] = alpha.split(max(1, CHUNK // max(1, load)))
    return found


def unions(graphs: Sequence[MaskableGraph], copies: int) -> Iterator[MaskableUnion]:
    """The graphs in order, as many in a union as fit into one pass with so many copies."""
    part: list[MaskableGraph] = []
    room = CHUNK
    for graph in graphs:
        load = copies * pass_load(graph.lines)
        if part and load > room:
            yield MaskableUnion.of(part)
            part, room = [], CHUNK
        part.append(graph)
        room -= load
    if part:
        yield MaskableUnion.of(part)
