"""The bridge to PyG's explainers, in both directions.

:class:`PyGView` lets PyG's own algorithms (GNNExplainer, PGExplainer, Captum's) mask the edges of
an LGAN; :class:`EdgeIntegratedGradients` is ours as an algorithm of PyG's ``Explainer``.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.config import MaskType, ModelTaskLevel
from torch_geometric.nn import MessagePassing

from lgan.explain.attribute import attribute
from lgan.explain.maskable import MaskableGraph
from lgan.explain.path import Path
from lgan.explain.question import Explained
from lgan.nn import LGANConv

__all__ = ["EdgeIntegratedGradients", "PyGView"]


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

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Outputs for every graph of a batch; categories may come as a column ``[n, 1]``."""
        x = x if x.is_floating_point() else x.flatten()
        graph = self._maskable(x, edge_index)
        data = Data(x=x, edge_index=edge_index, num_nodes=x.size(0), lines=graph.lines)
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

    def _maskable(self, x: Tensor, edge_index: Tensor) -> MaskableGraph:
        """The structure of a graph; kept, since explainers ask for the same graph many times."""
        if self._known is None or self._known[0] is not edge_index:
            level = self._last[0].pair_code if self._last else "none"
            data = Data(x=x, edge_index=edge_index, num_nodes=x.size(0))
            self._known = (edge_index, MaskableGraph.of(data, pair_code=level))
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


class EdgeIntegratedGradients(ExplainerAlgorithm):  # type: ignore[misc]
    """:func:`lgan.attribute` as an algorithm of PyG's ``Explainer``, for graph-level tasks.

    The ``edge_mask`` of the explanation holds the signed scores, one for every column.

    Args:
        path: How the integral is taken.
        of: What is explained of the class, as in :func:`lgan.attribute`.

    Example:
        >>> import lgan
        >>> from torch_geometric.explain import Explainer
        >>> config = dict(mode="multiclass_classification", task_level="graph", return_type="raw")
        >>> explainer = Explainer(
        ...     PyGView(lgan.LGAN(2, 8, 3)),
        ...     algorithm=EdgeIntegratedGradients(),
        ...     explanation_type="model",
        ...     edge_mask_type="object",
        ...     model_config=config,
        ... )
        >>> explainer(torch.ones(3, 2), torch.tensor([[0, 1, 2], [1, 2, 0]])).edge_mask.shape
        torch.Size([3])
    """

    def __init__(self, path: Path | None = None, *, of: Explained | None = None) -> None:
        super().__init__()
        self.path = path or Path()
        self.of = of

    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        **kwargs: Any,
    ) -> Explanation:
        """The explanation of one graph.

        Args:
            model: A :class:`PyGView`, or a network of PyG.
            x: Node features.
            edge_index: Edges.
            target: The class to explain ``[1]``.
            index: Which output to explain; there is one.
            kwargs: ``batch`` may be given, and then is all zeros.
        """
        batch = kwargs.pop("batch", None)
        if kwargs or (batch is not None and bool((batch != 0).any())) or target.numel() != 1:
            raise ValueError(
                "`EdgeIntegratedGradients` explains one graph from `x` and `edge_index` alone, "
                f"got {target.numel()} targets and the arguments {sorted(kwargs)}. "
                "Explain the graphs one at a time."
            )
        inner = model
        if isinstance(model, PyGView):
            inner, x = model.model, x if x.is_floating_point() else x.flatten()
        data = Data(x=x, edge_index=edge_index, num_nodes=x.size(0))
        found = attribute(
            inner, data, int(target), method="integrated-gradients", path=self.path, of=self.of
        )
        return Explanation(edge_mask=found.edge_scores, complete=found.complete, gap=found.gap)

    def supports(self) -> bool:
        """Whether the settings ask for what the algorithm gives."""
        wanted = self.explainer_config
        return bool(
            self.model_config.task_level == ModelTaskLevel.graph
            and wanted.node_mask_type is None
            and wanted.edge_mask_type == MaskType.object
        )
