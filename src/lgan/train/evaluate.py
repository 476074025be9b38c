"""Predictions of stacked models on their own held-out graphs."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lgan.graph import GraphBatch, GraphUnion
from lgan.train.stack import model_view

__all__ = ["HeldOut", "predict"]

# Nodes and triangle entries of one pass; bounds memory, not results.
CHUNK = 1 << 22


@torch.no_grad()
def predict(model: nn.Module, union: GraphUnion, ids: Tensor | None = None) -> Tensor:
    """Outputs of a model in evaluation mode for some graphs, or all, ``[*, G, C]``."""
    ids = torch.arange(union.num_graphs, device=union.device) if ids is None else ids
    was_training = model.training
    model.eval()
    out = torch.cat([model(batch) for batch in _chunks(union, ids)], -2)
    model.train(was_training)
    return out


class HeldOut:
    """Evaluation of ``K`` stacked models, each on the graphs it did not train on.

    On the CPU every model reads its own graphs alone, a tenth of the arithmetic; on a GPU all
    models read all graphs in one pass, a tenth of the launches.

    Args:
        union: The data set.
        held_out: Graphs of every model.
    """

    def __init__(self, union: GraphUnion, held_out: Sequence[Tensor]) -> None:
        self.union = union
        self.held_out = [ids.to(union.device) for ids in held_out]
        self.shared = union.device.type != "cpu"
        self.stack: nn.Module | None = None
        self.alone: list[nn.Module] = []
        everything = torch.unique(torch.cat(self.held_out)) if self.shared else None
        self.everything = everything
        self.batches: list[list[GraphBatch]] = (
            [list(_chunks(union, everything))]
            if everything is not None
            else [list(_chunks(union, ids)) for ids in self.held_out]
        )

    @torch.no_grad()
    def correct(self, model: nn.Module) -> list[Tensor]:
        """Whether each held-out graph is classified right, one boolean tensor per model."""
        if self.everything is None:
            return self._one_by_one(model)
        was_training = model.training
        model.eval()
        guess = torch.cat([model(batch) for batch in self.batches[0]], -2).argmax(-1)
        model.train(was_training)
        table = guess.new_full((guess.size(0), self.union.num_graphs), -1)
        table[:, self.everything] = guess
        return [table[k, ids] == self.union.y[ids] for k, ids in enumerate(self.held_out)]

    def _one_by_one(self, model: nn.Module) -> list[Tensor]:
        if self.stack is not model:
            self.stack = model
            self.alone = [model_view(model, k) for k in range(len(self.held_out))]
        right = []
        for alone, ids, batches in zip(self.alone, self.held_out, self.batches, strict=True):
            guess = torch.cat([alone(batch) for batch in batches]).argmax(-1)
            right.append(guess == self.union.y[ids])
        return right


def _chunks(union: GraphUnion, ids: Tensor) -> list[GraphBatch]:
    """The graphs in order, in batches of bounded size."""
    load = torch.cumsum(union.load[ids], 0)
    part = (load / CHUNK).floor().long()
    counts = torch.unique_consecutive(part, return_counts=True)[1].tolist()
    return [union.batch(piece) for piece in torch.split(ids, counts or [0])]
