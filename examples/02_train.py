"""How do I use LGAN in the PyG code I already have?

One transform, one model, and nothing else changes: the data set is a list of PyG `Data`, the
loader is PyG's own, the loop is the usual one. The question asked of the models is a hard one.
The graphs come in pairs that 1-WL cannot separate, and the class says whether the graph has
triangles. GIN, as strong as 1-WL, gives both graphs of a pair the same answer and stays at
chance; LGAN learns the difference.

Run: python examples/02_train.py
"""

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool

import lgan
from lgan.data import triangle_pairs


def generate(num_graphs: int) -> list[Data]:
    """Pairs of graphs, ready for LGAN. With files, this line would do the same:

    TUDataset("data", "PROTEINS", pre_transform=lgan.EgoLineGraph())
    """
    raw = triangle_pairs(num_graphs, seed=0)
    transform = lgan.EgoLineGraph()
    graphs = []
    for g, (start, stop) in enumerate(raw.node_ptr.unfold(0, 2, 1).tolist()):
        inside = (raw.pair_index[0] >= start) & (raw.pair_index[0] < stop)
        edges = raw.pair_index[:, inside] - start
        edge_index = torch.cat([edges, edges.flip(0)], 1)
        graph = Data(x=torch.ones(stop - start, 1), edge_index=edge_index, y=raw.y[g : g + 1])
        graphs.append(transform(graph))
    return graphs


class GINClassifier(nn.Module):
    """GIN as PyG has it."""

    def __init__(self, hidden_channels: int, num_layers: int) -> None:
        super().__init__()
        self.gin = GIN(1, hidden_channels, num_layers, norm="batch_norm")
        self.head = nn.Linear(hidden_channels, 2)

    def forward(self, data: Batch) -> Tensor:
        h = self.gin(data.x, data.edge_index)
        return self.head(global_add_pool(h, data.batch))


def train(model: nn.Module, loader: DataLoader, epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), batch.y).backward()
            optimizer.step()


@torch.no_grad()
def accuracy(model: nn.Module, loader: DataLoader) -> float:
    model.eval()
    right = sum(int((model(batch).argmax(-1) == batch.y).sum()) for batch in loader)
    return right / len(loader.dataset)


def main() -> None:
    torch.manual_seed(0)
    graphs = generate(200)
    # Partners are neighbours in the list, so both are trained on or both are held out.
    train_loader = DataLoader(graphs[:160], batch_size=32, shuffle=True)
    test_loader = DataLoader(graphs[160:], batch_size=40)
    models = {
        "GIN": GINClassifier(16, 3),
        "LGAN": lgan.LGAN(1, 16, 2, num_layers=3),
        "LGAN-res": lgan.LGAN(1, 16, 2, num_layers=3, residual=True),
    }
    for name, model in models.items():
        train(model, train_loader, epochs=10)
        print(f"{name:<9}accuracy on held-out pairs {accuracy(model, test_loader):.1%}")


if __name__ == "__main__":
    main()
