"""What an explanation of one prediction holds."""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from torch import Tensor

from lgan.explain.maskable import MaskableGraph

__all__ = ["Attribution", "Explained", "completeness", "explained_by_default", "explained_output"]

Explained = Literal["logit", "log-odds"]


@dataclass(frozen=True, eq=False)
class Attribution:
    """Scores of the edges, nodes and triangles of a graph for one output of a model.

    Attributes:
        edge_index: Edges of the original graph as they were given ``[2, E]``.
        edge_scores: Signed score of every column ``[E]``. All columns of an undirected edge carry
            the score of the edge; self-loops carry 0. Over undirected edges the scores sum up to
            ``output - baseline_output`` up to ``gap`` (methods without that law have no gap).
        node_scores: Half of the scores of the edges at the node, once an edge ``[n]``; they have
            the same sum.
        triangles: Sorted node ids of every triangle ``[3, T]``, as :func:`lgan.triangles`.
        triangle_scores: The part of the scores that came through the neighbour branch, by
            triangle ``[T]``. It is contained in the scores of the three edges, not added to them.
        target: The class explained.
        prediction: Probabilities of the classes for the full graph ``[C]``.
        output: What is explained (a logit, or log-odds) for the full graph.
        baseline_output: The same for the baseline.
        gap: ``|sum of scores - (output - baseline_output)|``; NaN for methods without that law.
        relative_gap: ``gap / |output - baseline_output|``.
        steps: Points of the path at which gradients were taken.
        complete: Whether the gap is below the tolerance.
        method: Name of the method.
        of: What was explained: the ``"logit"`` of the class, or its ``"log-odds"``.
    """

    edge_index: Tensor
    edge_scores: Tensor
    node_scores: Tensor
    triangles: Tensor
    triangle_scores: Tensor
    target: int
    prediction: Tensor
    output: float
    baseline_output: float
    gap: float
    relative_gap: float
    steps: int
    complete: bool
    method: str
    of: Explained = "log-odds"

    @staticmethod
    def from_scores(
        graph: MaskableGraph,
        scores: Tensor,
        ends: Tensor,
        *,
        target: int,
        method: str,
        sides: Tensor | None = None,
        steps: int = 0,
        tolerance: float | None = None,
        of: Explained | None = None,
    ) -> "Attribution":
        """The scores of the undirected edges of a graph, and all that follows from them.

        Args:
            graph: The graph.
            scores: A score for every undirected edge ``[P]``.
            ends: Outputs for the graph without edges and for the graph ``[2, C]``.
            target: The class explained.
            method: Name of the method.
            sides: Scores of the entries of ``opposite_index`` ``[M]``, where the method knows them.
            steps: Points at which gradients were taken.
            tolerance: Gap that is good enough; ``None`` for methods whose scores have no sum to
                reach.
            of: What was explained; :func:`explained_by_default` unless given.
        """
        of = of or explained_by_default(ends.size(-1))
        found, entry_triangle = graph.triangles()
        sides = torch.zeros_like(entry_triangle, dtype=scores.dtype) if sides is None else sides
        values = explained_output(ends, target, of)
        baseline_output, output = values.tolist()
        gap, relative_gap, complete = completeness(scores, values, tolerance)
        (u, v), half = graph.lines.pair_index.long(), scores / 2
        nodes = scores.new_zeros(graph.num_nodes)
        return Attribution(
            edge_index=graph.edge_index,
            edge_scores=graph.to_columns(scores),
            node_scores=nodes.index_add(0, u, half).index_add(0, v, half),
            triangles=found,
            triangle_scores=scores.new_zeros(found.size(1)).index_add(0, entry_triangle, sides),
            target=target,
            prediction=ends[1].softmax(-1),
            output=output,
            baseline_output=baseline_output,
            gap=gap,
            relative_gap=relative_gap,
            steps=steps if graph.num_pairs else 0,
            complete=complete,
            method=method,
            of=of,
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes of the original graph."""
        return self.node_scores.numel()

    @property
    def predicted(self) -> int:
        """The class with the largest probability."""
        return int(self.prediction.argmax())

    def undirected(self) -> tuple[Tensor, Tensor]:
        """Every edge once, ``u < v`` in lexicographic order ``[2, P]``, and its score ``[P]``."""
        low, high = torch.sort(self.edge_index, dim=0).values
        proper = low != high
        key = (low * max(self.num_nodes, 1) + high)[proper]
        pairs, place = torch.unique(key, return_inverse=True)
        scores = self.edge_scores.new_zeros(pairs.numel())
        scores[place] = self.edge_scores[proper]  # all columns of an edge carry the same score
        return torch.stack(
            [pairs // max(self.num_nodes, 1), pairs % max(self.num_nodes, 1)]
        ), scores

    def top(self, k: int, *, absolute: bool = False) -> tuple[Tensor, Tensor]:
        """The ``k`` edges with the largest scores, best first, as :meth:`undirected` gives them.

        Args:
            k: How many; all, where the graph has fewer.
            absolute: Judge by size, so that edges against the class count too.
        """
        pairs, scores = self.undirected()
        rank = scores.abs() if absolute else scores
        best = torch.argsort(rank, descending=True, stable=True)[:k]
        return pairs[:, best], scores[best]

    def to(self, device: torch.device | str) -> "Attribution":
        """The same scores on another device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        moved = {name: v.to(device) for name, v in values.items() if isinstance(v, Tensor)}
        return replace(self, **moved)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        """Plain values; numbers that are not finite become ``None``."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: _plain(v.tolist() if isinstance(v, Tensor) else v) for k, v in values.items()}

    def __repr__(self) -> str:
        state = "complete" if self.complete else "not complete"
        return (
            f"{type(self).__name__}(target={self.target}, edges={self.edge_scores.numel()}, "
            f"output={self.output:.4g}, baseline_output={self.baseline_output:.4g}, "
            f"gap={self.gap:.2g} ({state}), method={self.method!r})"
        )


def explained_by_default(num_outputs: int) -> Explained:
    """What is explained unless asked otherwise: log-odds where there are classes.

    The logits of a classifier mean nothing alone: adding a number to all of them changes no
    probability. A single output has no other to be compared with, and is explained as it is.
    """
    return "log-odds" if num_outputs > 1 else "logit"


def explained_output(outputs: Tensor, target: int | Tensor, of: Explained) -> Tensor:
    r"""What is explained, of the outputs of a model.

    The log-odds of a class, :math:`\log \frac{p}{1 - p} = z_t - \log \sum_{c \ne t} e^{z_c}`, do
    not change when a number is added to all logits, and with two classes are their difference.

    Args:
        outputs: Logits ``[*, C]``.
        target: The class, one for all or one for each ``[*]``.
        of: ``"logit"`` or ``"log-odds"``.
    """
    index = torch.as_tensor(target, device=outputs.device).expand(outputs.shape[:-1])[..., None]
    logit = outputs.gather(-1, index)[..., 0]
    if of == "logit":
        return logit
    if of != "log-odds":
        raise ValueError(f"`of` must be 'logit' or 'log-odds', got {of!r}.")
    if outputs.size(-1) < 2:
        raise ValueError("The log-odds of a class need two classes or more, got a single output.")
    others = outputs.scatter(-1, index, -torch.inf)
    return logit - others.logsumexp(-1)


def completeness(
    scores: Tensor, ends: Tensor, tolerance: float | None
) -> tuple[float, float, bool]:
    """Gap, relative gap, and whether it is below the tolerance.

    Args:
        scores: Scores of the undirected edges.
        ends: The explained output for the baseline and for the graph ``[2]``.
        tolerance: ``None`` for scores that have no sum to reach.
    """
    if tolerance is None:
        return float("nan"), float("nan"), False
    baseline_output, output = ends.tolist()
    difference = output - baseline_output
    gap = abs(float(scores.sum(dtype=torch.float64)) - difference)
    relative = gap / abs(difference) if difference else (float("inf") if gap else 0.0)
    # What rounding alone may do to a gap is no reason to take more steps.
    size = abs(output) + abs(baseline_output) + float(scores.abs().sum())
    rounding = 4 * torch.finfo(scores.dtype).eps * size
    return gap, relative, gap <= tolerance * abs(difference) + rounding


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value
