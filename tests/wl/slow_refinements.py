"""Slow and obviously right: every test by its definition, on dictionaries and sorted tuples."""

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import networkx as nx

Colours = dict[Any, int]
_NUMBER: dict[Hashable, int] = {}


def number(thing: Hashable) -> int:
    """Equal things get equal numbers, for the whole process."""
    return _NUMBER.setdefault(thing, len(_NUMBER))


def bag(things: Iterable[Any]) -> tuple[Any, ...]:
    """A multiset of sortable things."""
    return tuple(sorted(things))


def pair(a: int, b: int) -> tuple[int, int]:
    return (min(a, b), max(a, b))


def labels(graph: nx.Graph) -> Colours:
    return {v: number(("label", graph.nodes[v].get("label"))) for v in graph}


def edge(graph: nx.Graph, u: int, v: int) -> int:
    """The label of an edge, or -1 where there is none."""
    found = graph.get_edge_data(u, v)
    return -1 if found is None else number(("edge label", found.get("label")))


def triangles_on(graph: nx.Graph, t: int, p: int) -> int:
    return len(set(graph[t]) & set(graph[p]))


def code(graph: nx.Graph, t: int, p: int) -> tuple[int, ...]:
    common = set(graph[t]) & set(graph[p])
    ends = itertools.product(set(graph[t]) - {p}, set(graph[p]) - {t})
    cycles = sum(a != b and graph.has_edge(a, b) for a, b in ends)
    k4 = [len(common & set(graph[q])) for q in common]
    return len(common), cycles, sum(k4), sum(k * k for k in k4)


def rings_on(graph: nx.Graph, t: int, p: int) -> tuple[int, ...]:
    cycles = nx.chordless_cycles(graph, length_bound=8)
    on = [
        len(c) for c in cycles if {t, p} in [{a, b} for a, b in zip(c, c[1:] + c[:1], strict=True)]
    ]
    return tuple(on.count(length) for length in range(3, 9))


def inside(graph: nx.Graph, t: int) -> Iterable[tuple[int, int]]:
    return graph.subgraph(graph[t]).edges


def _with_edge_number(g: nx.Graph, c: Colours, t: int, of: Callable[..., Any]) -> Hashable:
    """1-WL with something static on every edge."""
    return c[t], bag((c[p], edge(g, t, p), of(g, t, p)) for p in g[t])


NodeRule = Callable[[nx.Graph, Colours, int], Hashable]

NODE_RULES: dict[str, NodeRule] = {
    "1-wl": lambda g, c, t: (c[t], bag((c[p], edge(g, t, p)) for p in g[t])),
    "lgan": lambda g, c, t: (
        bag((pair(c[t], c[p]), edge(g, t, p)) for p in g[t]),
        bag((pair(c[p], c[q]), edge(g, p, q)) for p, q in inside(g, t)),
    ),
    "lgan-linear": lambda g, c, t: (
        bag(x for p in g[t] for x in (c[t], c[p])),
        bag(c[p] for p in g[t] for _ in range(triangles_on(g, t, p))),
        bag(edge(g, t, p) for p in g[t]),
        bag(edge(g, p, q) for p, q in inside(g, t)),
    ),
    "edge-t": lambda g, c, t: _with_edge_number(g, c, t, triangles_on),
    "nest": lambda g, c, t: (
        c[t],
        bag(
            (
                c[p],
                edge(g, t, p),
                bag((c[q], edge(g, t, q), edge(g, p, q)) for q in set(g[t]) & set(g[p])),
            )
            for p in g[t]
        ),
    ),
    "code": lambda g, c, t: _with_edge_number(g, c, t, code),
    "edge-tq": lambda g, c, t: _with_edge_number(g, c, t, lambda *edge: code(*edge)[:2]),
    "code-rings": lambda g, c, t: _with_edge_number(g, c, t, rings_on),
    "nest-k4": lambda g, c, t: (
        c[t],
        bag(
            (
                c[p],
                edge(g, t, p),
                bag(
                    (
                        c[q],
                        edge(g, t, q),
                        edge(g, p, q),
                        bag(
                            (c[r], edge(g, t, r), edge(g, p, r), edge(g, q, r))
                            for r in set(g[t]) & set(g[p]) & set(g[q])
                        ),
                    )
                    for q in set(g[t]) & set(g[p])
                ),
            )
            for p in g[t]
        ),
    ),
    "lgan-2-hop": lambda g, c, t: (
        c[t],
        bag(
            (bag([(c[p], far[p]), (c[q], far[q])]), edge(g, p, q))
            for far in [nx.single_source_shortest_path_length(g, t, cutoff=2)]
            for p, q in g.subgraph(far).edges
        ),
    ),
    "lgan-line-edges": lambda g, c, t: (
        NODE_RULES["lgan-res"](g, c, t),
        bag(
            (bag([(c[p], edge(g, p, q)), (c[r], edge(g, q, r))]), c[q], edge(g, p, r))
            for q in g[t]
            for p, r in itertools.combinations(set(g[q]) & set(g[t]), 2)
        ),
    ),
}
NODE_RULES["lgan-res"] = lambda g, c, t: (c[t], NODE_RULES["lgan"](g, c, t))
NODE_RULES["lgan-input"] = NODE_RULES["lgan"]
WITHOUT_INPUT = {"lgan", "lgan-linear"}


