import networkx as nx
import pytest

import lgan
from labelled_graphs import named_pair
from paper.reliability import OUT_CHANNELS, ProtocolConfig, Verdict, trained_verdicts

HEXAGON = named_pair("hexagon", "two-triangles")
SQUARES = named_pair("c8", "two-c4")
ROOK = named_pair("rook4x4", "shrikhande")


def _verdicts(pairs, level="none", **config):
    def build():
        return lgan.LGAN(1, 16, OUT_CHANNELS, num_layers=3, residual=True, pair_code=level)

    return list(trained_verdicts(build, pairs, pair_code=level, config=ProtocolConfig(**config)))


def test_a_trained_network_separates_what_its_refinement_separates_and_no_more():
    separated = [verdict.separated for verdict in _verdicts([HEXAGON, SQUARES, ROOK])]
    assert separated == [True, False, False]


def test_codes_separate_more():
    assert [verdict.separated for verdict in _verdicts([SQUARES, ROOK], "full")] == [True, True]


def test_a_graph_is_not_separated_from_itself():
    same = nx.petersen_graph()
    [verdict] = _verdicts([(same, same)], "full")
    assert not verdict.separated
    assert verdict.reliable


def test_the_same_seed_gives_the_same_verdict():
    assert _verdicts([HEXAGON], seed=3) == _verdicts([HEXAGON], seed=3)


@pytest.mark.parametrize(
    ("statistic", "control", "separated"),
    [(1e9, 1.0, True), (1e9, 100.0, False), (5.0, 1.0, False)],
)
def test_a_separation_counts_only_where_the_control_holds(statistic, control, separated):
    assert Verdict(statistic, control).separated is separated
