"""The tests by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from lgan.catalogue import known
from lgan.wl.folklore import k_fwl, k_fwl_sets
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.lgan_wl import code_wl, edge_triangles_wl, lgan_wl, linear_wl, nested_wl
from lgan.wl.local import (
    ego_net_wl,
    line_edges_wl,
    local_fwl,
    nested_k4_wl,
    triangles_wl,
    two_hop_wl,
)
from lgan.wl.refinement import Colouring
from lgan.wl.weisfeiler_leman import k_wl, k_wl_sets, k_wl_union, one_wl


@dataclass(frozen=True)
class RefinementSpec:
    """A row of the registry.

    Attributes:
        name: Name of the test.
        description: The new colour of an element, in one line.
        place: Where the test stands in the hierarchy.
        elements: What it colours.
        build: Its colouring of given graphs.
    """

    name: str
    description: str
    place: str
    elements: Literal["nodes", "pairs", "triples"]
    build: Callable[[LabelledGraphs], Colouring]


_ROWS = (
    RefinementSpec(
        "1-wl", "own colour, multiset of the neighbours' colours",
        "the bound of message passing networks such as GIN", "nodes", one_wl,
    ),
    RefinementSpec(
        "2-wl-union", "unordered pairs of two nodes, all replacements in one multiset",
        "at most 1-wl; equal to it on unlabelled graphs", "pairs", partial(k_wl_union, k=2),
    ),
    RefinementSpec(
        "2-wl-set", "unordered pairs, one multiset per end, as the paper writes it",
        "equal to 1-wl", "pairs", partial(k_wl_sets, k=2),
    ),
    RefinementSpec(
        "2-wl", "ordered pairs, one multiset per position",
        "equal to 1-wl", "pairs", partial(k_wl, k=2),
    ),
    RefinementSpec(
        "lgan-linear", "LGAN with the linear pair encoder",
        "at most lgan, strictly below it (from 12 nodes on)", "nodes", linear_wl,
    ),
    RefinementSpec(
        "lgan", "multisets of the pairs at a node and of the pairs opposite to it; input left out",
        "1-wl and more on unlabelled graphs; not above 1-wl on labelled ones; at most lgan-res",
        "nodes", lgan_wl,
    ),
    RefinementSpec(
        "lgan-input", "lgan with the input in the skip-cat",
        "equal to lgan-res at every depth", "nodes", partial(lgan_wl, include_input=True),
    ),
    RefinementSpec(
        "lgan-res", "own colour, then as lgan",
        "at least 1-wl, at most nest and 2-fwl-set", "nodes", partial(lgan_wl, residual=True),
    ),
    RefinementSpec(
        "edge-t", "1-wl with the number of triangles on every edge",
        "at least 1-wl, at most nest; incomparable with lgan", "nodes", edge_triangles_wl,
    ),
    RefinementSpec(
        "nest", "neighbours' colours, each with the colours of the common neighbours",
        "at least lgan-res and edge-t, at most 2-fwl-set", "nodes", nested_wl,
    ),
    RefinementSpec(
        "code", "1-wl with the structural code T, Q, S1, S2 on every edge",
        "at least edge-t; incomparable with 2-fwl", "nodes", code_wl,
    ),
    RefinementSpec(
        "code-claws", "1-wl with the code T, Q, S1, S2, U on every edge",
        "at least code; incomparable with 2-fwl", "nodes", partial(code_wl, level="claws"),
    ),
    RefinementSpec(
        "code-rings",
        "1-wl with triangles and rings (chordless cycles) of 4 to 8 nodes counted on every edge",
        "at least edge-t; incomparable with 2-fwl", "nodes", partial(code_wl, level="rings"),
    ),
    RefinementSpec(
        "code-local",
        "1-wl with the colour of every edge after 4 rounds of 2-fwl-3 begun with code-claws",
        "at least code-claws; incomparable with 2-fwl", "nodes", partial(code_wl, level="local"),
    ),
    RefinementSpec(
        "code-folklore",
        "1-wl with the colour of every edge after 4 rounds of 2-fwl begun with code-claws",
        "at least code-local; above 2-fwl where 4 rounds are enough",
        "nodes", partial(code_wl, level="folklore"),
    ),
    RefinementSpec(
        "1-wl-triangles", "1-wl that begins with the number of triangles at every node",
        "at least 1-wl, at most lgan-res; almost lgan", "nodes", triangles_wl,
    ),
    RefinementSpec(
        "lgan-2-hop", "lgan-res on ego networks of two hops, pairs typed by distance",
        "at least lgan-res", "nodes", two_hop_wl,
    ),
    RefinementSpec(
        "lgan-line-edges",
        "lgan-res that also sees which neighbour pairs meet, and whether they close a triangle",
        "at least lgan-res", "nodes", line_edges_wl,
    ),
    RefinementSpec(
        "edge-tq", "1-wl with the numbers of triangles and of 4-cycles on every edge",
        "at least edge-t, at most code and 2-fwl", "nodes", partial(code_wl, level="cycles"),
    ),
    RefinementSpec(
        "nest-k4", "nest one step deeper, with the common neighbours of every triangle",
        "at least nest; incomparable with 2-fwl", "nodes", nested_k4_wl,
    ),
    RefinementSpec(
        "ego-1-wl", "what 1-wl says about the ego network of every node",
        "at least nest", "nodes", partial(ego_net_wl, radius=1, inner=one_wl),
    ),
    RefinementSpec(
        "ego-2-1-wl", "what 1-wl says about the ego network of two hops",
        "at least ego-1-wl, at most 2-fwl", "nodes", partial(ego_net_wl, radius=2, inner=one_wl),
    ),
    RefinementSpec(
        "ego-2-nest", "what nest says about the ego network of two hops",
        "at least ego-2-1-wl", "nodes", partial(ego_net_wl, radius=2, inner=nested_wl),
    ),
    RefinementSpec(
        "2-fwl-1", "2-fwl on pairs at distance 1 or less: edge states that persist",
        "at least nest, at most 2-fwl-2", "pairs", partial(local_fwl, radius=1),
    ),
    RefinementSpec(
        "2-fwl-2", "2-fwl on pairs at distance 2 or less",
        "at most 2-fwl-3", "pairs", partial(local_fwl, radius=2),
    ),
    RefinementSpec(
        "2-fwl-3", "2-fwl on pairs at distance 3 or less",
        "at most 2-fwl", "pairs", partial(local_fwl, radius=3),
    ),
    RefinementSpec(
        "2-fwl-set", "unordered pairs, all replacements by one node together",
        "at least nest, at most 2-fwl", "pairs", partial(k_fwl_sets, k=2),
    ),
    RefinementSpec(
        "2-fwl", "ordered pairs, all replacements by one node together",
        "equal to 3-wl", "pairs", partial(k_fwl, k=2),
    ),
    RefinementSpec(
        "3-wl-set", "unordered triples, one multiset per member",
        "at most 3-wl", "triples", partial(k_wl_sets, k=3),
    ),
    RefinementSpec(
        "3-wl", "ordered triples, one multiset per position",
        "equal to 2-fwl", "triples", partial(k_wl, k=3),
    ),
    RefinementSpec(
        "3-fwl-set", "unordered triples, all replacements by one node together",
        "at most 3-fwl", "triples", partial(k_fwl_sets, k=3),
    ),
    RefinementSpec(
        "3-fwl", "ordered triples, all replacements by one node together",
        "equal to 4-wl, above 3-wl", "triples", partial(k_fwl, k=3),
    ),
)  # fmt: skip

TESTS: dict[str, RefinementSpec] = {row.name: row for row in _ROWS}


def refinement_spec(test: str) -> RefinementSpec:
    """The row of a test, or an error that names the nearest."""
    return TESTS[known(test, TESTS, "test")]
