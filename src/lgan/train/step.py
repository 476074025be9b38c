"""One update of models side by side."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lgan.graph import GraphBatch
from lgan.nn.dropout import Dropout
from lgan.ops import together
from lgan.train.adam import StackedAdam
from lgan.train.objective import Objective


class Whole(NamedTuple):
    """A batch that processes share: where the part of this one begins, and how many targets every
    model sees in all of it ``[K]``.
    """

    first: int
    counted: Tensor


class Step:
    """Updates all models on a batch, at once or in two halves.

    Processes that share a batch add up their gradients between the halves: what a process does
    meanwhile costs nothing.

    Args:
        model: The models, stacked.
        optimizer: Holds their weights and gradients.
        objective: The loss.
        half: Store activations in half precision.
    """

    def __init__(
        self, model: nn.Module, optimizer: StackedAdam, objective: Objective, *, half: bool = False
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.objective = objective
        self.half = half
        self._added: Callable[[], object]

    def __call__(
        self, batch: GraphBatch, seen: Tensor, graph_weight: Tensor | None, scale: Tensor
    ) -> Tensor:
        """Both halves; returns the losses ``[K]``."""
        loss = self.gradients(batch, seen, graph_weight)
        self.update(scale)
        return loss

    def gradients(
        self,
        batch: GraphBatch,
        seen: Tensor,
        graph_weight: Tensor | None,
        whole: Whole | None = None,
    ) -> Tensor:
        """Gradients of all models on the graphs that each may see; returns their losses ``[K]``.

        Args:
            batch: The graphs.
            seen: Those that each model sees ``[K, B]``.
            graph_weight: What their losses are multiplied by ``[B]``.
            whole: Where processes share a batch, of which this one has a part: the losses are its
                part of them.
        """
        if whole is not None:
            for module in self.model.modules():
                if isinstance(module, Dropout):
                    module.first_row = whole.first
        weight = seen.to(self.optimizer.value.dtype)
        node_weight = weight[:, batch.batch] * batch.multiplicity
        with torch.autocast(batch.ptr.device.type, torch.bfloat16, enabled=self.half):
            out = self.model(batch.typed(weight.dtype).weighted(node_weight))
        counted = None if whole is None else whole.counted
        out = out.to(weight.dtype)
        loss = self.objective.loss(out, batch.y, weight, graph_weight, counted)
        self.optimizer.backward(loss.sum())
        self._added = together.sum_later(self.optimizer.grad)
        return loss.detach()

    def update(self, scale: Tensor) -> None:
        """Update the weights by gradients that are those of all processes."""
        self._added()
        self.optimizer.step(scale)
