r"""Integrated Gradients over the features of nodes and edges.

The graph stays, and its features come in together: with :math:`x` and :math:`e` the features of
all nodes and edges, categories as one-hot vectors,

.. math::
    s_i = x_i \int_0^1 \frac{\partial f}{\partial x_i}(\alpha x, \alpha e)\, d\alpha, \qquad
    \sum_i s_i + \sum_j s_j = f(x, e) - f(0, 0)

and likewise for :math:`e`. The scores of nodes and of edges are complete together.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from lgan.explain.attribution import Attribution
from lgan.explain.integrated_gradients import Integral, pieces
from lgan.explain.maskable import MaskableGraph, MaskableUnion
from lgan.explain.masking import dtype_of, num_members, outputs_of, reads_lines
from lgan.explain.question import Question, as_members
from lgan.nn import LGAN
from lgan.nn.edge_vectors import edge_vectors
from lgan.nn.linear import one_hot


def with_feature_scores(question: Question, found: Sequence[Attribution]) -> list[Attribution]:
    """The scores of every graph of a question, and those of the features of its nodes and edges."""
    return [
        _scored(question, graph, each) for graph, each in zip(question.graphs, found, strict=True)
    ]


def _features(model: nn.Module, graph: MaskableGraph) -> tuple[Tensor, Tensor]:
    """The features of a graph as vectors, of nodes ``[n, F]`` and of pairs ``[P, D]``."""
    x, lines, dtype = graph.x, graph.lines, dtype_of(model)
    if x is None:
        raise ValueError("The graph has no node features `x` to be scored. Set them.")
    if not x.is_floating_point():
        channels = getattr(model, "in_channels", None)
        if channels is None:
            raise ValueError(
                f"The categories `x` must be given to {type(model).__name__} as one-hot "
                "vectors for their scores, got integers. Use `torch.nn.functional.one_hot`."
            )
        x = one_hot(x, channels)
    edges = torch.zeros(graph.num_pairs, 0, device=x.device)
    if lines.edge_table is not None:
        sizes = getattr(model, "edge_dim", None)
        edges = edge_vectors(lines, sizes) if lines.edge_categories else lines.edge_table
        edges = lines.at_pairs(edges)
    return x.to(dtype), edges.to(dtype)


def _scored(question: Question, graph: MaskableGraph, attribution: Attribution) -> Attribution:
    features = nodes, pairs = _features(question.model, graph)
    target = attribution.target
    integral = Integral(question, graph, target, nodes.new_zeros(0))

    def pass_points(points: Sequence[float]) -> tuple[Tensor, ...]:
        return pieces(question.model, nodes.new_tensor(points), graph.lines)

    while panels := integral.next_panels():
        ends = integral.fresh_ends(panels)
        with torch.no_grad():
            outputs = [_outputs(question, graph, features, part)[0] for part in pass_points(ends)]
        integral.outputs |= dict(zip(ends, torch.cat(outputs, 1).unbind(1), strict=True))
        points = pass_points(question.path.points(panels))
        changes = torch.cat([_changes(question, graph, target, features, p) for p in points])
        integral.add(panels, changes[None], changes.new_zeros(1, len(changes), 0))
    found = integral.found().pairs[0]
    baseline, output = integral.value(0.0, 1.0).tolist()
    cut = nodes.numel()
    return replace(
        attribution,
        node_feature_scores=found[:cut].view_as(nodes),
        edge_feature_scores=graph.to_columns(found[cut:].view_as(pairs)),
        feature_baseline_output=baseline,
        feature_gap=abs(float(found.sum(dtype=torch.float64)) - (output - baseline)),
    )


def _changes(
    question: Question,
    graph: MaskableGraph,
    target: int,
    features: tuple[Tensor, Tensor],
    points: Tensor,
) -> Tensor:
    """What every feature adds along the path at some points, nodes first ``[S, n F + P D]``."""
    outputs, inputs = _outputs(question, graph, features, points)
    values = question.values(outputs, target).mean(0).sum()
    found = torch.autograd.grad(values, inputs, allow_unused=True, materialize_grads=True)
    parts = zip(found, features, strict=True)
    return torch.cat([(grad * feature).flatten(1) for grad, feature in parts], 1)


def _outputs(
    question: Question, graph: MaskableGraph, features: tuple[Tensor, Tensor], points: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Outputs at points of the path ``[K, S, C]``, and the features there, whose gradients are
    wanted ``[S, n, F]``, ``[S, P, D]``.
    """
    model = question.model
    nodes, pairs = ((points[:, None, None] * each).detach().requires_grad_() for each in features)
    many = MaskableUnion.of([graph]).tiled(len(points))
    lines, table = many.batch.lines, many.batch.lines.pair_table
    if pairs.size(2) and table is not None:
        each = lines.at_pairs(table)
        codes = each.size(1) - lines.edge_columns - lines.edge_directed
        kept = each[:, :codes].to(pairs), each[:, codes + lines.edge_columns :].to(pairs)
        lines = replace(
            lines,
            pair_table=torch.cat([kept[0], pairs.flatten(0, 1), kept[1]], 1),
            pair_rows=None,
            edge_columns=pairs.size(2),
            edge_categories=False,
            _trusted=True,
        )
    many = replace(many, batch=replace(many.batch, x=nodes.flatten(0, 1), lines=lines))
    if isinstance(model, LGAN):
        outputs: Tensor = model(many.batch)
    else:
        data = many.data()
        if reads_lines(model):
            data.lines = lines
        outputs = outputs_of(model, data)
    return as_members(outputs, num_members(model)), (nodes, pairs)
