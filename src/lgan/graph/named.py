"""Graphs by name: small classics, hard pairs, strongly regular and other families.

>>> named_graph("csl(41,9)").number_of_edges()
82
"""

import difflib
import itertools
import re
from collections.abc import Callable

import networkx as nx


def named_graph(name: str) -> nx.Graph:
    """A graph by name, or from its graph6 string, with nodes ``0 … n - 1``.

    Args:
        name: A name of ``NAMES``; a family takes numbers in brackets, ``cfi`` the name of any
            other graph. ``k5``, ``c8``, ``p4`` and ``k3,3`` are short for complete graphs,
            cycles, paths and complete bipartite graphs. Anything else is read as graph6.

    Example:
        >>> len(named_graph("cfi(k4)")), len(named_graph("C~"))
        (16, 4)
    """
    return nx.convert_node_labels_to_integers(_build(name.strip()))


def circular_skip_link(n: int, skip: int) -> nx.Graph:
    """The cycle of ``n`` nodes with chords between nodes ``skip`` apart; 4-regular.

    Two such graphs with different skips look alike to 1-WL.
    """
    if n < 5 or not 2 <= skip < n - 1 or 2 * skip == n:
        raise ValueError(
            f"A circular skip link needs n ≥ 5 and a skip from 2 to n - 2 other than n / 2, "
            f"got n={n}, skip={skip}."
        )
    return nx.circulant_graph(n, [1, skip])


def cfi(base: nx.Graph, *, twisted: bool) -> nx.Graph:
    """The graph of Cai, Fürer and Immerman over a connected base graph.

    Its nodes are ``(v, S)`` with ``S`` an even number of edges at the base node ``v``; for every
    base edge ``e = uv``, nodes ``(u, S)`` and ``(v, T)`` are adjacent if ``e`` lies in both sets
    or in neither. One edge is twisted (in exactly one of the sets) in the twisted graph. The two
    are not isomorphic, and k-WL tells them apart only if k exceeds the tree-width of the base.

    Example:
        >>> import networkx as nx
        >>> plain, twisted = (cfi(nx.cycle_graph(3), twisted=t) for t in (False, True))
        >>> nx.number_connected_components(plain), nx.number_connected_components(twisted)
        (2, 1)
    """
    if len(base) < 2 or not nx.is_connected(base):
        raise ValueError(
            f"The base of a CFI graph must be connected with two nodes or more, got {base}. "
            "Pass one component."
        )
    if (most := max(degree for _, degree in base.degree)) > LARGEST_DEGREE:
        raise ValueError(
            f"The nodes of the base of a CFI graph must have at most {LARGEST_DEGREE} edges, got "
            f"{most}. Choose another base."
        )
    edges = [frozenset(edge) for edge in base.edges if edge[0] != edge[1]]
    copies = {node: _even_subsets([e for e in edges if node in e]) for node in base}
    graph = nx.Graph()
    graph.add_nodes_from((node, kept) for node in base for kept in copies[node])
    for number, edge in enumerate(edges):
        u, v = edge
        odd = twisted and number == 0
        graph.add_edges_from(
            ((u, s), (v, t))
            for s, t in itertools.product(copies[u], copies[v])
            if ((edge in s) != (edge in t)) == odd
        )
    return nx.convert_node_labels_to_integers(graph)


def rook(n: int) -> nx.Graph:
    """Squares of an n × n board, adjacent in a row or column: srg(n², 2n-2, n-2, 2)."""
    return nx.line_graph(nx.complete_bipartite_graph(n, n))


def triangular(n: int) -> nx.Graph:
    """Pairs from ``n`` points, adjacent if they share one: srg(n(n-1)/2, 2(n-2), n-2, 4)."""
    graph = nx.Graph()
    pairs = list(itertools.combinations(range(n), 2))
    graph.add_nodes_from(pairs)
    graph.add_edges_from((a, b) for a, b in itertools.combinations(pairs, 2) if set(a) & set(b))
    return graph


