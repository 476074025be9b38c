"""What a user of PyTorch Geometric has: GIN, the stock loader, data as `TUDataset` gives it."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, GINEConv, global_add_pool

from lgan.data import RawGraphs


def missing(*packages: str) -> str:
    """A note that names the packages of a peer that are not installed, or nothing."""
    absent = [package for package in packages if find_spec(package) is None]
    if not absent:
        return ""
    return f"not measured: {', '.join(absent)} is not installed (pip install 'lgan[bench]')"


class GIN(nn.Module):
    """GIN-0 as PyG's examples write it: ``GINConv`` over a two-layer MLP, skip-cat, sum, linear;
    GINE where edges have features.

    Args:
        in_channels: Size of the node features.
        hidden_channels: Width of every layer.
        out_channels: Classes.
        num_layers: Number of layers.
        edge_dim: Size of the features of edges; none are read without.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 4,
        edge_dim: int | None = None,
    ) -> None:
        super().__init__()
        self.edge_dim = edge_dim
        maps = [
            nn.Sequential(
                nn.Linear(in_channels if layer == 0 else hidden_channels, hidden_channels),
                nn.BatchNorm1d(hidden_channels),
                nn.ReLU(),
                nn.Linear(hidden_channels, hidden_channels),
                nn.BatchNorm1d(hidden_channels),
                nn.ReLU(),
            )
            for layer in range(num_layers)
        ]
        self.convs = nn.ModuleList(
            GINConv(mlp) if edge_dim is None else GINEConv(mlp, edge_dim=edge_dim) for mlp in maps
        )
        self.head = nn.Linear(hidden_channels * num_layers, out_channels)

    def forward(self, data: Any) -> Tensor:
        """Outputs for every graph of a batch."""
        x, levels = data.x, []
        for conv in self.convs:
            edges = () if self.edge_dim is None else (data.edge_attr,)
            x = conv(x, data.edge_index, *edges)
            levels.append(x)
        out: Tensor = self.head(global_add_pool(torch.cat(levels, 1), data.batch))
        return out


def pyg_graphs(
    raw: RawGraphs, category: Tensor, num_features: int, pair_attr: Tensor | None = None
) -> list[Data]:
    """The graphs as PyG's ``TUDataset`` gives them, with one-hot features.

    Social sets have no features of their own; theirs are those of ``OneHotDegree``.

    Args:
        raw: The set.
        category: Category of every node (label or degree) ``[N]``.
        num_features: Number of categories.
        pair_attr: Features of edges ``[P, d]``; the labels of the set, one-hot, unless given.
    """
    u, v = raw.pair_index
    tail, head = torch.cat([u, v]), torch.cat([v, u])
    order = torch.argsort(tail * raw.num_nodes + head)  # as `coalesce` leaves them
    tail, head = tail[order], head[order]
    bonds = pair_attr
    if bonds is None and raw.pair_labels is not None:
        bonds = F.one_hot(raw.pair_labels).float()
    bonds = None if bonds is None else bonds.repeat(2, 1)[order]
    cut = torch.searchsorted(tail, raw.node_ptr).tolist()
    ptr, graphs = raw.node_ptr.tolist(), []
    for g in range(raw.num_graphs):
        nodes, edges = slice(ptr[g], ptr[g + 1]), slice(cut[g], cut[g + 1])
        graph = Data(
            x=F.one_hot(category[nodes], num_features).float(),
            edge_index=torch.stack([tail[edges], head[edges]]) - ptr[g],
            y=raw.y[g : g + 1],
        )
        if bonds is not None:
            graph.edge_attr = bonds[edges]
        if raw.node_labels is None:
            graph.num_nodes = ptr[g + 1] - ptr[g]  # `TUDataset` stores it where it has no features
        graphs.append(graph)
    return graphs


class PeerTraining:
    """A GIN in training, an epoch at a time, with the stock ``DataLoader``.

    Args:
        train: Graphs to train on.
        test: Graphs to test on after every epoch; none for training alone.
        hidden_channels: Width.
        num_classes: Classes.
        device: Where to train.
        edges: Whether to read the features of edges.
        batch_size: Graphs in a batch.
        workers: Processes that make batches, kept from epoch to epoch; 0 for none.
    """

    def __init__(
        self,
        train: Sequence[Data],
        test: Sequence[Data],
        *,
        hidden_channels: int,
        num_classes: int,
        device: torch.device,
        edges: bool = False,
        batch_size: int = 32,
        workers: int = 0,
    ) -> None:
        self.device = device
        edge_dim = train[0].edge_attr.size(1) if edges else None
        sizes = (train[0].x.size(1), hidden_channels, num_classes)
        self.model = GIN(*sizes, edge_dim=edge_dim).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 0.01)
        self.train = DataLoader(
            list(train), batch_size=batch_size, shuffle=True, num_workers=workers,
            persistent_workers=workers > 0,
        )  # fmt: skip
        self.test = DataLoader(list(test), batch_size=batch_size) if test else []

    def epoch(self) -> int:
        """Train on every graph once, then count the test graphs classified right."""
        self.model.train()
        for batch in self.train:
            batch = batch.to(self.device)
            self.optimizer.zero_grad()
            F.cross_entropy(self.model(batch), batch.y).backward()
            self.optimizer.step()
        self.model.eval()
        right = 0
        with torch.no_grad():
            for batch in self.test:
                batch = batch.to(self.device)
                right += int((self.model(batch).argmax(1) == batch.y).sum())
        return right
