"""Sums that are squashed or not, on graphs of which some nodes have far more edges than others.

Made graphs with labels or coordinates, of which the suite of :mod:`paper.recipe_study` has none,
and a social network whose nodes have labels that say nothing::

    python -m paper.uneven --output results/recipe/uneven.jsonl
"""

import argparse
import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from sklearn.model_selection import KFold

from lgan._version import __version__
from lgan.data import load, load_raw
from lgan.estimator import LGANClassifier, LGANRegressor
from lgan.estimator.side_by_side import cross_val_scores
from lgan.train.environment import environment

NUMBER, FOLDS, MEMBERS, SEEDS = 300, 3, 2, (0, 1)
EPOCHS: int | None = None  # those of the recipe
CHOICES: dict[str, dict[str, Any]] = {
    "sums as they are": {"squash": False},
    "squashed sums": {"squash": True},
}
Made = tuple[nx.Graph, float]
Rng = np.random.Generator


def lengths(rng: Rng) -> Made:
    """Points in the plane that are joined where they are near; how long their edges are."""
    number = int(rng.integers(10, 30))
    points = rng.random((number, 2))
    graph = _near(points, rng.uniform(0.25, 0.45))
    nx.set_node_attributes(graph, dict(enumerate(points[:, 0].tolist())), "across")
    nx.set_node_attributes(graph, dict(enumerate(points[:, 1].tolist())), "up")
    each = [float(np.linalg.norm(points[u] - points[v])) for u, v in graph.edges]
    return graph, float(np.mean(each)) if each else 0.0


def near_pairs(rng: Rng) -> Made:
    """The same with labels; the logarithm of how many edges join a to b."""
    number = int(rng.integers(15, 40))
    graph = _labelled(_near(rng.random((number, 2)), np.sqrt(rng.uniform(2, 4) / number)), rng)
    return graph, float(np.log1p(sum({*ends} == {"a", "b"} for ends in _ends(graph))))


def dense_shares(rng: Rng) -> Made:
    """Random graphs of any density; the share of edges between equal labels."""
    return _share(_random(rng, rng.uniform(0.2, 0.6)), rng)


def even_shares(rng: Rng) -> Made:
    """The same of one density, a mean degree of about eight."""
    number = int(rng.integers(15, 40))
    return _share(nx.gnp_random_graph(number, 8 / number, seed=int(rng.integers(2**31))), rng)


def dense_triangles(rng: Rng) -> Made:
    """The logarithm of how many triangles have three labels."""
    graph = _labelled(_random(rng, rng.uniform(0.15, 0.45)), rng)
    label = graph.nodes.data("label")
    found = sum(
        len({label[u], label[v], label[w]}) == 3
        for u, v in graph.edges
        for w in nx.common_neighbors(graph, u, v)
    )
    return graph, float(np.log1p(found / 3))


SETS: dict[str, Callable[[Rng], Made]] = {
    made.__name__.replace("_", " "): made
    for made in (lengths, near_pairs, dense_shares, even_shares, dense_triangles)
}
NAMES = (*SETS, "IMDB-BINARY, labels drawn")


def graphs_of(name: str, seed: int) -> tuple[list[nx.Graph], np.ndarray[Any, Any]]:
    """The graphs of a set and what is to be predicted of them."""
    rng = np.random.default_rng(seed)
    if name in SETS:
        made = [SETS[name](rng) for _ in range(NUMBER)]
        return [graph for graph, _ in made], np.array([value for _, value in made])
    raw = load_raw("IMDB-BINARY")
    u, v = raw.pair_index
    graphs = []
    for first, last in pairwise(raw.node_ptr.tolist()):
        own = (u >= first) & (u < last)
        graph = nx.empty_graph(last - first)
        graph.add_edges_from(zip((u[own] - first).tolist(), (v[own] - first).tolist(), strict=True))
        graphs.append(_labelled(graph, rng))
    [y] = raw.targets.values()
    return graphs, np.array(y)


def run(output: Path) -> None:
    """Measure what is not in the records yet and add a line for each."""
    output.parent.mkdir(parents=True, exist_ok=True)
    lines = output.read_text().splitlines() if output.exists() else []
    done = {(row["set"], row["choice"], row["seed"]) for row in map(json.loads, lines)}
    for seed in SEEDS:
        for name in NAMES:
            graphs, y = graphs_of(name, seed)
            for choice, options in CHOICES.items():
                if (name, choice, seed) in done:
                    continue
                row = _measure(graphs, y, options, seed)
                row = {"set": name, "choice": choice, "members": MEMBERS, "seed": seed} | row
                with output.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(name, choice, row["bagged_folds"], row["seconds"], flush=True)


def _measure(
    graphs: list[nx.Graph], y: np.ndarray[Any, Any], options: dict[str, Any], seed: int
) -> dict[str, Any]:
    numbers = y.dtype.kind == "f"
    kind = LGANRegressor if numbers else LGANClassifier
    estimator = kind(members=MEMBERS, epochs=EPOCHS, options=options, random_state=seed)
    begin = time.perf_counter()
    scores = cross_val_scores(estimator, graphs, y, cv=KFold(FOLDS, shuffle=True, random_state=0))
    return {
        "metric": "r2" if numbers else "accuracy", "bagged": round(float(np.mean(scores)), 5),
        "bagged_folds": [round(float(score), 5) for score in scores],
        "seconds": round(time.perf_counter() - begin, 1),
        "unevenness": round(load(graphs).unevenness, 2), "version": __version__,
        "environment": environment(torch.device("cpu")),
    }  # fmt: skip


def _near(points: np.ndarray[Any, Any], distance: float) -> nx.Graph:
    graph = nx.empty_graph(len(points))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    graph.add_edges_from(np.argwhere(np.triu(apart < distance, 1)).tolist())
    return graph


def _random(rng: Rng, share: float) -> nx.Graph:
    return nx.gnp_random_graph(int(rng.integers(10, 40)), share, seed=int(rng.integers(2**31)))


def _labelled(graph: nx.Graph, rng: Rng) -> nx.Graph:
    nx.set_node_attributes(graph, {node: str(rng.choice([*"abc"])) for node in graph}, "label")
    return graph


def _share(graph: nx.Graph, rng: Rng) -> Made:
    alike = [u == v for u, v in _ends(_labelled(graph, rng))]
    return graph, float(np.mean(alike)) if alike else 0.0


def _ends(graph: nx.Graph) -> list[tuple[str, str]]:
    label = graph.nodes.data("label")
    return [(label[u], label[v]) for u, v in graph.edges]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--output", type=Path, default=Path("results/recipe/uneven.jsonl"))
    run(parser.parse_args().output)


if __name__ == "__main__":
    main()
