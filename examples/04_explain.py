"""Which edges made a model say "triangles", and are they the right ones?

Class 1 of the set `triangles` has triangles where class 0 has hexagons. A model learns to tell
them apart; Integrated Gradients over the edges then says what it looked at. The scores of the
edges add up to the change of the model's output from the graph without edges, so they can be
checked; and because the triangles were planted, we know which edges deserve them.

Run: python examples/04_explain.py
"""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

import lgan
from lgan.data import triangle_pairs
from lgan.explain import Picture, save


def generate(num_graphs: int) -> list[Data]:
    """Graphs as PyG has them, with the planted edges marked."""
    raw = triangle_pairs(num_graphs, seed=0)
    transform = lgan.EgoLineGraph()
    graphs = []
    for g in range(num_graphs):
        start, end = raw.node_ptr[g : g + 2].tolist()
        inside = (raw.pair_index[0] >= start) & (raw.pair_index[0] < end)
        pairs = raw.pair_index[:, inside] - start
        edge_index = torch.cat([pairs, pairs.flip(0)], 1)
        graph = Data(x=torch.ones(end - start, 1), edge_index=edge_index, y=raw.y[g : g + 1])
        graph.planted = raw.ground_truth[inside]
        graphs.append(transform(graph))
    return graphs


def train(model: nn.Module, graphs: list[Data], epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(epochs):
        for batch in DataLoader(graphs, batch_size=32, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), batch.y).backward()
            optimizer.step()
    model.eval()


def main() -> None:
    torch.manual_seed(0)
    graphs = generate(200)
    model = lgan.LGAN(1, 16, 2, num_layers=3, residual=True)
    train(model, graphs[:160], epochs=10)

    found_all, planted_all, pictures = 0, 0, []
    for graph in graphs[161::4]:  # held out, and of class 1
        found = lgan.attribute(model, graph, target=1, method="integrated-gradients")
        planted = int(graph.planted.sum())
        best = torch.argsort(found.undirected()[1], descending=True)[:planted]
        found_all += int(graph.planted[best].sum())
        planted_all += planted
        title = f"{planted // 3} triangles, probability {float(found.prediction[1]):.0%}"
        pictures.append(Picture.of(found, classes=("hexagons", "triangles"), title=title))

    print(f"{found!r}")
    print(f"sum of scores {found.undirected()[1].sum():.3f}, "
          f"change of the output {found.output - found.baseline_output:.3f}")  # fmt: skip
    print("strongest edges of the last graph:")
    for (u, v), score in zip(*(t.t().tolist() for t in found.top(3)), strict=True):
        print(f"  {u}–{v}: {score:+.3f}")
    print(f"planted edges among the strongest: {found_all} of {planted_all}")

    path = Path(tempfile.mkdtemp()) / "explain.svg"
    save(pictures, path)
    print(f"pictures: {path}")


if __name__ == "__main__":
    main()
