import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

import laws
from labelled_graphs import named_pair
from lgan import wl
from lgan.zoo import GIN
from lgan.zoo.cw_lift import EDGE_NODES, RING_EDGES, cw_lift
from lgan.zoo.cwn import CWN, cells_per_graph, lift_rings
from lgan.zoo.incidences import Incidences
from lifted import everything, one_graph, union_of
from reference import batch_norm

CHANNELS, CLASSES = 3, 4


pytestmark = pytest.mark.usefixtures("float64")


def _features(graphs: list[nx.Graph]) -> Tensor:
    return torch.randn(sum(map(len, graphs)), CHANNELS)


def _perceptron(part: torch.nn.Module, rows: Tensor) -> Tensor:
    hidden = batch_norm(rows @ part.lin.weight, part.norm.scale, part.norm.shift).relu()
    return batch_norm(hidden @ part.out.weight, part.out_norm.scale, part.out_norm.shift).relu()


def _slow(model: CWN, graphs: list[nx.Graph], x: Tensor) -> Tensor:
    """The network in training mode from the paper's equations, cell after cell."""
    cells: list[list[frozenset[int]]] = [[], [], []]  # nodes, edges, rings as sets of nodes
    graph_of: list[list[int]] = [[], [], []]
    start = 0
    for i, graph in enumerate(graphs):
        rings = [c for c in nx.chordless_cycles(graph, length_bound=model.max_ring) if len(c) > 2]
        for dim, found in enumerate(([[v] for v in graph], graph.edges, rings)):
            cells[dim] += [frozenset(start + v for v in cell) for cell in found]
            graph_of[dim] += [i] * len(found)
        start += len(graph)
    place = [{cell: i for i, cell in enumerate(level)} for level in cells]
    # A ring is chordless, so that its boundary is the edges between its nodes.
    boundary = [
        [[t for t in cells[dim - 1] if t < s] if dim else [] for s in cells[dim]]
        for dim in range(3)
    ]
    how = torch.mean if model.init == "mean" else torch.sum
    h = [torch.stack([how(x[sorted(s)], 0) for s in level]) for level in cells]
    levels: list[list[Tensor]] = [[], [], []]
    for layer in model.layers:
        new = []
        for dim, update in enumerate(layer.updates):
            ups, downs = [], []
            for s, cell in enumerate(cells[dim]):
                down = sum((h[dim - 1][place[dim - 1][t]] for t in boundary[dim][s]), h[dim][s])
                up = h[dim][s]
                for d, above in enumerate(boundary[dim + 1]) if dim < 2 else []:
                    for t in above if cell in above else []:
                        message = layer.messages[dim]
                        sent = h[dim][place[dim][t]] @ message.lower.weight + message.lower.bias
                        sent = (sent + h[dim + 1][d] @ message.upper.weight).relu()
                        up = up + sent if t != cell else up
                ups.append(up)
                downs.append(down)
            parts = [
                _perceptron(update.upper, torch.stack(ups)),
                _perceptron(update.boundary, torch.stack(downs)),
            ]
            both = torch.cat(parts, 1) @ update.combine.weight
            new.append(batch_norm(both, update.norm.scale, update.norm.shift).relu())
        h = new
        for dim in range(3):
            levels[dim].append(h[dim])
    rows = []
    for i in range(len(graphs)):
        total = torch.zeros(())
        for dim in range(3):
            mine = [j for j, g in enumerate(graph_of[dim]) if g == i]
            joined = torch.cat([level[mine].sum(0) for level in levels[dim]])
            if model.readout == "mean":
                joined = joined / max(len(mine), 1)
            total = total + (joined @ model.dense[dim].weight).relu()
        rows.append(total @ model.head.weight + model.head.bias)
    return torch.stack(rows)


@pytest.mark.parametrize("options", [{}, {"init": "sum", "max_ring": 4, "readout": "mean"}])
def test_network_agrees_with_the_equations(options):
    graphs = [
        nx.cycle_graph(6),
        nx.from_edgelist([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)]),  # a square with a chord
        nx.path_graph(3),
        nx.gnp_random_graph(7, 0.5, seed=3),
    ]
    x = _features(graphs)
    model = CWN(CHANNELS, 5, CLASSES, num_layers=2, **options)
    union = union_of(graphs, x, channels=CHANNELS, lift=cw_lift(model.max_ring))
    torch.testing.assert_close(model(everything(union)), _slow(model, graphs, x))


OPTIONS = [{}, {"init": "sum", "max_ring": 4, "readout": "mean"}, {"norm": "layer"}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=8)
@given(drawn=laws.twin_graphs())
def test_network_reads_merged_twins_as_the_graph_itself(options, weighted, drawn):
    graph, classes = drawn
    features = torch.randn(len(graph) + 1, CHANNELS)[torch.tensor(classes, dtype=torch.long)]
    graphs, x = [graph, nx.cycle_graph(5)], torch.cat([features, torch.randn(5, CHANNELS)])
    model = CWN(CHANNELS, 5, CLASSES, num_layers=2, **options)
    for parameter in model.parameters():  # without shifts, rounding clips cells that are all alike
        torch.nn.init.normal_(parameter)
    found = []
    for compress in (True, False):
        lift = cw_lift(model.max_ring)
        batch = everything(union_of(graphs, x, channels=CHANNELS, lift=lift, compress=compress))
        if weighted:
            each = torch.tensor([0.25, 2.0])
            batch = batch.weighted(each[batch.batch] * batch.multiplicity)
        model.zero_grad()
        out = model(batch)
        (out * torch.linspace(-1, 1, out.numel()).view_as(out)).sum().backward()
        found.append([out, *(p.grad for p in model.parameters() if p.grad is not None)])
    for merged, plain in zip(*found, strict=True):
        torch.testing.assert_close(merged, plain, rtol=1e-8, atol=1e-8)


