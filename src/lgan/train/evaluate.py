"""Predictions of stacked models on their own held-out graphs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from lgan import ops
from lgan.data.shards.union import Graphs, ShardedUnion
from lgan.graph import GraphBatch
from lgan.graph.device_union import DeviceUnion
from lgan.ops import together
from lgan.train.captured import CapturedCall
from lgan.train.stack import model_view

# Nodes and triangle entries of one pass; bounds memory, not results.
CHUNK = 1 << 22
# The same for models on the CPU, which are tested beside each other.
ON_CPU = 1 << 15
# On the CPU what stays in its caches is twice as fast (measured).
CACHED = 1 << 12
# Below this, counted over all models, a GPU is faster with one pass over all graphs.
SHARED = 1 << 21
# Below this such a pass is mostly launches, and is captured; a capture keeps its memory.
CAPTURED = 1 << 18


@torch.no_grad()
def predict(model: nn.Module, union: Graphs, ids: Tensor | None = None) -> Tensor:
    """Outputs of a model in evaluation mode for some graphs, or all, ``[*, G, C]``.

    They are where the model is; a data set that is elsewhere stays there, and its batches are
    moved one by one.
    """
    ids = torch.arange(union.num_graphs) if ids is None else ids
    device = next((t.device for t in model.state_dict().values()), union.device)
    was_training = model.training
    model.eval()
    pieces = in_pieces(union, ids.to(union.device), CACHED if device.type == "cpu" else CHUNK)
    with ops.model_threads(device):
        out = torch.cat([model(batch.to(device)) for batch in union.batches(pieces)], -2)
    model.train(was_training)
    return out


class HeldOut:
    """Evaluation of ``K`` stacked models, each on the graphs it did not train on.

    Models that hold the same graphs out read them together, and no others: with ten folds a tenth
    of the arithmetic. Where that is little for a GPU all models read all graphs in one pass, a
    tenth of the launches.

    Args:
        union: The data set.
        held_out: Graphs of every model.
        device: Where the models are; by default where the data set is.
        captured: The data set as captured steps read it; little evaluations are then captured too.
    """

    def __init__(
        self,
        union: Graphs,
        held_out: Sequence[Tensor],
        device: torch.device | None = None,
        *,
        captured: DeviceUnion | None = None,
    ) -> None:
        self.union = union
        self.device = device or union.device
        self.held_out = [ids.to(union.device) for ids in held_out]
        everything = torch.unique(torch.cat(self.held_out))
        load = int(union.work_per_graph[everything].sum()) * len(held_out)
        if self.device.type != "cpu" and load < SHARED:
            self.groups = [_Group(slice(0, len(held_out)), everything)]
        else:
            self.groups = _same_graphs(self.held_out)
        self.places = [_places(group, self.held_out, self.device) for group in self.groups]
        chunk = ON_CPU if self.device.type == "cpu" else CHUNK
        self.pieces = [in_pieces(union, _own(group.ids), chunk) for group in self.groups]
        self.captured: CapturedCall | None = None
        self.batches: list[list[GraphBatch]] = []
        # A data set that is not on the device did not fit there: its batches come and go.
        resident = union.device.type == self.device.type and not isinstance(union, ShardedUnion)
        if captured is not None and load < CAPTURED:
            self.captured = CapturedCall()
            room = captured.capacity(everything[None].cpu())
            self.batches = [[captured.batch(everything, room)]]
        elif resident:
            self.batches = [list(union.batches(pieces)) for pieces in self.pieces]
        self.stack: nn.Module | None = None
        self.views: list[nn.Module] = []

    @torch.no_grad()
    def outputs(self, model: nn.Module) -> list[Tensor]:
        """The outputs of every model for its held-out graphs ``[n, C]``, on the host."""
        if self.stack is not model:
            self.stack = model
            self.views = [model_view(model, group.index) for group in self.groups]
            self.captured = self.captured and CapturedCall()
        found = self._found() if self.captured is None else self.captured(self._found)
        # All outputs as one tensor: the host waits for the device once, not once a model.
        return list(torch.split(found.cpu(), [ids.numel() for ids in self.held_out]))

    def _found(self) -> Tensor:
        """The outputs of all models, one after another, where they are computed."""
        found: list[Tensor] = [torch.empty(0)] * len(self.held_out)

        def of_group(i: int) -> None:
            group, view = self.groups[i], self.views[i]
            dtype = next((t.dtype for t in view.parameters()), torch.get_default_dtype())
            out = torch.cat([view(batch.typed(dtype)) for batch in self._cut(i)], -2)
            out = _gathered(out.view(-1, *out.shape[-2:]), group.ids.numel())
            for row, (k, place) in enumerate(self.places[i].items()):
                found[k] = out[row, place]

        if self.batches and together.workers() == 1:
            ops.side_by_side(of_group, len(self.groups))
        else:  # batches come from one reader, and processes answer in one order
            for i in range(len(self.groups)):
                of_group(i)
        return torch.cat(found)

    def _cut(self, group: int) -> Iterable[GraphBatch]:
        """The batches of a group, kept or cut anew."""
        if self.batches:
            return self.batches[group]
        return (batch.to(self.device) for batch in self.union.batches(self.pieces[group]))


def _own(ids: Tensor) -> Tensor:
    """The graphs that this process tests; all of them where there are too few to share."""
    return ids[together.own_part(len(ids))] if len(ids) >= together.workers() else ids


def _gathered(out: Tensor, graphs: int) -> Tensor:
    """The outputs for all graphs from those of every process ``[K, n, C]``."""
    if out.size(1) == graphs:
        return out
    everything = out.new_zeros((out.size(0), graphs, out.size(2)))
    everything[:, together.own_part(graphs)] = out
    together.sum_in_place(everything)
    return everything


@dataclass(frozen=True)
class _Group:
    """Models that are tested together, and on which graphs."""

    models: slice
    ids: Tensor

    @property
    def index(self) -> int | slice:
        """What to cut out of a stack; one model needs no axis of models."""
        alone = self.models.stop - self.models.start == 1
        return int(self.models.start) if alone else self.models


def _places(
    group: _Group, held_out: Sequence[Tensor], device: torch.device
) -> dict[int, Tensor | slice]:
    """Where the graphs of each model of a group are among those of the group."""
    places: dict[int, Tensor | slice] = {}
    for k in range(len(held_out))[group.models]:
        mine = held_out[k]
        same = torch.equal(mine, group.ids)
        places[k] = slice(None) if same else torch.searchsorted(group.ids, mine).to(device)
    return places


def _same_graphs(held_out: Sequence[Tensor]) -> list[_Group]:
    """Models with the same graphs; each group is a slice, so that its parameters are views."""
    members: dict[tuple[int, ...], list[int]] = {}
    for k, ids in enumerate(held_out):
        members.setdefault(tuple(ids.tolist()), []).append(k)
    groups = []
    for models in members.values():
        steps = {b - a for a, b in pairwise(models)} or {1}
        ids = held_out[models[0]]
        if len(steps) == 1:
            groups.append(_Group(slice(models[0], models[-1] + 1, steps.pop()), ids))
        else:
            groups += [_Group(slice(k, k + 1), ids) for k in models]
    return groups


def in_pieces(union: Graphs, ids: Tensor, chunk: int) -> list[Tensor]:
    """The graphs in order, in pieces of bounded size."""
    load = torch.cumsum(union.work_per_graph[ids], 0)
    part = (load / chunk).floor().long()
    if isinstance(union, ShardedUnion):  # and of shards that are in memory together
        part = torch.stack([part, union.window_of(ids)], 1)
    counts = torch.unique_consecutive(part, dim=0, return_counts=True)[1].tolist()
    return list(torch.split(ids, counts or [0]))
