"""What does a node see of its neighbourhood that a message-passing network does not?

A node of a message-passing network hears from its neighbours, one by one. It never learns which
of them know each other, so two triangles and a hexagon look the same to it: six nodes with two
neighbours each. LGAN reads, for every node, the line graph of its ego network. Its nodes are the
edges around the target: those that touch it, and those that lie opposite it in a triangle.

Run: python examples/01_triangles.py
"""

import time

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.nn import GINConv

import lgan


def edges_of(graph: nx.Graph) -> Tensor:
    edges = torch.tensor(list(graph.edges)).t()
    return torch.cat([edges, edges.flip(0)], 1)  # both directions, as PyG has them


def list_triangles() -> None:
    k4 = edges_of(nx.complete_graph(4))
    print("The triangles of K4, each once:", lgan.triangles(k4, 4).t().tolist())


def show_ego_line_graphs() -> None:
    # A house: the square 0-1-2-3 with a roof, node 4, on the edge 0-1.
    house = nx.from_edgelist([(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4)])
    lines = lgan.EgoLines.from_edge_index(edges_of(house), 5)
    pairs = [f"{u}-{v}" for u, v in lines.pair_index.t().tolist()]
    touching = lines.target_incidence().to_dense()  # B_t
    opposite = lines.neighbour_incidence().to_dense()  # B_n
    print("\nA house. What each node sees:")
    for node in range(5):
        near = [pair for pair, seen in zip(pairs, touching[node], strict=True) if seen]
        across = [pair for pair, seen in zip(pairs, opposite[node], strict=True) if seen]
        print(f"  node {node}: touches {', '.join(near):<13} opposite {', '.join(across) or '-'}")


def compare_layers() -> None:
    hexagon = nx.cycle_graph(6)
    two_triangles = nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3))
    x = torch.ones(6, 4)
    layers = {"GINConv": GINConv(torch.nn.Linear(4, 8)), "LGANConv": lgan.LGANConv(4, 8)}
    print("\nTwo triangles and the hexagon, all features equal. Do the sums over nodes differ?")
    for name, layer in layers.items():
        layer.eval()
        a, b = (layer(x, edges_of(graph)).sum(0) for graph in (two_triangles, hexagon))
        print(f"  {name:<9}{'yes' if not torch.allclose(a, b, atol=1e-5) else 'no'}")


def count_in_a_large_graph() -> None:
    graph = nx.barabasi_albert_graph(10_000, 8, seed=0)
    edges = edges_of(graph)
    lgan.triangles(edges, len(graph))  # the first call compiles
    begin = time.perf_counter()
    found = lgan.triangles(edges, len(graph)).size(1)
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    assert found == sum(nx.triangles(graph).values()) // 3
    theirs = time.perf_counter() - begin
    print(f"\nA graph of {graph.number_of_edges():,} edges has {found:,} triangles:")
    print(
        f"  lgan lists them in {ours * 1e3:.0f} ms, networkx counts them in {theirs * 1e3:.0f} ms"
    )


def main() -> None:
    torch.manual_seed(0)
    list_triangles()
    show_ego_line_graphs()
    compare_layers()
    count_in_a_large_graph()


if __name__ == "__main__":
    main()
