"""A companion of networks: kernel ridge regression on what is told of whole graphs.

A layer behind the read-out learns slowly what fingerprints, descriptors or patterns say, and from
few graphs it says too much. A kernel machine reads them in closed form. Every member has a
companion that was fitted without the graphs that it holds out, and answers beside it; the share of
the companions in what is said comes from out-of-fold answers of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from lgan.data.shards.union import Graphs
from lgan.graph import GraphUnion
from lgan.task import Task
from lgan.train.config import TrainConfig
from lgan.train.objective import Objective

# Graphs that others are compared with, of many one in so many, and those at most; graphs from which
# on there is no companion.
LANDMARKS, ONE_IN, MOST_LANDMARKS, MOST_GRAPHS = 1024, 8, 4096, 100_000
# Of these ridge penalties the one is taken with the least error on graphs that were held out.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
# Out-of-fold answers are those of single members, whose mean is better, of graphs like the others.
TRUST = 0.5
# Added to what the similarity of a landmark to itself is, as others may be its equals.
JITTER = 1e-6
# The least probability, before they are made to add up to 1.
LEAST = 1e-6
# Rows of similarities at a time.
ROWS = 4096


@dataclass(frozen=True, eq=False)
class Companion:
    """What members say from features of whole graphs alone.

    Attributes:
        landmarks: Features of the graphs that others are compared with ``[m, d]``.
        weights: What every member multiplies the similarities by ``[K, m, O]``.
        mean: What it adds ``[K, O]``.
        share: How much of an answer is the companion's, from 0 to 1.
    """

    landmarks: Tensor
    weights: Tensor
    mean: Tensor
    share: float

    NAMES: ClassVar[tuple[str, ...]] = (
        "companion_landmarks", "companion_weights", "companion_mean", "companion_share",
    )  # fmt: skip

    def answers(self, graph_x: Tensor, task: Task) -> Tensor:
        """What the companion of each member says of graphs with these features ``[K, n, O]``."""
        near = similarities(graph_x, self.landmarks)
        return in_range(near @ self.weights + self.mean[:, None], task)

    def beside(self, said: Tensor, graph_x: Tensor, task: Task) -> Tensor:
        """What members and their companions say together, where members say ``[K, n, O]``."""
        other = self.answers(graph_x, task).to(said)
        return said.lerp(other, self.share)

    def to(self, device: torch.device | str) -> "Companion":
        """The same on another device."""
        landmarks, weights, mean = (t.to(device) for t in (self.landmarks, self.weights, self.mean))
        return Companion(landmarks, weights, mean, self.share)

    def fits(self, members: int, outputs: int, features: int) -> bool:
        """Whether this is the companion of so many members of a model with these sizes."""
        right = self.landmarks.size(1) == features
        return right and (len(self.weights), self.weights.size(2)) == (members, outputs)

    def tensors(self) -> dict[str, Tensor]:
        """The fields by the names they have in a file."""
        share = torch.tensor([self.share], dtype=torch.float64)
        fields = (self.landmarks.half().cpu(), self.weights.cpu(), self.mean.cpu(), share)
        return dict(zip(self.NAMES, fields, strict=True))

    @staticmethod
    def from_tensors(stored: dict[str, Tensor]) -> "Companion":
        """The fields back from :meth:`tensors`; ``ValueError`` for anything else."""
        if set(stored) != set(Companion.NAMES):
            raise ValueError("its companion is not complete")
        landmarks, weights, mean, share = (stored[name] for name in Companion.NAMES)
        fits = (
            (landmarks.dim(), weights.dim(), mean.dim(), share.shape) == (2, 3, 2, (1,))
            and (len(landmarks), len(weights)) == (weights.size(1), len(mean))
            and weights.size(2) == mean.size(1)
            and landmarks.dtype == torch.float16
            and weights.dtype == mean.dtype == share.dtype == torch.float64
            and all(bool(t.isfinite().all()) for t in (landmarks, weights, mean))
            and bool((share >= 0) & (share <= 1))
        )
        if not fits:
            raise ValueError("its companion does not fit together")
        return Companion(landmarks.float(), weights, mean, float(share))


@dataclass(frozen=True, eq=False)
class Described:
    """Graphs as companions compare them.

    Attributes:
        landmarks: Features of some of the graphs ``[m, d]``.
        near: Similarity of every graph to each of these ``[G, m]``.
        factor: Cholesky factor of the similarities among these ``[m, m]``.
    """

    landmarks: Tensor
    near: Tensor
    factor: Tensor

    @staticmethod
    def of(graph_x: Tensor, inside: Tensor) -> "Described":
        """Graphs by their features ``[G, d]``, compared with some of those that are ``inside``
        ``[G]``; targets are not looked at.
        """
        those = inside.nonzero()[:, 0]
        drawn = torch.randperm(len(those), generator=torch.Generator().manual_seed(0))
        some = drawn[: min(max(LANDMARKS, len(those) // ONE_IN), MOST_LANDMARKS)].sort().values
        most = torch.finfo(torch.float16).max
        chosen = graph_x[those[some].to(graph_x.device)].clamp(-most, most)
        landmarks = chosen.half().float()  # as a file keeps them
        among = similarities(landmarks, landmarks)
        among.diagonal().add_(JITTER)
        return Described(landmarks, similarities(graph_x, landmarks), torch.linalg.cholesky(among))

    def fit(
        self,
        objective: Objective,
        seen: Sequence[Tensor],
        held_out: Sequence[Tensor],
        weight: Tensor | None = None,
    ) -> Companion:
        """The companions of some members, which have one penalty; their share is all yet.

        Args:
            objective: The task, the targets and their scale in the training part of each member.
            seen: Whether a member trains on every graph ``[G]``.
            held_out: The graphs that it does not, and is judged by.
            weight: Weight of every graph ``[G]``; 1 unless given.
        """
        task, place = objective.task, self.near.device
        truth = truth_of(task, objective.y).to(place)
        rows = torch.linalg.solve_triangular(self.factor, self.near.T, upper=False).T  # [G, m]
        weight = torch.ones(len(truth)) if weight is None else weight.cpu()
        weight = weight.to(place, torch.float64)
        eye = torch.eye(rows.size(1), dtype=rows.dtype, device=place)
        mean = truth.new_zeros(len(seen), truth.size(1))
        found = truth.new_zeros(len(PENALTIES), len(seen), rows.size(1), truth.size(1))
        members = torch.stack(list(seen)).to(place)
        for columns, there in _alike(truth):
            pooled = members.any(0) & there
            every = _Sums.over(rows, truth[:, columns], weight, pooled)
            for k, own in enumerate(members):
                # Members see most of what all of them see: what they do not is sooner added up.
                sums = every - _Sums.over(rows, truth[:, columns], weight, pooled & ~own)
                if sums.graphs == 0:
                    continue
                mean[k, columns] = sums.wanted / sums.weight
                right = sums.right - sums.rows[:, None] * mean[k, columns]
                unit = sums.weight / sums.graphs
                for penalty, into in zip(PENALTIES, found[:, k], strict=True):
                    ridge = torch.linalg.cholesky(sums.gram / unit + penalty * eye)
                    into[:, columns] = torch.cholesky_solve(right / unit, ridge)
        error = truth.new_zeros(len(PENALTIES))
        for k, graphs in enumerate(held_out):
            graphs = graphs.to(place)
            said = in_range(rows[graphs] @ found[:, k] + mean[k], task)
            off = (said - truth[graphs]) / _unit(objective, k, truth)
            error += (weight[graphs][:, None] * off.square()).nansum((1, 2))
        best = found[int(error.argmin())]
        weights = torch.linalg.solve_triangular(self.factor.T, best, upper=True)
        return Companion(self.landmarks, weights, mean, 1.0)

    def answers(self, companion: Companion, graphs: Tensor, task: Task) -> Tensor:
        """What the companions say of some of the graphs ``[K, n, O]``, on the host."""
        near = self.near[graphs.to(self.near.device)]
        return in_range(near @ companion.weights + companion.mean[:, None], task).cpu()


@dataclass(frozen=True, eq=False)
class _Sums:
    """What a ridge regression is made from, summed over graphs."""

    gram: Tensor
    right: Tensor
    rows: Tensor
    wanted: Tensor
    weight: Tensor
    graphs: int

    @staticmethod
    def over(rows: Tensor, truth: Tensor, weight: Tensor, used: Tensor) -> "_Sums":
        """The sums over the graphs that are used ``[G]``."""
        each, wanted, own = rows[used], truth[used], weight[used]
        weighed = (own[:, None] * each).T
        return _Sums(
            weighed @ each, weighed @ wanted, weighed.sum(1), own @ wanted, own.sum(),
            int((own > 0).sum()),
        )  # fmt: skip

    def __sub__(self, other: "_Sums") -> "_Sums":
        """The sums over the graphs that are not among the others."""
        return _Sums(
            self.gram - other.gram, self.right - other.right, self.rows - other.rows,
            self.wanted - other.wanted, self.weight - other.weight, self.graphs - other.graphs,
        )  # fmt: skip


def described(union: Graphs, config: TrainConfig, inside: Tensor) -> Described | None:
    """The graphs of a union as companions compare them, with some of those ``inside`` ``[G]``;
    ``None`` where there is none, or nothing for it to read.
    """
    asked = config.companion == "kernel" and config.class_weight == "none"
    if not asked or not union.num_graph_features or union.num_graphs > MOST_GRAPHS:
        return None
    return Described.of(features_of_graphs(union), inside)


def features_of_graphs(union: Graphs, graphs: Tensor | None = None) -> Tensor:
    """The features of some graphs as wholes, or of all ``[n, d]``."""
    graphs = torch.arange(union.num_graphs) if graphs is None else graphs
    if isinstance(union, GraphUnion):
        assert union.graph_x is not None
        return union.graph_x[graphs.to(union.device)]
    told = [batch.graph_x for batch in union.batches(list(graphs.split(ROWS)))]
    return torch.cat([rows for rows in told if rows is not None])


def similarities(graph_x: Tensor, landmarks: Tensor) -> Tensor:
    """How alike graphs are by their features, from 0 to 1 ``[n, m]``, in double precision.

    The mean of two kernels: the Tanimoto similarity of what is never negative, such as bits of a
    fingerprint and numbers of patterns, and a Gaussian of everything else, whose scale is the
    number of its columns, as these have deviation 1.
    """
    counts = (landmarks >= 0).all(0)
    kinds = [(counts, _tanimoto), (~counts, _gaussian)]
    there = [(columns, alike) for columns, alike in kinds if bool(columns.any())]
    parts = []
    for rows in graph_x.split(ROWS):
        each = [
            alike(rows[:, columns].double(), landmarks[:, columns].double())
            for columns, alike in there
        ]
        parts.append(torch.stack(each).mean(0))
    return torch.cat(parts) if parts else graph_x.new_zeros(0, len(landmarks)).double()


def in_range(said: Tensor, task: Task) -> Tensor:
    """What a regression says as the task has it: of classes probabilities, numbers as they are."""
    if not task.classes:
        return said
    kept = said.clamp(0, 1)
    if not task.has_classes:
        return kept
    kept = kept + LEAST  # a row may have nothing else
    return kept / kept.sum(-1, keepdim=True)


def truth_of(task: Task, y: Tensor) -> Tensor:
    """The answers that would be right ``[G, O]``, in double precision; NaN where none is known."""
    if not task.has_classes:
        return y.double()
    right = torch.nn.functional.one_hot(y.clamp(min=0).long(), task.num_outputs).double()
    return right.masked_fill(~task.present(y), torch.nan)


def agreement(
    objective: Objective, model: int, graphs: Tensor, said: Tensor, other: Tensor
) -> Tensor:
    """What the share comes from: how far what a companion says leads from what its member says
    towards the truth, and how far it leads at all, summed over graphs that both held out ``[2]``.
    """
    truth = truth_of(objective.task, objective.y[graphs])
    unit = _unit(objective, model, truth)
    step, left = (other - said) / unit, (truth - said) / unit
    return torch.stack([(step * left).nansum(), step[~left.isnan()].square().sum()])


def share_of(agreements: Tensor) -> Tensor:
    """The share of companions by what :func:`agreement` found of all members ``[…, 2]``: that with
    the least squared error of single members, and less, as their mean is better.
    """
    towards, length = agreements.unbind(-1)
    return TRUST * (towards / length.clamp(min=1e-12)).clamp(0, 1)


def shared(companion: Companion, agreements: Tensor) -> Companion:
    """The companion with its share."""
    return replace(companion, share=float(share_of(agreements)))


def _unit(objective: Objective, model: int, like: Tensor) -> Tensor:
    """The deviation of every target in the training part of a model; 1 of classes."""
    scale = objective.scale
    return like.new_ones(like.size(1)) if scale is None else scale.std[model].to(like)


def _alike(truth: Tensor) -> list[tuple[list[int], Tensor]]:
    """The outputs that are known of the same graphs, with whether they are ``[G]``."""
    found: list[tuple[list[int], Tensor]] = []
    for column, known in enumerate(~truth.isnan().T):
        same = next((own for own, there in found if torch.equal(there, known)), None)
        found += [([column], known)] if same is None else []
        if same is not None:
            same.append(column)
    return found


def _tanimoto(a: Tensor, b: Tensor) -> Tensor:
    common = a @ b.T
    either = a.square().sum(1)[:, None] + b.square().sum(1) - common
    return common / either.clamp(min=1e-9)


def _gaussian(a: Tensor, b: Tensor) -> Tensor:
    apart = a.square().sum(1)[:, None] + b.square().sum(1) - 2 * a @ b.T
    return torch.exp(-apart.clamp(min=0) / a.size(1))
