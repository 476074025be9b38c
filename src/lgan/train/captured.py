"""Training steps on a GPU, captured once and replayed.

A step of small models is hundreds of short kernels; launched one by one they leave the GPU idle
most of the time. Cutting a batch and training on it are captured as CUDA graphs over arrays of a
fixed capacity, and an epoch is their replay over a plan of graph ids. There are two places for
batches, so that the next one is cut while the models train on the one before.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from lgan.data.shards.union import ShardedUnion
from lgan.graph import GraphBatch, GraphUnion
from lgan.graph.device_union import Capacity, DeviceUnion

# Steps run one by one before a capture, as CUDA graphs require.
WARM_UP = 3
# A thread that reads the next window may use the device meanwhile.
MODE = "thread_local"
# How much larger than a window the arrays are that hold one after another.
ROOM = 1.25


class Plan(NamedTuple):
    """The batches of an epoch: their graphs ``[batches, B]``, filled up, and the room they need."""

    rows: Tensor
    needed: Capacity


class CapturedCall:
    """A function of tensors that stay where they are, captured when it is first called."""

    def __init__(self) -> None:
        self.graph: torch.cuda.CUDAGraph | None = None
        self.found: Tensor

    def __call__(self, function: Callable[[], Tensor]) -> Tensor:
        """What the function returns, always the same one, which must not synchronise; the next
        call overwrites it.
        """
        if self.graph is None:
            function()  # compiles, and fills caches
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.found = function()
        self.graph.replay()
        return self.found


class CapturedSteps:
    """Runs the steps of an epoch on a GPU.

    Args:
        data: The data set, on the device.
        seen: Which graphs every model trains on ``[K, G]``.
        step: Takes a batch, which of its graphs each model sees ``[K, B]``, their weights ``[B]``
            and the factor of the learning rates; returns the losses ``[K]``.
        graph_weight: Weight of every graph in the loss ``[G]``; 1 unless given.
    """

    def __init__(
        self,
        data: DeviceUnion,
        seen: Tensor,
        step: Callable[[GraphBatch, Tensor, Tensor | None, Tensor], Tensor],
        graph_weight: Tensor | None = None,
    ) -> None:
        self.device = seen.device
        self.step = step
        self.scale = torch.ones((), dtype=torch.float64, device=self.device)
        self.loss = torch.zeros(seen.size(0), device=self.device)
        self.training, self.cutting = (torch.cuda.Stream(self.device) for _ in range(2))
        self.capacity: Capacity | None = None
        self.size = 0
        self.places: list[_Place] = []
        self._place(data, seen, graph_weight)

    def take(self, data: DeviceUnion, seen: Tensor, graph_weight: Tensor | None) -> None:
        """Go on with other graphs, in the place of those before where there is room."""
        if not self.data.has_room_for(data):
            self._place(data.with_room(ROOM), seen, graph_weight)
            return
        self.data.fill(data)
        self.seen[:, : seen.size(1)].copy_(seen)
        if self.graph_weight is not None and graph_weight is not None:
            self.graph_weight[: len(graph_weight)].copy_(graph_weight)

    def _place(self, data: DeviceUnion, seen: Tensor, graph_weight: Tensor | None) -> None:
        self._forget()
        beyond = (0, data.filler + 1 - seen.size(1))
        self.data = data
        self.seen = F.pad(seen, beyond)
        self.graph_weight = None if graph_weight is None else F.pad(graph_weight, beyond)

    def plan(self, batches: Iterable[Tensor]) -> Plan:
        """The batches of an epoch as :meth:`run` takes them; the host's work, done ahead."""
        rows = pad_sequence(list(batches), batch_first=True, padding_value=self.data.filler)
        return Plan(rows, self.data.capacity(rows))

    def run(self, plan: Plan, scale: Tensor) -> Tensor:
        """Train on the batches of an epoch; returns the mean losses ``[K]``, not waited for."""
        number, size = plan.rows.shape
        fits = self.capacity is not None and self.capacity.covers(plan.needed)
        if not fits or self.size < size:
            self._forget()
            self.capacity = plan.needed.padded(1.05).joined(self.capacity)
            self.size = max(size, self.size)
        if self.scale.shape != scale.shape:
            self._forget()
            self.scale = scale.to(self.device)
        self.scale.copy_(scale)
        self.loss.zero_()
        rows = F.pad(plan.rows, (0, self.size - size), value=self.data.filler).to(self.device)
        outside = torch.cuda.current_stream()
        self.training.wait_stream(outside)
        self.cutting.wait_stream(outside)
        first = 0
        if not self.places:
            first = min(WARM_UP, number)
            self._warm_up(rows[:first])
            if first < number:
                self._capture(rows[first])
        for i, row in enumerate(rows[first:]):
            place = self.places[i % len(self.places)]
            with torch.cuda.stream(self.cutting):
                self.cutting.wait_event(place.read)
                place.ids.copy_(row)
                place.cut()
                place.filled.record()
            with torch.cuda.stream(self.training):
                self.training.wait_event(place.filled)
                place.trained()
                place.read.record()
        outside.wait_stream(self.training)
        return self.loss / number

    def _batch(self, ids: Tensor) -> tuple[GraphBatch, Tensor, Tensor | None]:
        assert self.capacity is not None
        weight = None if self.graph_weight is None else self.graph_weight[ids]
        return self.data.batch(ids, self.capacity), self.seen[:, ids], weight

    def _warm_up(self, rows: Tensor) -> None:
        with torch.cuda.stream(self.training):
            for row in rows:
                self.loss += self.step(*self._batch(row), self.scale)
        self.cutting.wait_stream(self.training)

    def _capture(self, ids: Tensor) -> None:
        # Steps never run at the same time and share memory; a batch is cut beside a step.
        pool = torch.cuda.graph_pool_handle()
        for _ in range(2):
            place = _Place(ids.clone())
            place.cut = _captured(partial(self._cut, place), self.cutting)
            place.trained = _captured(partial(self._train, place), self.training, pool)
            self.places.append(place)

    def _cut(self, place: "_Place") -> None:
        place.batch = self._batch(place.ids)

    def _train(self, place: "_Place") -> None:
        self.loss += self.step(*place.batch, self.scale)

    def _forget(self) -> None:
        """Drop what was captured, once it has run: others are given its memory."""
        if self.places:
            torch.cuda.synchronize(self.device)
            self.places = []


