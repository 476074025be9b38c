"""Training steps on a GPU, captured once and replayed.

A step of small models is hundreds of short kernels; launched one by one they leave the GPU idle
most of the time. Cutting a batch and training on it are captured as CUDA graphs over arrays of a
fixed capacity, and an epoch is their replay over a plan of graph ids. There are two places for
batches, so that the next one is cut while the models train on the one before.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from lgan.graph import GraphBatch, GraphUnion
from lgan.graph.device_union import Capacity, DeviceUnion

# Steps run one by one before a capture, as CUDA graphs require.
WARM_UP = 3


class CapturedSteps:
    """Runs the steps of an epoch on a GPU.

    Args:
        union: The data set, on the device.
        seen: Which graphs every model trains on ``[K, G]``.
        step: Takes a batch, which of its graphs each model sees ``[K, B]``, their weights ``[B]``
            and the factor of the learning rates; returns the losses ``[K]``.
        graph_weight: Weight of every graph in the loss ``[G]``; 1 unless given.
    """

    def __init__(
        self,
        union: GraphUnion,
        seen: Tensor,
        step: Callable[[GraphBatch, Tensor, Tensor | None, Tensor], Tensor],
        graph_weight: Tensor | None = None,
    ) -> None:
        self.device = union.device
        self.data = DeviceUnion(union)
        self.seen = torch.cat([seen, seen.new_zeros(seen.size(0), 1)], 1)
        self.graph_weight = None
        if graph_weight is not None:
            self.graph_weight = torch.cat([graph_weight, graph_weight.new_zeros(1)])
        self.step = step
        self.filler = union.num_graphs
        self.capacity: Capacity | None = None
        self.size = 0
        self.places: list[_Place] = []
        self.scale = torch.ones((), dtype=torch.float64, device=self.device)
        self.loss = torch.zeros(seen.size(0), device=self.device)
        self.training, self.cutting = (torch.cuda.Stream(self.device) for _ in range(2))

    def run(self, batches: Sequence[Tensor], scale: Tensor) -> Tensor:
        """Train on the batches of an epoch; returns the mean losses ``[K]``, not waited for."""
        plan = pad_sequence(list(batches), batch_first=True, padding_value=self.filler)
        needed = self.data.capacity(plan)
        fits = self.capacity is not None and self.capacity.covers(needed)
        if not fits or self.size != plan.size(1):
            self.places = []
            self.capacity, self.size = needed.padded(1.05), plan.size(1)
        if self.scale.shape != scale.shape:
            self.places, self.scale = [], scale.to(self.device)
        self.scale.copy_(scale)
        self.loss.zero_()
        rows = plan.to(self.device)
        outside = torch.cuda.current_stream()
        self.training.wait_stream(outside)
        self.cutting.wait_stream(outside)
        first = 0
        if not self.places:
            first = min(WARM_UP, len(plan))
            self._warm_up(rows[:first])
            if first < len(plan):
                self._capture(rows[first])
        for i, row in enumerate(rows[first:]):
            place = self.places[i % len(self.places)]
            with torch.cuda.stream(self.cutting):
                self.cutting.wait_event(place.read)
                place.ids.copy_(row)
                place.cut.replay()
                place.filled.record()
            with torch.cuda.stream(self.training):
                self.training.wait_event(place.filled)
                place.trained.replay()
                place.read.record()
        outside.wait_stream(self.training)
        return self.loss / len(plan)

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
            with torch.cuda.graph(place.cut, stream=self.cutting):
                place.batch = self._batch(place.ids)
            with torch.cuda.graph(place.trained, stream=self.training, pool=pool):
                self.loss += self.step(*place.batch, self.scale)
            self.places.append(place)


class _Place:
    """Arrays of one batch, how they are filled, and the step that reads them."""

    def __init__(self, ids: Tensor) -> None:
        self.ids = ids
        self.batch: tuple[GraphBatch, Tensor, Tensor | None]
        self.cut, self.trained = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        self.filled, self.read = torch.cuda.Event(), torch.cuda.Event()