def _plain_message() -> tuple[CWN, torch.nn.ModuleList]:
    """A network of one feature whose messages are the plain sums of both features."""
    model = CWN(1, 4, 2, num_layers=1)
    for message in model.layers[0].messages:
        for part in (message.lower, message.upper):
            torch.nn.init.ones_(part.weight)
        torch.nn.init.zeros_(message.lower.bias)
    return model, model.layers[0].messages


def test_messages_on_a_triangle_by_hand():
    model, (to_nodes, to_edges) = _plain_message()
    x = torch.tensor([[1.0], [10.0], [100.0]])
    cells = everything(union_of([nx.complete_graph(3)], x, lift=cw_lift())).cells
    ends = Incidences.of(cells[EDGE_NODES], 3, 3)
    sides = Incidences.of(cells[RING_EDGES], 1, 3)
    model.init = "sum"
    h = model._initial(x, (ends, sides))
    # Edges 01, 02, 12, and the ring.
    assert [level.flatten().tolist() for level in h] == [[1, 10, 100], [11, 101, 110], [111]]
    # Node 0 hears 10 + 11 over 01 and 100 + 101 over 02.
    assert to_nodes(h[0], h[1], ends).flatten().tolist() == [222, 12 + 210, 102 + 120]
    # Edge 01 hears 101 + 111 and 110 + 111 in the ring.
    assert to_edges(h[1], h[2], sides).flatten().tolist() == [433, 122 + 221, 122 + 212]
    model.init = "mean"
    h = model._initial(x, (ends, sides))
    assert [level.flatten().tolist() for level in h] == [[1, 10, 100], [5.5, 50.5, 55], [37]]


def test_edges_of_a_path_hear_no_edge_and_its_ends_hear_the_middle():
    model, (to_nodes, to_edges) = _plain_message()
    x = torch.tensor([[1.0], [10.0], [100.0]])
    cells = everything(union_of([nx.path_graph(3)], x, lift=cw_lift())).cells
    ends, sides = Incidences.of(cells[EDGE_NODES], 2, 3), Incidences.of(cells[RING_EDGES], 0, 2)
    h = model._initial(x, (ends, sides))
    assert to_nodes(h[0], 2 * h[1], ends).flatten().tolist() == [10 + 11, 12 + 210, 10 + 110]
    assert to_edges(h[1], h[2], sides).flatten().tolist() == [0, 0]


def test_edge_hears_an_edge_once_in_every_ring_they_share():
    # Three paths of two edges between 0 and 1: edges 02 and 12 share two squares.
    graph = nx.complete_bipartite_graph(2, 3)
    _, (_, to_edges) = _plain_message()
    cells = everything(union_of([graph], lift=cw_lift())).cells
    sides = Incidences.of(cells[RING_EDGES], 3, 6)
    edge, ring = torch.zeros(6, 1), torch.zeros(3, 1)
    edge[0] = 1.0  # the edge 02
    heard = to_edges(edge, ring, sides).flatten().tolist()
    # Edges 02 03 04 12 13 14: 12 shares both squares of 02, all others one of them.
    assert heard == [0, 1, 1, 2, 1, 1]


PAIRS = [
    named_pair("hexagon", "two-triangles"),
    named_pair("decalin", "bicyclopentyl"),
    named_pair("c8", "two-c4"),
    named_pair("prism", "k33"),
    named_pair("cube", "wagner"),
    named_pair("rook4x4", "shrikhande"),
    (nx.path_graph(9), nx.relabel_nodes(nx.path_graph(9), {0: 8, 8: 0})),
]


def test_rings_up_to_six_separate_what_gin_merges():
    result = wl.check(CWN(1, 16, 8), PAIRS, transform=one_graph(cw_lift(6)), seeds=[0, 1])
    assert result.separated == (True,) * 6 + (False,)
    assert result.largest_control < 1e-12
    assert wl.check(GIN(1, 16, 8), PAIRS).num_separated == 0


def test_without_long_rings_molecules_are_merged_again():
    result = wl.check(CWN(1, 16, 8), PAIRS[:3], transform=one_graph(cw_lift(3)), seeds=[0, 1])
    assert result.separated == (True, False, False)


def test_batch_without_cells_is_refused():
    batch = everything(union_of([nx.path_graph(3)], channels=CHANNELS))
    with pytest.raises(
        ValueError, match=r"need the cells 'ring_edges' in a batch, got \[\]\. Lift"
    ):
        CWN(CHANNELS, 4, 2)(batch)


def test_unknown_initial_features_are_refused():
    with pytest.raises(ValueError, match=r"`init` must be one of \('mean', 'sum'\), got 'max'"):
        CWN(3, 4, 2, init="max")


def test_options_decide_the_transform():
    assert lift_rings({"max_ring": 5}).key == cw_lift(5).key
    assert lift_rings({}).key == cw_lift(6).key


def test_rows_count_cells_and_pairs_of_cells():
    union = union_of([nx.cycle_graph(6), nx.empty_graph(1)], lift=cw_lift())
    # 6 nodes, 6 edges, 1 ring; 12 ends and 6 sides.
    assert cells_per_graph(union).tolist() == [13 // 3 + 18 // 12 + 1, 1]
