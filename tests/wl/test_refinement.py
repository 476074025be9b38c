import networkx as nx
import numpy as np
import pytest

from lgan import wl
from lgan.graph.named import named_graph
from lgan.wl.refinement import Colouring, run_refinement


def test_rounds_and_colours_of_a_path() -> None:
    result = wl.refine([nx.path_graph(7)], test="1-wl")
    assert result.rounds == 3
    assert result.colours == (1, 2, 3, 4)
    assert result.colours_of(0).tolist() == [0, 1, 2, 3, 2, 1, 0]


def test_a_regular_graph_is_stable_from_the_start() -> None:
    result = wl.refine([nx.cycle_graph(6)], test="1-wl")
    assert result.rounds == 0
    assert result.colours == (1,)


def test_plain_lgan_needs_a_round_to_see_anything() -> None:
    result = wl.refine([nx.cycle_graph(5), nx.cycle_graph(6)], test="lgan")
    assert result.separating_round(0, 1) == 1
    assert (
        wl.refine([nx.cycle_graph(5), nx.cycle_graph(6)], test="lgan-res").separating_round(0, 1)
        == 0
    )


def test_rounds_can_be_limited() -> None:
    long, longer = nx.path_graph(11), nx.disjoint_union(nx.path_graph(8), nx.cycle_graph(3))
    full = wl.refine([long, longer], test="1-wl")
    assert full.separates(0, 1)
    first = full.separating_round(0, 1)
    assert first is not None
    assert not wl.refine([long, longer], test="1-wl", rounds=first - 1).separates(0, 1)
    assert wl.refine([long, longer], test="1-wl", rounds=first).separates(0, 1)


def test_classes_pairs_and_separations_agree() -> None:
    graphs = [named_graph(name) for name in ("hexagon", "two-triangles", "c6", "prism", "k33")]
    result = wl.refine(graphs, test="1-wl")
    assert result.classes.tolist() == [0, 0, 0, 1, 1]
    assert result.num_classes == 2
    assert result.unseparated_pairs == 4
    assert result.separating_round(0, 1) is None
    assert not result.separates(3, 4)


@pytest.mark.parametrize("include_input", [False, True])
def test_a_partition_that_comes_back_ends_the_refinement(include_input: bool) -> None:
    # The partitions 0011 and 0101 take turns; histories know both.
    swap = {(0, 0, 1, 1): [0, 1, 0, 1], (0, 1, 0, 1): [0, 0, 1, 1]}
    colouring = Colouring(
        np.array([0, 0, 1, 1]),
        lambda colour: np.array(swap[tuple(colour.tolist())]),
        np.array([0, 2, 4]),
        include_input=include_input,
    )
    result = run_refinement(colouring, "swap")
    assert result.colours == ((2, 4) if include_input else (1, 2, 4))
    assert result.separates(0, 1)


def test_too_large_a_task_is_refused_before_memory_runs_out() -> None:
    with pytest.raises(ValueError, match=r"'2-fwl' needs arrays of 1,000,000,000 entries"):
        wl.refine([nx.path_graph(1000)], test="2-fwl")
