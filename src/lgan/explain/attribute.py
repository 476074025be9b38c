"""Explanations of predictions: the public entry."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, overload

import torch
from torch import Tensor, nn

from lgan import ops
from lgan.explain.attribution import Attribution
from lgan.explain.feature_scores import with_feature_scores
from lgan.explain.fragments import Fragment, graph_fragments
from lgan.explain.integrated_gradients import outputs_at_ends
from lgan.explain.maskable import MaskableGraph
from lgan.explain.masking import device_of, evaluating, prepared
from lgan.explain.methods import DEFAULT, method_spec
from lgan.explain.path import Path
from lgan.explain.question import Explained, Over, Question, Recount, explained_by_default
from lgan.graph import GraphUnion
from lgan.task import TargetScale, Task

Fragments = str | Sequence[Fragment] | Sequence[Sequence[Fragment]]


@overload
def attribute(
    model: nn.Module,
    data: Sequence[Any] | GraphUnion,
    target: int | Sequence[int | None] | None = ...,
    **asked: Any,
) -> list[Attribution]: ...
@overload
def attribute(
    model: nn.Module, data: Any, target: int | None = ..., **asked: Any
) -> Attribution: ...
def attribute(  # type: ignore[misc]  # the forms above leave the options out
    model: nn.Module,
    data: Any,
    target: Any = None,
    *,
    method: str = DEFAULT,
    over: Over = "edges",
    fragments: Fragments | None = None,
    of: Explained | None = None,
    against: int | None = None,
    task: Task | None = None,
    scale: TargetScale | None = None,
    degrees: Recount | None = None,
    samples: int = 32,
    seed: int = 0,
    path: Path | None = None,
    features: bool = False,
) -> Attribution | list[Attribution]:
    """Which edges, nodes or fragments made a model say what it says.

    The methods are those of :data:`lgan.explain.METHODS`: by default the ``"consensus"``, the mean
    of the next two, as far as the second is heard (:func:`lgan.explain.methods.heard`);
    ``"integrated-gradients"`` over an edge mask, whose scores add up (see
    :mod:`lgan.explain.integrated_gradients`);
    ``"leave-one-out"`` and ``"shapley"`` by taking parts away (see :mod:`lgan.explain.removal`);
    the ``"gradient"`` in the mask and its size, and those it is compared with. All graphs run
    together, as many in a pass as fit.

    Several models that are stacked are explained in the same passes: scores are the mean of those
    of the members, with their spread.

    Args:
        model: LGAN in any form, alone or stacked; a PyG network whose ``forward`` takes ``x``,
            ``edge_index`` and ``edge_weight`` (and ``batch``), or one made of PyG's
            message-passing layers. It gets the directions, loops and weights of its graph.
        data: One graph: a PyG ``Data``, with or without the fields of
            :class:`lgan.EgoLineGraph`, or ``union.batch(torch.tensor([i]))``. Where twins are
            merged, the original edges are written out and scored; see :class:`MaskableGraph`.
            Or several: a list of these, or a :class:`lgan.GraphUnion`.
        target: Class to explain, or the target where a model predicts several; the predicted class
            by default, and of several targets the first. For several graphs one for all or one
            for each.
        method: Name of the method.
        over: What is taken away, by methods that take something away.
        fragments: Parts to score as a whole: a kind of :data:`lgan.explain.FRAGMENTS`, or the
            fragments of the graph (one sequence for each of several graphs), for example
            :func:`lgan.explain.molecule_fragments`.
        of: What is explained of the class: its ``"log-odds"``, which say why this class rather
            than another (with two classes the difference of the logits), or its ``"logit"``.
            By default the log-odds; of a regression the number, and of one of several labels its
            logit, which is its log-odds.
        against: A class that ``target`` is compared with alone: why this class rather than that
            one, the log-odds between the two; all others by default.
        task: What the model predicts; classes unless given.
        scale: The scale of numeric targets, so that scores are in their units.
        degrees: Called with node features and the number of neighbours that every node has once
            parts are taken away, where features tell that number; gives the features anew.
        samples: Orders that ``"shapley"`` draws where more than 12 parts can be taken away.
        seed: Fixes methods that draw random numbers.
        path: How integrals are taken.
        features: Score the features of nodes and edges too, by Integrated Gradients whatever the
            method, see :mod:`lgan.explain.feature_scores`.

    Example:
        >>> import lgan, torch
        >>> from torch_geometric.data import Data
        >>> paw = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]]))
        >>> found = attribute(lgan.LGAN(1, 8, 2), paw, target=1, method="integrated-gradients")
        >>> found.edge_scores.shape, found.triangles.tolist(), found.complete
        (torch.Size([4]), [[0], [1], [2]], True)
        >>> lost = attribute(lgan.LGAN(1, 8, 2), paw, method="leave-one-out", fragments="triangles")
        >>> [fragment.name for fragment in lost.fragments]
        ['0-1-2']
    """
    if isinstance(data, GraphUnion):
        ids = torch.arange(data.num_graphs, device=data.device)
        data = [data.batch(graph) for graph in ids[:, None]]
    several = isinstance(data, list | tuple)
    given = list(data) if several else [data]
    spec, path = method_spec(method), path or Path()
    if not given:
        return []
    for graph in given:
        if not hasattr(graph, "edge_index"):
            raise TypeError(
                "`data` must be PyG `Data`, a batch of a `GraphUnion`, or a list of these, got "
                f"{type(graph).__name__}. Convert it with `torch_geometric.utils.from_networkx`, "
                "or ask `explain` of a model of `lgan.load_model`, which reads any source."
            )
    with evaluating(model), ops.model_threads(device_of(model)):
        graphs = prepared(model, given)
        ends = outputs_at_ends(model, graphs)
        default = explained_by_default(ends[0].size(-1), task)
        spec.check(method, of, default, over)
        predictions = [_prediction(each[:, 1], task, scale) for each in ends]
        targets = _targets(target, predictions, task, several=several)
        if against is not None:
            _check_against(against, targets, of or default, ends[0].size(-1), spec.instead)
        question = Question(
            model=model,
            graphs=graphs,
            targets=targets,
            of=of or default,
            over=over,
            fragments=_fragments(fragments, graphs, several=several, needed=over == "fragments"),
            scale=scale,
            degrees=degrees,
            seed=seed,
            samples=samples,
            path=path,
            against=against,
            ends=ends,
        )
        found = [
            Attribution.of_found(question, i, each, prediction=predictions[i], method=method)
            for i, each in enumerate(spec.explain(question))
        ]
        if features:
            found = with_feature_scores(question, found)
    found = [each.to(graph.edge_index.device) for each, graph in zip(found, given, strict=True)]
    return found if several else found[0]


def _prediction(outputs: Tensor, task: Task | None, scale: TargetScale | None) -> Tensor:
    """What is predicted, the mean over members: ``[K, C]`` to ``[C]``."""
    if task is None:
        return outputs.softmax(-1).mean(0)
    return task.link(outputs.unsqueeze(-2), scale).mean(0)[0]


def _targets(
    target: Any, predictions: Sequence[Tensor], task: Task | None, *, several: bool
) -> list[int]:
    """The output to explain for each graph."""
    each = target if several and isinstance(target, list | tuple) else [target] * len(predictions)
    if len(each) != len(predictions):
        raise ValueError(
            f"`target` must have one class for each of {len(predictions)} graphs, got {len(each)}."
        )
    return [_target(one, p, task) for one, p in zip(each, predictions, strict=True)]


def _target(target: Any, prediction: Tensor, task: Task | None) -> int:
    """The output to explain, the likeliest class by default, or an error if there is none."""
    if target is None:
        return int(prediction.argmax()) if task is None or task.has_classes else 0
    number = isinstance(target, Integral | Tensor) and not isinstance(target, bool)
    if not number or not 0 <= target < prediction.numel():
        raise ValueError(
            f"`target` must be a class from 0 to {prediction.numel() - 1}, got {target!r}. "
            "Leave it out to explain the predicted class."
        )
    return int(target)


def _check_against(
    against: int, targets: Sequence[int], of: Explained, classes: int, instead: str
) -> None:
    if of != "log-odds" or instead:
        raise ValueError(
            "`against` compares two classes by their log-odds, got "
            + (f"a method whose scores speak of {instead}." if instead else f"of={of!r}.")
            + " Leave it out."
        )
    if not 0 <= against < classes or against in targets:
        raise ValueError(
            f"`against` must be a class from 0 to {classes - 1} other than the one explained, got "
            f"{against}. Name both classes: `target=…, against=…`."
        )


def _fragments(
    fragments: Fragments | None,
    graphs: Sequence[MaskableGraph],
    *,
    several: bool,
    needed: bool,
) -> list[tuple[Fragment, ...]]:
    if fragments is None and needed:
        raise ValueError(
            "`over='fragments'` needs `fragments`, got none. Name a kind, such as 'communities', "
            "or give `lgan.explain.molecule_fragments(mol)`."
        )
    if fragments is None:
        return []
    if isinstance(fragments, str):
        return [graph_fragments(g.lines.pair_index, g.num_nodes, fragments) for g in graphs]
    listed: Any = fragments if several else [fragments]
    each: list[tuple[Fragment, ...]] = [tuple(part) for part in listed]
    if len(each) != len(graphs):
        raise ValueError(
            f"`fragments` must be given for each of {len(graphs)} graphs, got {len(each)}."
        )
    for parts, graph in zip(each, graphs, strict=True):
        for part in parts:
            wrong: list[Any] = [node for node in part.nodes if not 0 <= node < graph.num_nodes]
            wrong += [edge for edge in part.edges if tuple(edge) not in graph.pair_place]
            if wrong:
                raise ValueError(
                    f"The fragment {part.name!r} must hold nodes from 0 to {graph.num_nodes - 1} "
                    f"and edges of the graph, the smaller end first, got {wrong[0]}."
                )
    return each
