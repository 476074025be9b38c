"""A companion of networks: kernel ridge regression on what is told of whole graphs.

A layer behind the read-out learns slowly what fingerprints, descriptors or patterns say, and from
few graphs it says too much. A kernel machine reads them in closed form. Every member has a
companion that was fitted without the graphs that it holds out, and answers beside it; the share of
the companions in what is said comes from out-of-fold answers of both.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lgan import ops
from lgan.data.shards.union import Graphs
from lgan.graph import GraphUnion
from lgan.task import Task
from lgan.train.config import TrainConfig
from lgan.train.evaluate import in_pieces
from lgan.train.objective import Objective
from lgan.train.share import in_range, truth_of, unit_of

logger = logging.getLogger(__name__)

# Graphs that others are compared with: so many at most, of large sets one in so many and as many as
# fit: numbers that are in memory at once, and multiplications of a fit; with fewer than these there
# is no companion, nor for more numbers that are told of all graphs, which may not fit into memory.
LANDMARKS, ONE_IN, MOST_LANDMARKS, FEWEST = 1024, 8, 4096, 16
ROOM, WORK, MOST_TOLD = 1 << 26, 4e12, 1 << 28
# Of these ridge penalties the one is taken with the least error on graphs that were held out.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
# Added to what the similarity of a landmark to itself is, as others may be its equals.
JITTER = 1e-6
# How many times one weight of a graph is another where sums of both still hold the small one.
APART = 1e4
# Graphs at a time.
ROWS = 4096


class Landmarks:
    """Graphs that others are compared with.

    The similarity of two graphs, from 0 to 1, is the mean of two: the Tanimoto similarity of what
    is never negative, such as bits of a fingerprint and numbers of patterns, and a Gaussian of
    everything else, whose scale is the number of its columns, as these have deviation 1.

    Args:
        features: Their features as wholes ``[m, d]``.
    """

    def __init__(self, features: Tensor) -> None:
        self.features = features
        counts = (features >= 0).all(0)
        kinds = ((counts, _tanimoto), (~counts, _gaussian))
        parts = [(columns, features[:, columns].double(), alike) for columns, alike in kinds]
        # Columns that are 0 in all of them tell nothing.
        self._parts = [(columns, own, own.square().sum(1), alike)
                       for columns, own, alike in parts if bool(own.any())]  # fmt: skip

    def __reduce__(self) -> tuple[type["Landmarks"], tuple[Tensor]]:
        return Landmarks, (self.features,)

    def __len__(self) -> int:
        return len(self.features)

    def like(self, graph_x: Tensor) -> Tensor:
        """How alike graphs are to each of these ``[n, m]``, in double precision."""
        found = graph_x.new_zeros(len(graph_x), len(self), dtype=torch.float64)
        for columns, own, squares, alike in self._parts:
            rows = graph_x[:, columns].double()
            found += alike(rows @ own.T, rows.square().sum(1)[:, None], squares, own.size(1))
        return found / max(1, len(self._parts))


@dataclass(frozen=True, eq=False)
class Companion:
    """What members say from features of whole graphs alone.

    Attributes:
        landmarks: The graphs that others are compared with, ``m`` of them.
        weights: What every member multiplies the similarities by ``[K, m, O]``.
        mean: What it adds ``[K, O]``.
        share: How much of an answer is the companion's, from 0 to 1.
    """

    landmarks: Landmarks
    weights: Tensor
    mean: Tensor
    share: float

    NAMES: ClassVar[tuple[str, ...]] = (
        "companion_landmarks", "companion_weights", "companion_mean", "companion_share",
    )  # fmt: skip

    def answers(self, graph_x: Tensor, task: Task) -> Tensor:
        """What the companion of each member says of graphs with these features ``[K, n, O]``."""
        parts = [self.landmarks.like(rows) @ self.weights for rows in graph_x.split(ROWS)]
        return in_range(torch.cat(parts, 1) + self.mean[:, None], task)

    def beside(self, said: Tensor, graph_x: Tensor, task: Task) -> Tensor:
        """What members and their companions say together, where members say ``[K, n, O]``."""
        if self.share == 0:  # nothing, whatever a companion says
            return said
        return said.lerp(self.answers(graph_x, task).to(said), self.share)

    def fits(self, members: int, outputs: int, features: int) -> bool:
        """Whether this is the companion of so many members of a model with these sizes."""
        right = self.landmarks.features.size(1) == features > 0
        return right and (len(self.weights), self.weights.size(2)) == (members, outputs)

    def tensors(self) -> dict[str, Tensor]:
        """The fields by the names they have in a file."""
        share = torch.tensor([self.share], dtype=torch.float64)
        landmarks = self.landmarks.features.half().cpu()
        fields = (landmarks, self.weights.cpu(), self.mean.cpu(), share)
        return dict(zip(self.NAMES, fields, strict=True))

    @staticmethod
    def from_tensors(stored: dict[str, Tensor]) -> "Companion":
        """The fields back from :meth:`tensors`; ``ValueError`` for anything else."""
        if set(stored) != set(Companion.NAMES):
            raise ValueError("its companion is not complete")
        landmarks, weights, mean, share = (stored[name] for name in Companion.NAMES)
        fits = (
            (landmarks.dim(), weights.dim(), mean.dim(), share.shape) == (2, 3, 2, (1,))
            and 0 < len(landmarks) == weights.size(1)
            and len(weights) == len(mean)
            and weights.size(2) == mean.size(1)
            and landmarks.dtype == torch.float16
            and weights.dtype == mean.dtype == share.dtype == torch.float64
            and all(bool(t.isfinite().all()) for t in (landmarks, weights, mean))
            and bool((share >= 0) & (share <= 1))
        )
        if not fits:
            raise ValueError("its companion does not fit together")
        return Companion(Landmarks(landmarks.float()), weights, mean, float(share))


@dataclass(frozen=True, eq=False)
class Compared:
    """Graphs by what they are like.

    Attributes:
        landmarks: The graphs that all are compared with, ``m`` of them.
        rows: Every graph in coordinates whose products are its similarities ``[G, m]``.
        factor: Cholesky factor of the similarities among the landmarks ``[m, m]``.
    """

    landmarks: Landmarks
    rows: Tensor
    factor: Tensor

    @staticmethod
    def of(graph_x: Tensor, inside: Tensor, most: int = LANDMARKS) -> "Compared":
        """Graphs by their features ``[G, d]``, compared with as many as ``most`` of those that are
        ``inside`` ``[G]``; targets are not looked at.
        """
        those = inside.nonzero()[:, 0]
        drawn = torch.randperm(len(those), generator=torch.Generator().manual_seed(0))
        chosen = graph_x[those[drawn[:most].sort().values].to(graph_x.device)]
        largest = torch.finfo(torch.float16).max
        landmarks = Landmarks(chosen.clamp(-largest, largest).half().float())  # as in a file
        rows = graph_x.new_empty(len(graph_x), len(landmarks), dtype=torch.float64)
        parts = list(zip(graph_x.split(ROWS), rows.split(ROWS), strict=True))
        with ops.model_threads(graph_x.device):
            among = landmarks.like(landmarks.features)
            among.diagonal().add_(JITTER)
            factor = torch.linalg.cholesky(among)

            def of_part(number: int) -> None:
                part, into = parts[number]
                near = landmarks.like(part)
                into.copy_(torch.linalg.solve_triangular(factor, near.T, upper=False).T)

            ops.side_by_side(of_part, len(parts))
        return Compared(landmarks, rows, factor)

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
        task, device = objective.task, self.rows.device
        truth = truth_of(task, objective.y).to(device)
        weight = torch.ones(len(truth)) if weight is None else weight.cpu()
        weight = weight.to(device, torch.float64)
        heavy = weight[weight > 0]
        alike = bool(heavy.max() <= APART * heavy.min())
        eye = torch.eye(self.rows.size(1), dtype=truth.dtype, device=device)
        mean = truth.new_zeros(len(seen), truth.size(1))
        found = truth.new_zeros(len(PENALTIES), len(seen), self.rows.size(1), truth.size(1))
        members = torch.stack(list(seen)).to(device)
        unfit = torch.zeros(len(PENALTIES), dtype=torch.bool)

        def of_member(k: int) -> None:
            # Members see most of what all of them see: what they do not is sooner added up. Of
            # weights that are far apart nothing would be left of the small ones.
            own = pooled & (~members[k] if alike else members[k])
            sums = _Sums.over(self.rows, truth[:, columns], weight, own)
            sums = every - sums if alike else sums
            if sums.graphs == 0:
                return
            mean[k, columns] = sums.wanted / sums.weight
            right = sums.right - sums.rows[:, None] * mean[k, columns]
            unit = sums.weight / sums.graphs
            for place, penalty in enumerate(PENALTIES):
                ridge, failed = torch.linalg.cholesky_ex(sums.gram / unit + penalty * eye)
                solved = torch.cholesky_solve(right / unit, ridge)
                if failed or not bool(solved.isfinite().all()):
                    unfit[place] = True  # weights of graphs, or targets, are too far apart
                else:
                    found[place, k][:, columns] = solved

        with ops.model_threads(device):
            for columns, known in _alike(truth):
                pooled = members.any(0) & known
                every = _Sums.over(self.rows, truth[:, columns], weight, pooled)
                ops.side_by_side(of_member, len(members))
            error = truth.new_zeros(len(PENALTIES))
            for k, graphs in enumerate(held_out):
                graphs = graphs.to(device)
                said = in_range(self.rows[graphs] @ found[:, k] + mean[k], task)
                off = (said - truth[graphs]) / unit_of(objective, k, truth)
                error += (weight[graphs][:, None] * off.square()).nansum((1, 2))
            best = found[int(error.masked_fill(unfit.to(device), torch.inf).argmin())]
            weights = torch.linalg.solve_triangular(self.factor.T, best, upper=True)
        landmarks = Landmarks(self.landmarks.features.cpu())
        return Companion(landmarks, weights.cpu(), mean.cpu(), 1.0)

    def answers(self, companion: Companion, member: int, graphs: Tensor, task: Task) -> Tensor:
        """What the companion of a member says of some of the graphs ``[n, O]``, on the host."""
        place = self.rows.device
        weights = self.factor.T @ companion.weights[member].to(place)
        said = self.rows[graphs.to(place)] @ weights + companion.mean[member].to(place)
        return in_range(said, task).cpu()


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
        size, outputs = rows.size(1), truth.size(1)
        gram, right = rows.new_zeros(size, size), rows.new_zeros(size, outputs)
        total, wanted = rows.new_zeros(size), rows.new_zeros(outputs)
        for part in used.nonzero()[:, 0].split(ROWS):
            each, own = rows[part], weight[part]
            weighed = each.T * own
            gram += weighed @ each
            right += weighed @ truth[part]
            total += weighed.sum(1)
            wanted += own @ truth[part]
        return _Sums(gram, right, total, wanted, weight[used].sum(), int((weight[used] > 0).sum()))

    def __sub__(self, other: "_Sums") -> "_Sums":
        """The sums over the graphs that are not among the others."""
        return _Sums(
            self.gram - other.gram, self.right - other.right, self.rows - other.rows,
            self.wanted - other.wanted, self.weight - other.weight, self.graphs - other.graphs,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fitted:
    """The companions of some members.

    Attributes:
        companion: What they say; its share is all yet.
        compared: The graphs as they see them.
        objective: The task, the targets and their scale in the training part of each member.
        held_out: What each says of the graphs that its member holds out ``[n, O]``.
    """

    companion: Companion
    compared: Compared
    objective: Objective
    held_out: list[Tensor]


def fitted(
    union: Graphs,
    config: TrainConfig,
    inside: Tensor,
    seen: Sequence[Tensor],
    held_out: Sequence[Tensor],
    weight: Tensor | None = None,
) -> Fitted | None:
    """The companions of members, where the settings have these.

    Args:
        union: The data set.
        config: Settings.
        inside: The graphs that may be read ``[G]``.
        seen: Whether a member trains on every graph ``[G]``.
        held_out: The graphs that it does not, and is judged by.
        weight: Weight of every graph ``[G]``; 1 unless given.
    """
    known = compared(union, config, inside, len(seen))
    if known is None:
        return None
    task = union.known_task
    objective = Objective.of(task, task.default_metric, union.y, torch.stack(list(seen)))
    found = known.fit(objective, seen, held_out, weight)
    said = [known.answers(found, k, graphs, task) for k, graphs in enumerate(held_out)]
    return Fitted(found, known, objective, said)


def compared(union: Graphs, config: TrainConfig, inside: Tensor, members: int) -> Compared | None:
    """The graphs of a union as companions of so many members compare them, with some of those that
    are ``inside`` ``[G]``; ``None`` where there is to be none, or nothing for it to read.
    """
    asked = config.companion == "kernel" and config.class_weight == "none"
    if not asked or not union.num_graph_features:
        return None
    kinds = len(_alike(truth_of(union.known_task, union.y.cpu())))
    most = how_many_landmarks(int(inside.sum()), union.num_graphs, members, kinds)
    if most < FEWEST or union.num_graphs * union.num_graph_features > MOST_TOLD:
        logger.warning(
            "%d graphs with %d features of them as wholes, and %d targets that are known of others "
            "each, are too much for a companion: members answer alone.",
            union.num_graphs, union.num_graph_features, kinds,
        )  # fmt: skip
        return None
    try:
        return Compared.of(features_of_graphs(union), inside, most)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        logger.warning("Features of whole graphs cannot be compared: members answer alone.")
        return None


def how_many_landmarks(inside: int, graphs: int, members: int, kinds: int) -> int:
    """With how many of the graphs inside others are compared, so that it fits memory and time.

    Example:
        >>> [how_many_landmarks(n, n, 10, 1) for n in (500, 5000, 33_000, 100_000)]
        [1024, 1024, 2033, 671]
        >>> how_many_landmarks(8_600, 8_600, 10, 617)
        494
    """
    most = min(max(LANDMARKS, inside // ONE_IN), MOST_LANDMARKS, ROOM // max(1, graphs))

    def work(m: int) -> float:
        return kinds * (members * len(PENALTIES) * m**3 / 3 + 2 * graphs * m**2)

    while most >= FEWEST and work(most) > WORK:
        most = most * 19 // 20
    return most


def features_of_graphs(union: Graphs, graphs: Tensor | None = None) -> Tensor:
    """The features of some graphs as wholes, or of all ``[n, d]``."""
    graphs = torch.arange(union.num_graphs) if graphs is None else graphs
    if isinstance(union, GraphUnion):
        assert union.graph_x is not None
        return union.graph_x[graphs.to(union.device)]
    told = [batch.graph_x for batch in union.batches(in_pieces(union, graphs, ROWS))]
    return torch.cat([rows for rows in told if rows is not None])


def _alike(truth: Tensor) -> list[tuple[list[int], Tensor]]:
    """The outputs that are known of the same graphs, with whether they are ``[G]``."""
    found: list[tuple[list[int], Tensor]] = []
    for column, known in enumerate(~truth.isnan().T):
        same = next((own for own, there in found if torch.equal(there, known)), None)
        if same is None:
            found.append(([column], known))
        else:
            same.append(column)
    return found


def _tanimoto(common: Tensor, mine: Tensor, theirs: Tensor, _: int) -> Tensor:
    return common / (mine + theirs - common).clamp(min=1e-9)


def _gaussian(common: Tensor, mine: Tensor, theirs: Tensor, columns: int) -> Tensor:
    return torch.exp(-(mine + theirs - 2 * common).clamp(min=0) / columns)