def _replaced(v: tuple[int, ...], i: int, w: int) -> tuple[int, ...]:
    return (*v[:i], w, *v[i + 1 :])


def _type(graph: nx.Graph, v: tuple[int, ...]) -> Hashable:
    own = labels(graph)
    pairs = itertools.combinations(v, 2)
    return tuple(own[a] for a in v), tuple((a == b, edge(graph, a, b)) for a, b in pairs)


def _set_type(graph: nx.Graph, v: tuple[int, ...]) -> Hashable:
    return min(_type(graph, order) for order in itertools.permutations(v))  # type: ignore[type-var]


TupleRule = Callable[[nx.Graph, Colours, tuple[int, ...]], Hashable]


def _wl(g: nx.Graph, c: Colours, v: tuple[int, ...]) -> Hashable:
    return c[v], tuple(bag(c[_replaced(v, i, w)] for w in g) for i in range(len(v)))


def _wl_set(g: nx.Graph, c: Colours, v: tuple[int, ...]) -> Hashable:
    return c[v], bag(bag(c[_replaced(v, i, w)] for w in g) for i in range(len(v)))


def _wl_union(g: nx.Graph, c: Colours, v: tuple[int, ...]) -> Hashable:
    outside = [w for w in g if w not in v]
    return c[v], bag(c[_replaced(v, i, w)] for w in outside for i in range(len(v)))


def _fwl(g: nx.Graph, c: Colours, v: tuple[int, ...]) -> Hashable:
    return c[v], bag(tuple(c[_replaced(v, i, w)] for i in range(len(v))) for w in g)


def _fwl_set(g: nx.Graph, c: Colours, v: tuple[int, ...]) -> Hashable:
    return c[v], bag(bag(c[_replaced(v, i, w)] for i in range(len(v))) for w in g)


def _near(radius: int) -> tuple[int, Callable[..., Hashable], TupleRule]:
    def first(g: nx.Graph, v: tuple[int, ...]) -> Hashable:
        return labels(g)[v[0]], labels(g)[v[1]], nx.shortest_path_length(g, *v), edge(g, *v)

    def rule(g: nx.Graph, c: Colours, v: tuple[int, ...]) -> Hashable:
        middles = [w for w in g if (v[0], w) in c and (w, v[1]) in c]
        return c[v], bag((c[v[0], w], c[w, v[1]]) for w in middles)

    return 2, first, rule


# The number of nodes in a tuple, the first colour, the rule.
TUPLE_RULES: dict[str, tuple[int, Callable[..., Hashable], TupleRule]] = {
    "2-wl": (2, _type, _wl),
    "2-wl-set": (2, _set_type, _wl_set),
    "2-wl-union": (2, _set_type, _wl_union),
    "2-fwl": (2, _type, _fwl),
    "2-fwl-set": (2, _set_type, _fwl_set),
    "2-fwl-1": _near(1),
    "2-fwl-2": _near(2),
    "2-fwl-3": _near(3),
    "3-wl": (3, _type, _wl),
    "3-wl-set": (3, _set_type, _wl_set),
    "3-fwl": (3, _type, _fwl),
    "3-fwl-set": (3, _set_type, _fwl_set),
}


def signatures(graph: nx.Graph, test: str, rounds: int) -> list[int]:
    """A number for the graph after each round; equal for graphs the test does not separate."""
    if test in NODE_RULES:
        rule = NODE_RULES[test]
        colour = labels(graph)
        elements: list[Any] = list(graph)
    else:
        k, first, rule = TUPLE_RULES[test]  # type: ignore[assignment]
        elements = list(itertools.product(graph, repeat=k))
        if test == "2-wl-union":
            elements = [v for v in elements if v[0] != v[1]]
        if test[:-1] == "2-fwl-":
            within = dict(nx.all_pairs_shortest_path_length(graph, cutoff=int(test[-1])))
            elements = [v for v in elements if v[1] in within[v[0]]]
        colour = {v: number((test, first(graph, v))) for v in elements}
    skip = test in WITHOUT_INPUT
    history: dict[Any, tuple[int, ...]] = {v: () if skip else (colour[v],) for v in elements}
    found = [number(("skipped",)) if skip else _signature(history)]
    for _ in range(rounds):
        colour = {v: number((test, rule(graph, colour, v))) for v in elements}
        history = {v: (*history[v], colour[v]) for v in elements}
        found.append(_signature(history))
    return found


def _signature(history: dict[Any, tuple[int, ...]]) -> int:
    return number(("signature", tuple(sorted(Counter(history.values()).items()))))
