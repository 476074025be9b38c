"""Explanations of predictions: the public entry."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from lgan.explain.attribution import Attribution, Explained
from lgan.explain.integrated_gradients import (
    METHOD,
    checked_target,
    integrated_gradients,
    outputs_at_ends,
)
from lgan.explain.maskable import MaskableUnion
from lgan.explain.masking import evaluating, prepared
from lgan.explain.methods import method_spec
from lgan.explain.path import Baseline, Path

__all__ = ["attribute", "attribute_all"]


def attribute(
    model: nn.Module,
    data: Any,
    target: int | None = None,
    *,
    steps: int = 32,
    baseline: Baseline = "empty",
    tolerance: float = 0.01,
    max_steps: int = 2048,
    order: int = 2,
    of: Explained | None = None,
    method: str = METHOD,
    seed: int = 0,
) -> Attribution:
    """Which edges made a model say what it says: Integrated Gradients over an edge mask.

    See :mod:`lgan.explain.integrated_gradients` for the definition. All points of the path run as
    one batch; points are added where they are needed (see :class:`lgan.explain.Path`) until the
    scores add up to the difference they explain. At mask 0 an edge is out of every sum, and so are
    its triangles; structural pair codes and node features made from the graph, such as degrees,
    stay those of the whole graph along the path (see :mod:`lgan.explain.masking`).

    Args:
        model: LGAN in any form, a PyG network whose ``forward`` takes ``x``, ``edge_index`` and
            ``edge_weight`` (and ``batch``), or one made of PyG's message-passing layers.
        data: One graph: a PyG ``Data``, with or without the fields of
            :class:`lgan.EgoLineGraph`, or ``union.batch(torch.tensor([i]))``. Where twins are
            merged, the original edges are written out and scored; see :class:`MaskableGraph`.
        target: Class to explain; the predicted one by default.
        steps: Points of the first attempt.
        baseline: Where the path begins: ``"empty"``, the graph without edges.
        tolerance: Gap that is good enough, as a share of the difference to explain.
        max_steps: Points after which no more are added. Where the gap is still above the
            tolerance the result says so: ``complete=False``.
        order: Points of one Gauss-Legendre panel.
        of: What is explained of the class: its ``"log-odds"``, which say why this class rather
            than another (with two classes the difference of the logits), or its ``"logit"``.
            By default the log-odds, and of a model with a single output that output.
        method: Another method of :data:`lgan.explain.METHODS`, for comparison. Its scores have no
            sum to reach, and none of the settings of the path. A method that does not read
            ``of`` refuses any other than the default.
        seed: Fixes methods that draw random numbers.

    Example:
        >>> import lgan, torch
        >>> from torch_geometric.data import Data
        >>> paw = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]]))
        >>> found = attribute(lgan.LGAN(1, 8, 2), paw, target=1)
        >>> found.edge_scores.shape, found.triangles.tolist(), found.complete
        (torch.Size([4]), [[0], [1], [2]], True)
    """
    if method == METHOD:
        path = Path(steps, max(max_steps, steps), tolerance, order, baseline)
        return integrated_gradients(model, [data], [target], path, of=of)[0]
    spec = method_spec(method)
    with evaluating(model):
        graph = prepared(model, [data])[0]
        ends = outputs_at_ends(model, MaskableUnion.of([graph]))[:, 0]
        target, of = checked_target(target, ends[1]), spec.checked_of(of, ends.size(-1))
        scores = spec.explain(model, [graph], [target], of, seed)[0].to(ends)
    found = Attribution.from_scores(graph, scores, ends, target=target, method=method, of=of)
    return found.to(data.edge_index.device)


def attribute_all(
    model: nn.Module,
    graphs: Sequence[Any],
    targets: Sequence[int | None] | None = None,
    *,
    path: Path | None = None,
    of: Explained | None = None,
) -> list[Attribution]:
    """:func:`attribute` for many graphs at once, several in every batch.

    Args:
        model: See :func:`attribute`.
        graphs: Graphs, each as :func:`attribute` takes it.
        targets: Class to explain for each; the predicted ones by default.
        path: How the integrals are taken.
        of: What is explained of a class, as in :func:`attribute`.
    """
    targets = [None] * len(graphs) if targets is None else targets
    if len(targets) != len(graphs):
        raise ValueError(
            f"`targets` must have one class for each of {len(graphs)} graphs, got {len(targets)}."
        )
    return integrated_gradients(model, graphs, targets, path, of=of)
