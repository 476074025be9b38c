"""Laws that every model obeys, and the random graphs they are tried on."""

import networkx as nx
import torch
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

import lgan
import reference


@st.composite
def graphs(draw: st.DrawFn, min_nodes: int = 0, max_nodes: int = 9) -> nx.Graph:
    """Any simple graph on a few nodes."""
    n = draw(st.integers(min_nodes, max_nodes))
    possible = sorted(nx.complete_graph(n).edges)
    chosen = draw(st.lists(st.booleans(), min_size=len(possible), max_size=len(possible)))
    graph = nx.empty_graph(n)
    graph.add_edges_from(pair for pair, taken in zip(possible, chosen, strict=True) if taken)
    return graph


@st.composite
def twin_graphs(draw: st.DrawFn, max_nodes: int = 6) -> tuple[nx.Graph, list[int]]:
    """A graph with planted true twins in a random order, and the origin of every node.

    Every node of a random graph becomes a clique of one to four; features that depend on the
    origin alone are equal on twins.
    """
    base = draw(graphs(min_nodes=1, max_nodes=max_nodes))
    size = draw(st.lists(st.integers(1, 4), min_size=len(base), max_size=len(base)))
    origin = draw(st.permutations([node for node in base for _ in range(size[node])]))
    graph = nx.empty_graph(len(origin))
    graph.add_edges_from(
        (a, b)
        for b in range(len(origin))
        for a in range(b)
        if origin[a] == origin[b] or base.has_edge(origin[a], origin[b])
    )
    return graph, list(origin)


def data(graph: nx.Graph, x: Tensor) -> Data:
    return Data(x=x, edge_index=reference.edge_index(graph), num_nodes=len(graph))


def varied_graphs(channels: int) -> list[Data]:
    """Graphs of every kind with random features: dense, sparse, disconnected, tiny, empty."""
    shapes = [
        nx.gnp_random_graph(9, 0.5, seed=1),
        nx.gnp_random_graph(12, 0.2, seed=2),
        nx.disjoint_union(nx.complete_graph(4), nx.path_graph(3)),
        nx.empty_graph(3),
        nx.empty_graph(1),
        nx.empty_graph(0),
        nx.wheel_graph(7),
    ]
    return [data(shape, torch.randn(len(shape), channels).double()) for shape in shapes]


def permuted(graph: Data, generator: torch.Generator | None = None) -> Data:
    """The same graph with its nodes renamed and its edges shuffled and turned around."""
    new_id = torch.randperm(graph.num_nodes, generator=generator)
    x = torch.empty_like(graph.x)
    x[new_id] = graph.x
    order = torch.randperm(graph.edge_index.size(1), generator=generator)
    edges = new_id[graph.edge_index][:, order].flip(0)
    attr = None if graph.edge_attr is None else graph.edge_attr[order]
    renamed = Data(x=x, edge_index=edges, edge_attr=attr, num_nodes=graph.num_nodes)
    if "graph_x" in graph:  # which knows no nodes
        renamed.graph_x = graph.graph_x
    return renamed


def _close(got: Tensor, expected: Tensor, law: str) -> None:
    torch.testing.assert_close(
        got, expected, rtol=1e-9, atol=1e-9, msg=lambda message: f"{law}: {message}"
    )


def assert_same_gradients(layer: nn.Module, x: Tensor, got: Tensor, expected: Tensor) -> None:
    """Two outputs of a layer agree, and so do the gradients of ``x`` and of all parameters of a
    random functional; what an output does not depend on has a gradient of zero.
    """
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)
    direction = torch.randn_like(got)
    leaves = {"x": x, **dict(layer.named_parameters())}
    ours, theirs = (
        torch.autograd.grad(
            (out * direction).sum(), [*leaves.values()], allow_unused=True, materialize_grads=True
        )
        for out in (got, expected)
    )
    for name, mine, other in zip(leaves, ours, theirs, strict=True):
        torch.testing.assert_close(
            mine, other, rtol=1e-10, atol=1e-10, msg=lambda m, name=name: f"{name}: {m}"
        )


def assert_permutation_equivariant(conv: nn.Module, x: Tensor, edge_index: Tensor) -> None:
    """Renaming nodes renames the rows of the result, in training and in evaluation mode."""
    new_id = torch.randperm(len(x))
    renamed = torch.empty_like(x)
    renamed[new_id] = x
    for training in (True, False):
        conv.train(training)
        before, after = conv(x, edge_index), conv(renamed, new_id[edge_index])
        _close(after[new_id], before, f"permutation equivariance, training={training}")


def assert_permutation_invariant(
    model: nn.Module, graphs: list[Data], transform: BaseTransform | None = None
) -> None:
    """Renaming nodes changes no output, in training mode and in evaluation mode."""
    transform = transform or lgan.EgoLineGraph()
    for training in (True, False):
        model.train(training)
        before = model(Batch.from_data_list([transform(g) for g in graphs]))
        after = model(Batch.from_data_list([transform(permuted(g)) for g in graphs]))
        _close(after, before, f"permutation invariance, training={training}")


def assert_batching_invariant(
    model: nn.Module, graphs: list[Data], transform: BaseTransform | None = None
) -> None:
    """In evaluation mode, graphs in one batch get the outputs that they get alone."""
    prepared = [(transform or lgan.EgoLineGraph())(g) for g in graphs]
    model.eval()
    alone = torch.cat([model(g) for g in prepared])
    _close(model(Batch.from_data_list(prepared)), alone, "batch equals single graphs")


def assert_disjoint_union(
    model: nn.Module, graphs: list[Data], transform: BaseTransform | None = None
) -> None:
    """A batch of graphs is one graph, their disjoint union, with marks where each begins."""
    transform = transform or lgan.EgoLineGraph()
    ptr = torch.tensor([0, *(g.num_nodes for g in graphs)]).cumsum(0)
    edges = [g.edge_index + start for g, start in zip(graphs, ptr[:-1], strict=True)]
    union = Data(x=torch.cat([g.x for g in graphs]), edge_index=torch.cat(edges, 1))
    if graphs[0].edge_attr is not None:
        union.edge_attr = torch.cat([g.edge_attr for g in graphs])
    union = transform(union)
    union.ptr = ptr
    union.batch = torch.repeat_interleave(torch.arange(len(graphs)), ptr.diff())
    model.train()
    batched = model(Batch.from_data_list([transform(g) for g in graphs]))
    _close(model(union), batched, "disjoint union")


def assert_gradients_finite(
    model: nn.Module, channels: int, transform: BaseTransform | None = None
) -> None:
    """Degenerate graphs, alone and together, give finite outputs and gradients."""
    transform = transform or lgan.EgoLineGraph()
    dtype = next(model.parameters()).dtype
    shapes = [
        nx.empty_graph(0),
        nx.empty_graph(1),
        nx.empty_graph(4),
        nx.path_graph(2),
        nx.disjoint_union(nx.complete_graph(3), nx.empty_graph(2)),
    ]
    single = [transform(data(g, torch.ones(len(g), channels, dtype=dtype))) for g in shapes]
    model.train()
    for batch in (*single, Batch.from_data_list(single)):
        model.zero_grad()
        batch.x.requires_grad_()
        out = model(batch)
        out.square().sum().backward()
        assert out.isfinite().all(), f"outputs on {batch}"
        assert batch.x.grad is not None
        assert batch.x.grad.isfinite().all(), f"gradient of x on {batch}"
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, f"no gradient of {name} on {batch}"
            assert parameter.grad.isfinite().all(), f"gradient of {name} on {batch}"
