"""Triangle listing, edge ids included, beside igraph and networkx."""

from collections.abc import Callable

from torch import Tensor

from benchmarks.config import BenchConfig
from benchmarks.graphs import ego_networks, power_law
from benchmarks.measure import OURS, comparison, interleaved
from benchmarks.peers import missing
from benchmarks.row import Bar, Row
from lgan.graph.triangles import pair_triangles

BARS = {"igraph": Bar("speedup", 10), "networkx": Bar("speedup", 20)}


def triangles(config: BenchConfig) -> list[Row]:
    """List the triangles of a power-law graph and of two batches of ego networks.

    Ours gives the ids of the three edges of every triangle, the peers its nodes. Every side
    starts from a graph it has built before.
    """
    edges, graphs = (3_000, 8) if config.quick else (1_000_000, 128)
    rows = []
    pair_index, num_nodes = power_law(edges, seed=config.seed)
    rows += _rows("power-law", pair_index, num_nodes, config)
    for shape in ("IMDB-like", "COLLAB-like"):
        pair_index, node_ptr = ego_networks(shape, graphs, seed=config.seed)
        rows += _rows(f"{shape}, {graphs} graphs", pair_index, int(node_ptr[-1]), config)
    return rows


def _rows(name: str, pair_index: Tensor, num_nodes: int, config: BenchConfig) -> list[Row]:
    config.progress(f"{name}: building the peers' graphs")
    notes = {peer: missing(peer) for peer in BARS}
    sides: dict[str, Callable[[], int]] = {
        OURS: lambda: pair_triangles(pair_index, num_nodes).size(1)
    }
    for peer, build in (("igraph", _igraph), ("networkx", _networkx)):
        if not notes[peer]:
            sides[peer] = build(pair_index, num_nodes)
    found: dict[str, int] = {}
    once = ["networkx"] if pair_index.size(1) > 100_000 else []
    samples = interleaved(
        {side: _kept(found, side, run) for side, run in sides.items()},
        repeats=2 if config.quick else 5,
        once=once,
        progress=lambda text: config.progress(f"{name}: {text}"),
    )
    if len(set(found.values())) > 1:
        raise ValueError(f"The sides disagree on the number of triangles of {name}: {found}.")
    for peer in once:
        notes[peer] = notes[peer] or "the peer ran once"
    what = f"{pair_index.size(1):,} edges, {found[OURS]:,} triangles"
    return [
        comparison(
            name, what, samples, peer=peer, bar=bar, size=pair_index.size(1), note=notes[peer],
            detail={"triangles": found[OURS]},
        )
        for peer, bar in BARS.items()
    ]  # fmt: skip


def _kept(found: dict[str, int], side: str, run: Callable[[], int]) -> Callable[[], None]:
    def kept() -> None:
        found[side] = run()

    return kept


def _igraph(pair_index: Tensor, num_nodes: int) -> Callable[[], int]:
    import igraph

    graph = igraph.Graph(num_nodes, pair_index.t().tolist())
    return lambda: len(graph.list_triangles())


def _networkx(pair_index: Tensor, num_nodes: int) -> Callable[[], int]:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(pair_index.t().tolist())
    return lambda: sum(1 for _ in nx.all_triangles(graph))
