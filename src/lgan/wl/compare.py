"""Ask a test, or all of them, about graphs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lgan.graph import GraphUnion
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.refinement import RefinementResult, run_refinement
from lgan.wl.registry import TESTS, refinement_spec

# Tests on nodes and pairs; those on triples are slow.
USUAL_TESTS = tuple(name for name, spec in TESTS.items() if spec.elements != "triples")


@dataclass(frozen=True)
class Comparison:
    """What one test says about two graphs.

    Attributes:
        test: Name of the test.
        separates: Whether it tells the graphs apart.
        round: The first round after which it does, or ``None``.
    """

    test: str
    separates: bool
    round: int | None


def refine(
    graphs: Iterable[Any] | GraphUnion | LabelledGraphs,
    *,
    test: str,
    rounds: int | None = None,
) -> RefinementResult:
    """Colour all graphs together with one test, until nothing changes.

    Args:
        graphs: Networkx graphs (labels: attribute ``label`` of nodes and edges), PyG ``Data``
            (labels: rows of ``x`` and ``edge_attr``) or a :class:`GraphUnion`, whose merged twins
            cost nothing.
        test: A name of ``TESTS``.
        rounds: Stop after so many rounds, as a network with so many layers does.

    Example:
        >>> import networkx as nx
        >>> hexagon, path = nx.cycle_graph(6), nx.path_graph(6)
        >>> result = refine([hexagon, path, hexagon], test="1-wl")
        >>> result.classes.tolist(), result.rounds, result.separating_round(0, 1)
        ([0, 1, 0], 3, 1)
    """
    spec = refinement_spec(test)
    return run_refinement(spec.build(LabelledGraphs.of(graphs)), test, rounds=rounds)


def distinguishes(a: Any, b: Any, *, test: str) -> bool:
    """Whether a test tells two graphs apart.

    Args:
        a: A networkx graph (labels: attribute ``label`` of nodes and edges) or PyG ``Data`` (rows
            of ``x`` and ``edge_attr``).
        b: The other graph.
        test: A name of ``TESTS``.

    Example:
        >>> import networkx as nx
        >>> two_triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
        >>> distinguishes(nx.cycle_graph(6), two_triangles, test="1-wl")
        False
        >>> distinguishes(nx.cycle_graph(6), two_triangles, test="lgan")
        True
    """
    [found] = compare(a, b, tests=[test])
    return found.separates


def compare(a: Any, b: Any, *, tests: Sequence[str] = USUAL_TESTS) -> list[Comparison]:
    """What every test says about two graphs, in the order of ``TESTS``.

    Args:
        a: A networkx graph or PyG ``Data``.
        b: The other graph.
        tests: Names of tests; by default all on nodes and pairs.
    """
    specs = [refinement_spec(test) for test in tests]
    graphs = LabelledGraphs.of([a, b])
    rows = []
    for spec in specs:
        result = run_refinement(spec.build(graphs), spec.name, until_separated=True)
        found = result.separating_round(0, 1)
        rows.append(Comparison(spec.name, found is not None, found))
    return rows
