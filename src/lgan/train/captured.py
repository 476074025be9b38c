"""Training steps on a GPU, captured once and replayed.

A step of small models is hundreds of short kernels; launched one by one they leave the GPU idle
most of the time. The whole step, from cutting the batch to the update, is captured as a CUDA graph
over arrays of a fixed capacity, and an epoch is its replay over a plan of graph ids.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

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
        self.graph: torch.cuda.CUDAGraph | None = None
        self.ids = torch.empty(0)
        self.scale = torch.ones((), dtype=torch.float64, device=self.device)
        self.loss = torch.zeros(seen.size(0), device=self.device)
        self.stream = torch.cuda.Stream(self.device)

    def run(self, batches: Sequence[Tensor], scale: Tensor) -> Tensor:
        """Train on the batches of an epoch; returns the mean losses ``[K]``, on the host."""
        size = max(ids.numel() for ids in batches)
        plan = torch.full((len(batches), size), self.filler)
        for row, ids in zip(plan, batches, strict=True):
            row[: ids.numel()] = ids
        needed = self.data.capacity(plan)
        fits = self.capacity is not None and self.capacity.covers(needed)
        if not fits or self.ids.numel() != size:
            self.graph = None
            self.capacity = needed.padded(1.05)
            self.ids = plan[0].to(self.device)
        if self.scale.shape != scale.shape:
            self.graph, self.scale = None, scale.to(self.device)
        self.scale.copy_(scale)
        self.loss.zero_()
        on_device = plan.to(self.device)
        first = 0
        if self.graph is None:
            first = min(WARM_UP, len(plan))
            self._warm_up(on_device[:first])
            if first < len(plan):
                self._capture()
        for row in on_device[first:]:
            self.ids.copy_(row)
            assert self.graph is not None
            self.graph.replay()
        return self.loss.cpu() / len(plan)

    def _once(self) -> None:
        assert self.capacity is not None
        batch = self.data.batch(self.ids, self.capacity)
        weight = None if self.graph_weight is None else self.graph_weight[self.ids]
        self.loss += self.step(batch, self.seen[:, self.ids], weight, self.scale)

    def _warm_up(self, rows: Tensor) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for row in rows:
                self.ids.copy_(row)
                self._once()
        torch.cuda.current_stream().wait_stream(self.stream)

    def _capture(self) -> None:
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            self._once()
