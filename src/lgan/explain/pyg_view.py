"""A model as PyG's explainers call models."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MessagePassing

from lgan.explain.maskable import MaskableGraph
from lgan.nn import LGANConv


class PyGView(nn.Module):
    """A model that takes ``data``, as PyG's explainers call models: ``(x, edge_index, batch)``.

    PyG hands edge masks to the message-passing layers inside a model. LGAN has none, so that the
    view holds one for it: it carries the mask to the line graphs (the mean of an edge's two
    directions), and the node representations of the last layer to whom asks for embeddings.

    Args:
        model: A model of ours.

    Example:
        >>> import lgan
        >>> view = PyGView(lgan.LGAN(2, 8, 3))
        >>> view(torch.ones(3, 2), torch.tensor([[0, 1, 2], [1, 2, 0]])).shape
        torch.Size([1, 3])
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        layers = [module for module in model.modules() if isinstance(module, LGANConv)]
        self.gate = _Gate() if layers else None
        self._last = layers[-1:]  # a list, so that the layer is not registered twice
        self._known: tuple[Tensor, MaskableGraph] | None = None

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """Outputs for every graph of a batch; categories may come as a column ``[n, 1]``."""
        x = x if x.is_floating_point() else x.flatten()
        data = Data(x=x, edge_index=edge_index, edge_attr=edge_attr, num_nodes=x.size(0))
        graph = self._maskable(data)
        data.lines = graph.lines
        if batch is None:
            batch = edge_index.new_zeros(x.size(0))
        data.batch = batch
        graphs = int(batch.max()) + 1 if batch.numel() else 1
        data.ptr = torch.searchsorted(batch, torch.arange(graphs + 1, device=batch.device))
        if self.gate is None:
            out: Tensor = self.model(data)
            return out
        mask = self.gate.mask()
        if mask is not None:
            data.lines = graph.lines.masked(graph.to_pairs(mask))
        gate = self.gate
        hook = self._last[0].register_forward_hook(lambda _, __, h: gate(h))
        try:
            out = self.model(data)
        finally:
            hook.remove()
        return out

    def _maskable(self, data: Data) -> MaskableGraph:
        """The structure of a graph; kept, since explainers ask for the same graph many times."""
        if self._known is None or self._known[0] is not data.edge_index:
            level = self._last[0].pair_code if self._last else "none"
            self._known = (data.edge_index, MaskableGraph.of(data, pair_code=level))
        return self._known[1]


class _Gate(MessagePassing):  # type: ignore[misc]
    """Where PyG leaves its edge mask, and finds node representations."""

    def mask(self) -> Tensor | None:
        """The mask that is set, if any, one value for every column of ``edge_index``."""
        if not self.explain or self._edge_mask is None:
            return None
        mask: Tensor = self._edge_mask
        return mask.sigmoid() if self._apply_sigmoid else mask

    def forward(self, h: Tensor) -> Tensor:
        """Node representations, unchanged."""
        return h
