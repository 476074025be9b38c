"""Predictions of stacked models on their own held-out graphs."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lgan.graph import GraphBatch, GraphUnion

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
        was_training = model.training
        model.eval()
        if self.everything is not None:
            guess = torch.cat([model(batch) for batch in self.batches[0]], -2).argmax(-1)
            table = guess.new_full((guess.size(0), self.union.num_graphs), -1)
            table[:, self.everything] = guess
            out = [table[k, ids] == self.union.y[ids] for k, ids in enumerate(self.held_out)]
        else:
            state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
            out = []
            for k, ids in enumerate(self.held_out):
                alone = {name: tensor[k] for name, tensor in state.items()}
                parts = [functional_call(model, alone, (batch,)) for batch in self.batches[k]]
                out.append(torch.cat(parts).argmax(-1) == self.union.y[ids])
        model.train(was_training)
        return out


def _chunks(union: GraphUnion, ids: Tensor) -> list[GraphBatch]:
    """The graphs in order, in batches of bounded size."""
    load = torch.cumsum(union.load[ids], 0)
    part = (load / CHUNK).floor().long()
    counts = torch.unique_consecutive(part, return_counts=True)[1].tolist()
    return [union.batch(piece) for piece in torch.split(ids, counts)]
