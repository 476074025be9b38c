"""The bridge to PyG's explainers, in both directions.

:class:`PyGView` lets PyG's own algorithms (GNNExplainer, PGExplainer, Captum's) mask the edges of
an LGAN; :class:`EdgeIntegratedGradients` is ours as an algorithm of PyG's ``Explainer``.
"""

from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.config import MaskType, ModelTaskLevel

from lgan.explain.attribute import attribute
from lgan.explain.path import Path
from lgan.explain.pyg_view import PyGView
from lgan.explain.question import Explained


class EdgeIntegratedGradients(ExplainerAlgorithm):  # type: ignore[misc]
    """:func:`lgan.attribute` as an algorithm of PyG's ``Explainer``, for graph-level tasks.

    The ``edge_mask`` of the explanation holds the signed scores, one for every column.

    Args:
        path: How the integral is taken.
        of: What is explained of the class, as in :func:`lgan.attribute`.

    Example:
        >>> import lgan, torch
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
            kwargs: ``edge_attr`` may be given, and ``batch``, which then is all zeros.
        """
        batch, attr = kwargs.pop("batch", None), kwargs.pop("edge_attr", None)
        if kwargs or (batch is not None and bool((batch != 0).any())) or target.numel() != 1:
            raise ValueError(
                "`EdgeIntegratedGradients` explains one graph from `x`, `edge_index`, `edge_attr` "
                f"alone, got {target.numel()} targets and the arguments {sorted(kwargs)}. "
                "Explain the graphs one at a time."
            )
        inner = model
        if isinstance(model, PyGView):
            inner, x = model.model, x if x.is_floating_point() else x.flatten()
        data = Data(x=x, edge_index=edge_index, edge_attr=attr, num_nodes=x.size(0))
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