def chang(number: int) -> nx.Graph:
    """One of the three Chang graphs: srg(28, 12, 6, 4), like ``triangular(8)``.

    Seidel switching of the triangular graph at the edges of four disjoint edges, of an octagon,
    or of a triangle and a pentagon on the 8 points.
    """
    cycles: dict[int, list[tuple[int, ...]]] = {
        1: [(0, 1), (2, 3), (4, 5), (6, 7)],
        2: [(0, 1, 2, 3, 4, 5, 6, 7)],
        3: [(0, 1, 2), (3, 4, 5, 6, 7)],
    }
    if number not in cycles:
        raise ValueError(
            f"There are three Chang graphs, chang(1) to chang(3), got chang({number})."
        )
    switched = set()
    for cycle in cycles[number]:
        steps = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        switched |= {(min(step), max(step)) for step in steps}
    graph = triangular(8)
    for a, b in itertools.product(switched, set(graph) - switched):
        if graph.has_edge(a, b):
            graph.remove_edge(a, b)
        else:
            graph.add_edge(a, b)
    return graph


def paley(q: int) -> nx.Graph:
    """The field of ``q`` elements, adjacent if they differ by a square: srg(q, (q-1)/2, …).

    ``q`` is a prime or the square of a prime, and 1 more than a multiple of 4.
    """
    root = round(q**0.5)
    p = q if _is_prime(q) else root
    if q % 4 != 1 or not _is_prime(p) or q not in (p, p * p):
        raise ValueError(
            f"A Paley graph needs a prime, or the square of one, that leaves 1 when divided by 4, "
            f"got {q}. Try 5, 9, 13, 17, 25 or 29."
        )
    # Elements a + b·x with x² = c, where c is not a square of the prime field.
    squares = {a * a % p for a in range(p)}
    c = next((a for a in range(p) if a not in squares), 0)
    field = [(a, b) for a in range(p) for b in range(p if q > p else 1)]
    residues = {((a * a + c * b * b) % p, 2 * a * b % p) for a, b in field} - {(0, 0)}
    graph = nx.Graph()
    graph.add_nodes_from(field)
    for (a, b), (d, e) in itertools.combinations(field, 2):
        if ((a - d) % p, (b - e) % p) in residues:
            graph.add_edge((a, b), (d, e))
    return graph


def _even_subsets(edges: list[frozenset[object]]) -> list[frozenset[frozenset[object]]]:
    sizes = range(0, len(edges) + 1, 2)
    return [frozenset(kept) for size in sizes for kept in itertools.combinations(edges, size)]


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def _edges(text: str) -> Callable[[], nx.Graph]:
    return lambda: nx.Graph([(edge[0], edge[1]) for edge in text.split()])


def _twice(n: int) -> nx.Graph:
    return nx.disjoint_union(nx.cycle_graph(n), nx.cycle_graph(n))


def _shrikhande() -> nx.Graph:
    steps = [(0, 1), (1, 0), (1, 1)]
    places = itertools.product(range(4), repeat=2)
    return nx.Graph([((a, b), ((a + x) % 4, (b + y) % 4)) for a, b in places for x, y in steps])


_SINGLE: dict[str, tuple[str, Callable[[], nx.Graph]]] = {
    "triangle": ("K3", lambda: nx.complete_graph(3)),
    "claw": ("K1,3, which shares its line graph with the triangle", lambda: nx.star_graph(3)),
    "paw": ("a triangle with a tail", _edges("ab bc ac cd")),
    "diamond": ("K4 less an edge", nx.diamond_graph),
    "bull": ("a triangle with two horns", nx.bull_graph),
    "house": ("a square with a roof", nx.house_graph),
    "hexagon": ("C6, the paper's Figure 1", lambda: nx.cycle_graph(6)),
    "two-triangles": ("the paper's Figure 1", lambda: _twice(3)),
    "two-c4": ("two squares; compare c8", lambda: _twice(4)),
    "c4+c3": ("a square and a triangle; compare c7", _edges("ab bc cd da ef fg ge")),
    "prism": ("two triangles joined; compare k33", lambda: nx.circular_ladder_graph(3)),
    "k33": ("K3,3; compare prism", lambda: nx.complete_bipartite_graph(3, 3)),
    "cube": ("the 3-cube; compare wagner", nx.cubical_graph),
    "wagner": ("the Möbius ladder on 8 nodes", lambda: nx.circulant_graph(8, (1, 4))),
    "octahedron": ("K2,2,2", nx.octahedral_graph),
    "icosahedron": ("12 nodes, 5-regular", nx.icosahedral_graph),
    "dodecahedron": ("20 nodes, cubic; compare desargues", nx.dodecahedral_graph),
    "desargues": ("20 nodes, cubic, bipartite", nx.desargues_graph),
    "petersen": ("srg(10, 3, 0, 1)", nx.petersen_graph),
    "decalin": (
        "C10H18 without hydrogens: two fused hexagons; compare bicyclopentyl",
        _edges("ab bc cd de ef fa fg gh hi ij je"),
    ),
    "bicyclopentyl": (
        "C10H18 without hydrogens: two pentagons with a bond between",
        _edges("ab bc cd de ea fg gh hi ij jf af"),
    ),
    "rook4x4": ("srg(16, 6, 2, 2); compare shrikhande", lambda: rook(4)),
    "shrikhande": ("srg(16, 6, 2, 2); compare rook4x4", _shrikhande),
}


