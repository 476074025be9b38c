"""What an explanation of one prediction holds."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from lgan._optional import require
from lgan.explain.fragments import Fragment, joined_nodes
from lgan.explain.maskable import MaskableGraph
from lgan.explain.question import Explained, Found, Question
from lgan.graph.moving import moved


@dataclass(frozen=True, eq=False)
class Attribution:
    """Scores of the edges, nodes and triangles of a graph for one output of a model.

    Attributes:
        edge_index: Edges of the original graph as they were given ``[2, E]``.
        edge_scores: Signed score of every column ``[E]``. All columns of an undirected edge carry
            the score of the edge; self-loops carry 0. Over undirected edges the scores sum up to
            ``output - baseline_output`` up to ``gap`` (methods without that law have no gap).
        node_scores: Half of the scores of the edges at the node, once an edge ``[n]``; they have
            the same sum. Where nodes themselves were taken away, what was lost with each.
        triangles: Sorted node ids of every triangle ``[3, T]``, as :func:`lgan.triangles`.
        triangle_scores: The part of the scores that came through the neighbour branch, by
            triangle ``[T]``. It is contained in the scores of the three edges, not added to them.
            NaN for methods other than Integrated Gradients, which do not tell it.
        target: The class explained.
        prediction: What is predicted for the full graph ``[C]``: probabilities, or numbers.
        output: What is explained (a logit, log-odds, a number) for the full graph, the mean over
            members.
        baseline_output: The same for the baseline.
        gap: ``|sum of scores - (output - baseline_output)|``; NaN for methods without that law.
        relative_gap: ``gap / |output - baseline_output|``.
        steps: Points of the path at which gradients were taken, or graphs the model was asked of.
        complete: Whether the gap is below the tolerance.
        method: Name of the method.
        of: What was explained: the ``"log-odds"`` of the class, its ``"logit"``, or a ``"number"``.
        over: What the method took away: ``"edges"``, ``"nodes"`` or ``"fragments"``.
        members: Models whose mean the scores are.
        edge_spread: Standard deviation of the scores over members ``[E]``; 0 for a single model.
        fragments: The fragments of the graph, where they were asked for.
        fragment_scores: Their scores ``[F]``: found by the method, or else the sum of the scores
            of their nodes (of edges for a fragment that has only these).
        fragment_spread: Their standard deviation over members ``[F]``.
        standard_error: Of the scores of what was taken away, where they were sampled; empty else.
        node_feature_scores: Score of every feature of every node ``[n, F]``, where they were asked
            for (``features=True``); categories by their one-hot vectors. Together with those of
            the edges they sum up to ``output - feature_baseline_output`` up to ``feature_gap``.
        edge_feature_scores: The same of every column ``[E, D]``; all columns of an undirected edge
            carry its scores, which count once.
        node_feature_names: Names of the features, where they are known.
        edge_feature_names: Likewise.
        feature_baseline_output: What is explained for the graph with all features 0.
        feature_gap: What the scores of features fall short of their sum.
        against: The class that ``target`` is compared with, where it is one alone.
        withheld: Whether the model was asked without what it is told of whole graphs, which no
            edge carries; ``prediction`` is what it says with that.
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
    over: str = "edges"
    members: int = 1
    edge_spread: Tensor = field(default_factory=lambda: torch.zeros(0))
    fragments: tuple[Fragment, ...] = ()
    fragment_scores: Tensor = field(default_factory=lambda: torch.zeros(0))
    fragment_spread: Tensor = field(default_factory=lambda: torch.zeros(0))
    standard_error: Tensor = field(default_factory=lambda: torch.zeros(0))
    node_feature_scores: Tensor = field(default_factory=lambda: torch.zeros(0, 0))
    edge_feature_scores: Tensor = field(default_factory=lambda: torch.zeros(0, 0))
    node_feature_names: tuple[str, ...] = ()
    edge_feature_names: tuple[str, ...] = ()
    feature_baseline_output: float = float("nan")
    feature_gap: float = float("nan")
    against: int | None = None
    withheld: bool = False

    @staticmethod
    def of_found(
        question: Question,
        index: int,
        found: Found,
        *,
        prediction: Tensor,
        method: str,
    ) -> "Attribution":
        """What a method found for one of the graphs of a question, and all that follows from it."""
        graph, target = question.graphs[index], question.targets[index]
        values = question.values(question.ends[index], target)  # [K, 2]
        if found.baseline is not None:
            values = torch.stack([found.baseline, values[:, 1]], 1)
        scores = found.pairs.to(values)
        triangles, entry_triangle = graph.triangles()
        by_triangle = scores.new_full((triangles.size(1),), float("nan"))
        if found.sides is not None:
            sides = found.sides.to(scores).mean(0)
            by_triangle = torch.zeros_like(by_triangle).index_add(0, entry_triangle, sides)
        nodes = _at_nodes(graph, scores) if found.nodes is None else found.nodes
        fragments = question.fragments[index] if question.fragments else ()
        by_fragment = found.fragments
        if by_fragment is None:
            by_fragment = _by_fragment(fragments, graph, scores, nodes)
        summed = scores if found.fragments is None else by_fragment
        gap, relative_gap, complete = completeness(
            summed.mean(0), values.mean(0), question.path.tolerance if found.sums else None
        )
        baseline_output, output = values.mean(0).tolist()
        return Attribution(
            edge_index=graph.edge_index,
            edge_scores=graph.to_columns(scores.mean(0)),
            node_scores=nodes.mean(0),
            triangles=triangles,
            triangle_scores=by_triangle,
            target=target,
            prediction=prediction,
            output=output,
            baseline_output=baseline_output,
            gap=gap,
            relative_gap=relative_gap,
            steps=found.steps,
            complete=complete,
            method=method,
            of=question.of,
            over=question.over,
            members=len(scores),
            edge_spread=graph.to_columns(_deviation(scores)),
            fragments=fragments,
            fragment_scores=by_fragment.mean(0),
            fragment_spread=_deviation(by_fragment),
            standard_error=scores.new_zeros(0) if found.error is None else found.error,
            against=question.against,
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes of the original graph."""
        return self.node_scores.numel()

    @property
    def predicted(self) -> int:
        """The class with the largest probability."""
        return int(self.prediction.argmax())

    def undirected(self, values: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Every edge once, ``u < v`` in lexicographic order ``[2, P]``, and its score ``[P]``.

        Args:
            values: What is given in place of the scores, a row for every column ``[E, …]``.
        """
        values = self.edge_scores if values is None else values
        if values.dim() == 0 or values.size(0) != self.edge_index.size(1):
            raise ValueError(
                f"`values` must have a row for each of the {self.edge_index.size(1)} columns of "
                f"`edge_index`, got {tuple(values.shape)}."
            )
        low, high = torch.sort(self.edge_index, dim=0).values
        proper, nodes = low != high, max(self.num_nodes, 1)
        key = (low * nodes + high)[proper]
        pairs, place = torch.unique(key, return_inverse=True)
        each = values.new_zeros(pairs.numel(), *values.shape[1:])
        each[place] = values[proper]  # all columns of an edge carry the same
        return torch.stack([pairs // nodes, pairs % nodes]), each

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
        return replace(self, **moved(self, device))

    def to_json(self) -> dict[str, Any]:
        """Plain values; numbers that are not finite become ``None``."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["fragments"] = [asdict(fragment) for fragment in self.fragments]
        return {k: plain(v.tolist() if isinstance(v, Tensor) else v) for k, v in values.items()}

    def to_dataframe(self) -> Any:
        """A row for every node, undirected edge and fragment, as a table of pandas, for every
        triangle where the method scores them, and for every feature of a node or an edge whose
        score is not 0.

        Columns: ``kind``, ``name`` (of a fragment or feature), ``nodes`` (numbers with ``-``
        between them), ``score``, and ``spread`` over members, where it is known.
        """
        rows = [("node", "", str(i), s, None) for i, s in enumerate(self.node_scores.tolist())]
        pairs, scores = self.undirected()
        known = self.edge_spread.numel() == self.edge_scores.numel()
        spread = self.edge_spread if known else torch.full_like(self.edge_scores, torch.nan)
        _, spread = self.undirected(spread)
        for ends, score, width in _lists(pairs.t(), scores, spread):
            rows.append(("edge", "", joined_nodes(ends), score, width))
        told = ~self.triangle_scores.isnan()
        for corners, score in _lists(self.triangles.t()[told], self.triangle_scores[told]):
            rows.append(("triangle", "", joined_nodes(corners), score, None))
        found = _lists(self.fragment_scores, self.fragment_spread)
        for part, (score, width) in zip(self.fragments, found, strict=True):
            nodes = part.nodes or sorted({node for edge in part.edges for node in edge})
            rows.append(("fragment", part.name, joined_nodes(nodes), score, width))
        rows += self._feature_rows()
        columns = ["kind", "name", "nodes", "score", "spread"]
        table = require("pandas").DataFrame(rows, columns=columns)
        return table.astype({"spread": float})

    def _feature_rows(self) -> list[tuple[str, str, str, float, None]]:
        parts = [("node feature", self.node_feature_scores, self.node_feature_names,
                  [str(node) for node in range(self.num_nodes)])]  # fmt: skip
        if self.edge_feature_scores.numel():
            ends, scores = self.undirected(self.edge_feature_scores)
            joined = [joined_nodes(pair) for pair in ends.t().tolist()]
            parts.append(("edge feature", scores, self.edge_feature_names, joined))
        rows = []
        for kind, scores, names, of in parts:
            for row, column in scores.nonzero().tolist():
                name = names[column] if names else str(column)
                rows.append((kind, name, of[row], float(scores[row, column]), None))
        return rows

    def __repr__(self) -> str:
        state = "complete" if self.complete else "not complete"
        return (
            f"{type(self).__name__}(target={self.target}, edges={self.edge_scores.numel()}, "
            f"output={self.output:.4g}, baseline_output={self.baseline_output:.4g}, "
            f"gap={self.gap:.2g} ({state}), method={self.method!r})"
        )


def _lists(*columns: Tensor) -> Iterator[Any]:
    return zip(*(column.tolist() for column in columns), strict=True)


def completeness(
    scores: Tensor, ends: Tensor, tolerance: float | None
) -> tuple[float, float, bool]:
    """Gap of scores to what they explain, from the baseline to the graph (``ends [2]``), relative
    gap, and whether it is below the tolerance; ``None`` for scores that have no sum to reach.
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


def _at_nodes(graph: MaskableGraph, scores: Tensor) -> Tensor:
    """Half of the scores of the edges at every node, ``[K, P]`` to ``[K, n]``."""
    nodes = scores.new_zeros(len(scores), graph.num_nodes)
    for end in graph.lines.pair_index.long():
        nodes = nodes.index_add(1, end, scores / 2)
    return nodes


def _by_fragment(
    fragments: Sequence[Fragment], graph: MaskableGraph, scores: Tensor, nodes: Tensor
) -> Tensor:
    """Sums over the nodes, or else the edges, of every fragment ``[K, F]``."""
    sums = [
        nodes[:, list(part.nodes)].sum(1)
        if part.nodes
        else scores[:, [graph.pair_place[edge] for edge in part.edges]].sum(1)
        for part in fragments
    ]
    return torch.stack(sums, 1) if sums else scores.new_zeros(len(scores), 0)


def _deviation(values: Tensor) -> Tensor:
    """Standard deviation over members; `torch.std` warns of no columns."""
    return (values - values.mean(0)).square().mean(0).sqrt()


def plain(value: Any) -> Any:
    """A value as JSON has it; ``None`` for a number that is not finite."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