def _captured(
    work: Callable[[], None], stream: torch.cuda.Stream, pool: Any = None
) -> Callable[[], None]:
    """Record work, without doing it; what is returned does it, with the same arrays."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool, stream, MODE):
        work()
    replay: Callable[[], None] = graph.replay
    return replay


class CapturedWindows:
    """Runs the steps of an epoch on a GPU that holds a window of shards at a time.

    While the models train on one window the next is read, brought to the GPU and laid out there;
    it then takes the place of the one before, so that the captured steps go on.

    Args:
        union: The shards.
        device: The GPU.
        seen: As for :class:`CapturedSteps`, on the GPU.
        step: Likewise.
        graph_weight: Likewise.
    """

    def __init__(
        self,
        union: ShardedUnion,
        device: torch.device,
        seen: Tensor,
        step: Callable[[GraphBatch, Tensor, Tensor | None, Tensor], Tensor],
        graph_weight: Tensor | None = None,
    ) -> None:
        self.union = union
        self.device = device
        self.seen = seen
        self.step = step
        self.graph_weight = graph_weight
        self.reading = torch.cuda.Stream(device)
        self.steps: CapturedSteps | None = None

    def run(self, batches: Sequence[Tensor], scale: Tensor) -> Tensor:
        """Train on the batches of an epoch; returns the mean losses ``[K]``, not waited for."""
        loss = torch.zeros(self.seen.size(0), device=self.device)
        for window in self.union.windows(batches, self._on_device):
            data, graphs = window.held, window.graphs.to(self.device)
            seen = self.seen[:, graphs]
            weight = None if self.graph_weight is None else self.graph_weight[graphs]
            if self.steps is None:
                self.steps = CapturedSteps(data.with_room(ROOM), seen, self.step, weight)
            else:
                self.steps.take(data, seen, weight)
            for array in (*data.arrays.values(), *data.ptrs.values()):
                array.record_stream(torch.cuda.current_stream())
            mean = self.steps.run(self.steps.plan(window.places), scale)
            loss += mean * len(window.places)
        return loss / len(batches)

    def _on_device(self, union: GraphUnion) -> DeviceUnion:
        """Called in the thread that reads."""
        with torch.cuda.stream(self.reading):
            data = DeviceUnion(union.to(self.device))
            self.reading.synchronize()
        return data


class _Place:
    """Arrays of one batch, how they are filled, and the step that reads them."""

    def __init__(self, ids: Tensor) -> None:
        self.ids = ids
        self.batch: tuple[GraphBatch, Tensor, Tensor | None]
        self.cut: Callable[[], None]
        self.trained: Callable[[], None]
        self.filled, self.read = torch.cuda.Event(), torch.cuda.Event()
