"""The tables of the hierarchy: how many graphs each test tells apart."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lgan.wl.compare import refine
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.refinement import run_refinement
from lgan.wl.registry import refinement_spec
from lgan.wl.small_graphs import connected_graphs, places, union

SMALL_TESTS = ("1-wl", "2-wl", "lgan", "lgan-res", "lgan-linear", "edge-t", "nest", "code", "2-fwl")
BREC_TESTS = (
    "1-wl", "2-wl", "2-wl-set", "1-wl-triangles", "lgan", "lgan-res", "lgan-linear", "lgan-2-hop",
    "edge-t", "nest", "2-fwl-1", "ego-1-wl", "edge-tq", "lgan-line-edges", "2-fwl-2", "ego-2-1-wl",
    "nest-k4", "2-fwl-3", "2-fwl", "code", "ego-2-nest", "code-claws", "code-rings", "code-local",
    "code-folklore",
)  # fmt: skip

# Graphs refined together; more cost memory and save little.
GROUP = 1 << 14


@dataclass(frozen=True)
class SmallGraphsRow:
    """All connected graphs of one order.

    Attributes:
        n: Number of nodes.
        graphs: How many graphs there are.
        unseparated: Pairs of them each test does not tell apart.
    """

    n: int
    graphs: int
    unseparated: dict[str, int]


@dataclass(frozen=True)
class BrecRow:
    """One test on the pairs of a benchmark.

    Attributes:
        test: Name of the test.
        separated: Pairs of each category it tells apart.
        seconds: Time it took.
    """

    test: str
    separated: dict[str, int]
    seconds: float

    @property
    def total(self) -> int:
        """Pairs of all categories it tells apart."""
        return sum(self.separated.values())


def small_graphs_rows(
    orders: Iterable[int] = range(3, 8), *, tests: Sequence[str] = SMALL_TESTS
) -> Iterator[SmallGraphsRow]:
    """Pairs of connected graphs without labels that tests do not separate, order by order.

    Args:
        orders: Numbers of nodes; up to 8 takes seconds, 9 minutes.
        tests: Names of tests, each of which sees degrees.

    Example:
        >>> next(small_graphs_rows([6], tests=["1-wl", "lgan"]))
        SmallGraphsRow(n=6, graphs=112, unseparated={'1-wl': 3, 'lgan': 0})
    """
    for n in orders:
        codes = connected_graphs(n)
        unseparated = dict.fromkeys(tests, 0)
        for graphs in _equal_degrees(codes, n):
            for test in tests:
                unseparated[test] += refine(graphs, test=test).unseparated_pairs
        yield SmallGraphsRow(n, codes.size, unseparated)


def brec_rows(
    pairs: Mapping[str, Sequence[tuple[Any, Any] | LabelledGraphs]],
    *,
    tests: Sequence[str] = BREC_TESTS,
) -> Iterator[BrecRow]:
    """Pairs of a benchmark that tests separate, test by test.

    Args:
        pairs: Pairs by category, as ``lgan.data.pairs.load_brec`` gives them; a pair may also be a
            union of two graphs.
        tests: Names of tests. All together take some minutes on BREC.
    """
    specs = [refinement_spec(test) for test in tests]
    graphs = {name: [LabelledGraphs.of(pair) for pair in some] for name, some in pairs.items()}
    for spec in specs:
        begin = time.perf_counter()
        separated = {
            name: sum(
                run_refinement(spec.build(pair), spec.name, until_separated=True).separates(0, 1)
                for pair in some
            )
            for name, some in graphs.items()
        }
        yield BrecRow(spec.name, separated, time.perf_counter() - begin)


def _equal_degrees(codes: NDArray[np.int64], n: int) -> Iterator[LabelledGraphs]:
    """Graphs that share their degree sequence with another, in groups; others are told apart."""
    degree = np.zeros((codes.size, n), np.int64)
    for bit, (i, j) in enumerate(places(n)):
        edge = (codes >> bit) & 1
        degree[:, i] += edge
        degree[:, j] += edge
    sequence = np.sort(degree, axis=1) @ n ** np.arange(n)
    order = np.argsort(sequence, kind="stable")
    _, kind, count = np.unique(sequence[order], return_inverse=True, return_counts=True)
    several = codes[order[count[kind] > 1]]
    ends = np.cumsum(count[count > 1])
    cuts = ends[np.searchsorted(ends, np.arange(GROUP, several.size, GROUP))]
    for part in np.split(several, cuts):
        if part.size:
            yield union(part, n)
