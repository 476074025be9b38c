"""PyG's AttentiveFP as our training takes networks, for the table of molecules."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.nn import AttentiveFP

from lgan.nn.linear import one_hot
from lgan.zoo.gin import edge_vectors
from lgan.zoo.plain_graph import pointers


class AttentiveNetwork(nn.Module):
    """AttentiveFP of *Pushing the Boundaries of Molecular Representation for Drug Discovery with
    the Graph Attention Mechanism* (Xiong et al., 2020), with the sizes of PyG's example.

    Models side by side are computed one after the other: PyG's layers know no leading axis.

    Args:
        in_channels: Size of the node features (or number of categories).
        out_channels: Outputs per graph.
        edge_dim: Categories or columns of the features of edges.
    """

    CAPTURED: ClassVar[bool] = False
    SIZES: ClassVar[dict[str, Any]] = {
        "hidden_channels": 200,
        "num_layers": 2,
        "num_timesteps": 2,
        "dropout": 0.2,
    }

    def __init__(self, in_channels: int, out_channels: int, *, edge_dim: int) -> None:
        super().__init__()
        self.in_channels, self.edge_dim = in_channels, edge_dim
        self.model = AttentiveFP(
            in_channels, out_channels=out_channels, edge_dim=edge_dim, **self.SIZES
        )

    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch, of stacked models with a leading axis."""
        state = dict(self.model.named_parameters())
        dtype = state["lin1.weight"].dtype
        x = one_hot(data.x, self.in_channels).to(dtype)
        edges = edge_vectors(data, self.edge_dim, dtype)
        edges = x.new_zeros(0, self.edge_dim) if edges is None else edges
        ptr = pointers(data)
        graph = torch.repeat_interleave(torch.arange(len(ptr) - 1, device=x.device), ptr.diff())
        given = (x, data.edge_index, edges, graph)
        if state["lin1.weight"].dim() == 2:
            out: Tensor = self.model(*given)
            return out
        models = ({name: value[k] for name, value in state.items()}
                  for k in range(len(state["lin1.weight"])))  # fmt: skip
        return torch.stack([functional_call(self.model, model, given) for model in models])