# The number of arguments and the largest of them, what they mean, the function.
_FAMILIES: dict[str, tuple[int, int, str, Callable[..., nx.Graph]]] = {
    "complete": (1, 2_000, "n nodes, all adjacent; short k5", nx.complete_graph),
    "cycle": (1, 100_000, "n nodes; short c8", nx.cycle_graph),
    "path": (1, 100_000, "n nodes; short p4", nx.path_graph),
    "star": (1, 100_000, "a centre and n leaves", nx.star_graph),
    "bipartite": (2, 1_000, "complete bipartite; short k3,3", nx.complete_bipartite_graph),
    "prism": (1, 100_000, "two cycles of n nodes joined", nx.circular_ladder_graph),
    "hypercube": (1, 14, "2^n nodes", nx.hypercube_graph),
    "grid": (2, 500, "m × n nodes", nx.grid_2d_graph),
    "csl": (2, 100_000, "circular skip link: n nodes, chords of a given skip", circular_skip_link),
    "rook": (1, 50, "srg(n², 2n-2, n-2, 2)", rook),
    "triangular": (1, 50, "srg(n(n-1)/2, 2n-4, n-2, 4)", triangular),
    "chang": (1, 1_000, "1, 2 or 3: srg(28, 12, 6, 4); compare triangular(8)", chang),
    "paley": (1, 2_000, "srg(q, (q-1)/2, (q-5)/4, (q-1)/4)", paley),
}
# A node of the base of a CFI graph with so many edges stands for 128 of its nodes.
LARGEST_DEGREE = 8

_ABOVE = {
    "cfi": "Cai-Fürer-Immerman graph over another graph, as in cfi(k4)",
    "cfi-twisted": "the same with one edge twisted",
}

NAMES: dict[str, str] = (
    {name: text for name, (text, _) in _SINGLE.items()}
    | {
        f"{name}({'m,n' if count == 2 else 'n'})": text
        for name, (count, _, text, _) in _FAMILIES.items()
    }
    | {f"{name}(…)": text for name, text in _ABOVE.items()}
)

_SHORT = {"k": "complete", "c": "cycle", "p": "path"}


def _build(name: str) -> nx.Graph:
    lower = name.lower()
    if lower in _SINGLE:
        return _SINGLE[lower][1]()
    if short := re.fullmatch(r"([kcp])(\d+)", lower):
        return _member(_SHORT[short[1]], short[2], name)
    if both := re.fullmatch(r"k(\d+,\d+)", lower):
        return _member("bipartite", both[1], name)
    if family := re.fullmatch(r"([a-z-]+)\((.*)\)", lower):
        if family[1] in _ABOVE:
            inside = name[name.index("(") + 1 : -1]
            return cfi(named_graph(inside), twisted=family[1] == "cfi-twisted")
        if family[1] in _FAMILIES:
            return _member(family[1], family[2], name)
    return _from_graph6(name)


def _member(family: str, arguments: str, name: str) -> nx.Graph:
    count, most, text, build = _FAMILIES[family]
    numbers = re.fullmatch(r"\s*\d+\s*(,\s*\d+\s*)*", arguments)
    given = [int(number) for number in arguments.split(",")] if numbers else []
    if len(given) != count:
        raise ValueError(
            f"{family} takes {count} number{'s' * (count > 1)} ({text}), got {name!r}. "
            f"Write for example {family}({'5,2' if count == 2 else '5'})."
        )
    if max(given) > most:
        raise ValueError(f"{family} takes numbers up to {most:,}, got {name!r}. Choose a smaller.")
    return build(*given)


def _from_graph6(name: str) -> nx.Graph:
    try:
        return nx.from_graph6_bytes(name.encode())
    except (nx.NetworkXError, IndexError, ValueError):
        pass
    known = [*_SINGLE, *_FAMILIES, *_ABOVE]
    close = difflib.get_close_matches(name.lower().split("(")[0], known, n=3)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Names are {', '.join(NAMES)}."
    raise ValueError(f"{name!r} is neither the name of a graph nor a graph6 string. {hint}")
