"""What models side by side are trained for and judged by: loss, link and metric of their task."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from lgan.task import Metric, TargetScale, Task
from lgan.train.config import ClassWeight


@dataclass(frozen=True)
class Objective:
    """The task of a run, with what it knows of every model's own training part.

    Attributes:
        task: What is to be predicted.
        metric: By which epochs are chosen.
        y: The targets, on the host, ``[G]`` or ``[G, T]``.
        scale: Mean and deviation of numeric targets in every training part ``[K, T]``.
        class_weight: Weight of every class in every training part, ``[K, C]`` or ``[K, T, 2]``.
    """

    task: Task
    metric: Metric
    y: Tensor
    scale: TargetScale | None = None
    class_weight: Tensor | None = None

    @staticmethod
    def of(
        task: Task, metric: Metric, y: Tensor, seen: Tensor, class_weight: ClassWeight = "none"
    ) -> "Objective":
        """The objective of models that train on the graphs ``seen [K, G]``."""
        y, seen = y.cpu(), seen.cpu()
        regression = task.kind == "regression"
        weight = None if class_weight == "none" else task.balanced_class_weight(y, seen)
        return Objective(task, metric, y, TargetScale.fit(y, seen) if regression else None, weight)

    def to(self, device: torch.device) -> "Objective":
        """The same with scale and weights on another device; the targets stay on the host."""
        scale = None if self.scale is None else self.scale.to(device)
        weight = None if self.class_weight is None else self.class_weight.to(device)
        return replace(self, scale=scale, class_weight=weight)

    def counted(self, y: Tensor, seen: Tensor) -> Tensor:
        """Of how many targets that are there every model sees the graph ``[K]``."""
        return (seen[..., None] * self.task.present(y)).sum((1, 2))

    def loss(
        self,
        out: Tensor,
        y: Tensor,
        seen: Tensor,
        graph_weight: Tensor | None = None,
        counted: Tensor | None = None,
    ) -> Tensor:
        """The loss of every model ``[K]``: the mean over the targets that are there of the graphs
        it may see, each graph's multiplied by its weight. Where processes share a batch it is the
        part of this one, and their sum is the loss.

        Nothing here waits for the device, so that a step can be captured.

        Args:
            out: Outputs ``[K, B, O]``.
            y: Targets of the batch.
            seen: Whether a model may see a graph ``[K, B]``, as numbers.
            graph_weight: Weight of every graph ``[B]``; 1 unless given.
            counted: Targets of the whole batch, see :meth:`counted`, where this is a part of it.
        """
        each = self.task.loss(out, y, scale=self.scale, class_weight=self.class_weight)
        weight = seen[..., None] * self.task.present(y)  # [K, B, T]
        counted = weight.sum((1, 2)) if counted is None else counted
        weight = weight / counted[:, None, None].clamp(min=1)
        if graph_weight is not None:
            weight = weight * graph_weight[:, None]
        return (each * weight).sum((1, 2))

    def predictions(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        """What a person reads off the outputs of every model for its own graphs ``[n, O]``."""
        sizes, rows, scale = [len(out) for out in outputs], torch.cat(list(outputs)), None
        if self.scale is not None:
            each = torch.tensor(sizes)
            mean, std = (t.repeat_interleave(each, 0) for t in (self.scale.mean, self.scale.std))
            rows, scale = rows[:, None], TargetScale(mean, std)  # a scale of its own for every row
        # One link for all models: with a hundred of them the calls would take longer than the work.
        return list(self.task.link(rows, scale).view(len(rows), -1).split(sizes))

    def score(self, graphs: Tensor, prediction: Tensor) -> float:
        """The metric of predictions for some graphs; NaN where these do not define it."""
        return self.metric(self.y[graphs].numpy(), prediction.numpy())
