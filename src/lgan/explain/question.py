"""What is asked of a model, and what a method finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from lgan.explain.fragments import Fragment
from lgan.explain.maskable import MaskableGraph
from lgan.explain.path import Path
from lgan.task import TargetScale, Task

Explained = Literal["log-odds", "logit", "number"]
Over = Literal["edges", "nodes", "fragments"]
# Node features and the number of neighbours every node has now, to features that say so.
Recount = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a model about some graphs.

    Attributes:
        model: The model in evaluation mode, or several of them stacked.
        graphs: The graphs, on its device.
        targets: The output explained, one for each graph.
        of: What is explained of it.
        over: What is taken away and scored, by methods that take something away.
        fragments: The fragments of each graph; none unless asked for.
        scale: The scale of numeric targets: their scores are in the units of the target.
        degrees: Makes features anew that say how many neighbours a node has.
        seed: Fixes what is drawn.
        samples: Orders of the players that are drawn where there are too many for all.
        path: How integrals are taken.
        against: The class that the target is compared with; all others by default.
        ends: Outputs for every graph without edges and with all ``[K, 2, C]``, where they are
            known.
    """

    model: nn.Module
    graphs: Sequence[MaskableGraph]
    targets: Sequence[int]
    of: Explained = "log-odds"
    over: Over = "edges"
    fragments: Sequence[tuple[Fragment, ...]] = ()
    scale: TargetScale | None = None
    degrees: Recount | None = None
    seed: int = 0
    samples: int = 32
    path: Path = field(default_factory=Path)
    against: int | None = None
    ends: Sequence[Tensor] = ()

    def values(self, outputs: Tensor, targets: Tensor | int) -> Tensor:
        """What is explained, of outputs ``[*, S, C]``: ``[*, S]``."""
        outputs = outputs if self.scale is None else self.scale.original(outputs)
        if self.against is not None:  # the log-odds between two classes
            return explained_output(outputs, targets, "logit") - outputs[..., self.against]
        return explained_output(outputs, targets, self.of)


@dataclass(frozen=True, eq=False)
class Found:
    """What a method found for one graph, by member; a single model is a member alone.

    Attributes:
        pairs: Scores of the undirected edges ``[K, P]``.
        sides: Scores of the entries of ``opposite_index``, where they are known ``[K, M]``.
        nodes: Scores of the nodes ``[K, n]``, where they are not those of their edges.
        fragments: Scores of the fragments ``[K, F]``, likewise.
        baseline: What is explained where nothing is there ``[K]``; by default without edges.
        sums: Whether the scores add up to the difference to the baseline.
        error: Standard error of the mean scores of what was taken away, where they were sampled.
        steps: Points at which gradients were taken, or graphs the model was asked about.
    """

    pairs: Tensor
    sides: Tensor | None = None
    nodes: Tensor | None = None
    fragments: Tensor | None = None
    baseline: Tensor | None = None
    sums: bool = False
    error: Tensor | None = None
    steps: int = 0


def explained_by_default(num_outputs: int, task: Task | None = None) -> Explained:
    """What is explained unless asked otherwise: log-odds where there are classes.

    A regression explains its number. Of several labels one is explained, by its logit, which is
    its log-odds.

    The logits of a classifier mean nothing alone: adding a number to all of them changes no
    probability. A single output has no other to be compared with, and is explained as it is.
    """
    if task is None:
        return "log-odds" if num_outputs > 1 else "logit"
    return {"regression": "number", "multilabel": "logit"}.get(task.kind, "log-odds")  # type: ignore[return-value]


def explained_output(outputs: Tensor, target: int | Tensor, of: Explained) -> Tensor:
    r"""What is explained, of the outputs of a model.

    The log-odds of a class, :math:`\log \frac{p}{1 - p} = z_t - \log \sum_{c \ne t} e^{z_c}`, do
    not change when a number is added to all logits, and with two classes are their difference.

    Args:
        outputs: Logits ``[*, C]``.
        target: The class, one for all or one for each ``[*]``.
        of: ``"log-odds"``; ``"logit"`` or ``"number"`` for the output as it is.
    """
    index = torch.as_tensor(target, device=outputs.device).expand(outputs.shape[:-1])[..., None]
    logit = outputs.gather(-1, index)[..., 0]
    if of not in get_args(Explained):
        raise ValueError(f"`of` must be one of {', '.join(get_args(Explained))}, got {of!r}.")
    if of != "log-odds":
        return logit
    if outputs.size(-1) < 2:
        raise ValueError("The log-odds of a class need two classes or more, got a single output.")
    others = outputs.scatter(-1, index, -torch.inf)
    return logit - others.logsumexp(-1)


def as_members(values: Tensor, members: int) -> Tensor:
    """Outputs with an axis of members in front, also those of a single model."""
    return values if members else values.unsqueeze(0)
