import json

import networkx as nx
import pytest

from labelled_graphs import named_pair
from lgan.wl import TESTS
from paper.expressivity import (
    NETWORKS,
    REFINEMENTS,
    Count,
    ExpressivityRecord,
    brec_grids,
    measure_network,
    measure_refinement,
    measure_trained,
)

PAIRS = {
    "basic": [named_pair("hexagon", "two-triangles"), named_pair("cube", "wagner")],
    "str": [named_pair("rook4x4", "shrikhande")],
}


def test_rows_name_known_tests():
    assert set(REFINEMENTS.values()) <= set(TESTS)
    assert set(NETWORKS) <= set(REFINEMENTS)


@pytest.mark.parametrize(
    ("row", "separated"),
    [
        ("lgan", {"basic": 1, "str": 0}),
        ("lgan-res + cycles", {"basic": 2, "str": 0}),
        ("lgan-res + full", {"basic": 2, "str": 1}),
    ],
)
def test_network_and_refinement_agree_on_named_pairs(row, separated):
    network, refinement = measure_network(row, PAIRS), measure_refinement(row, PAIRS)
    assert network.separated == refinement.separated == separated
    assert network.total == sum(separated.values())
    assert network.prepare > 0 < network.forward
    assert network.detail["largest control"] < 1e-12


@pytest.mark.parametrize(
    ("row", "separated"),
    [("lgan-res", {"basic": 1, "str": 0}), ("lgan-res + full", {"basic": 2, "str": 1})],
)
def test_trained_networks_separate_what_the_refinement_separates(row, separated):
    seen = []
    count = measure_trained(row, PAIRS, progress=seen.append)
    assert count.separated == separated
    assert count.kind == "trained"
    assert count.detail["unreliable"] == 0
    assert seen[-1] == 1


def test_isomorphic_graphs_are_never_told_apart():
    path = nx.path_graph(4)
    same = nx.relabel_nodes(path, {0: 2, 1: 0, 2: 3, 3: 1})
    assert measure_network("lgan-res + full", {"basic": [(path, same)]}).total == 0


def test_a_record_survives_json(tmp_path):
    record = ExpressivityRecord(
        [Count("lgan", "random", {"basic": 52}, 1.0, 0.5, 0.1, {"seed": 0})], {"device": "cpu"}
    )
    record.save(tmp_path / "brec.json")
    assert ExpressivityRecord.load(tmp_path / "brec.json") == record
    (tmp_path / "brec.json").write_text(json.dumps({"format": 3}))
    with pytest.raises(ValueError, match=r"format 1 in .*brec.json, got 3"):
        ExpressivityRecord.load(tmp_path / "brec.json")


def test_totals_stand_beside_the_published_ones():
    counts = [
        Count("lgan", "refinement", {"basic": 52, "regular": 48, "extension": 6}, 2.0),
        Count("lgan", "random", {"basic": 52, "regular": 48, "extension": 6}, 9.0, 3.0, 0.25),
        Count("mine", "trained", {"basic": 10}, 5.0),
    ]
    total, told, detailed = brec_grids(counts)
    assert total.rows == [
        ["lgan", "106", "106", "not run", "3.00 s", "0.25 s", "2.00 s"],
        ["mine", "not run", "not run", "10", "", "", ""],
    ]
    assert ["3-WL", "270"] in told.rows
    assert detailed.rows[0] == ["lgan", "refinement", "52", "48", "", "", "", "6", "", "106"]


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("row", "total"), [("lgan", 106), ("lgan-res + triangles", 159), ("lgan-res + full", 275)]
)
def test_lgan_with_random_weights_reaches_the_counts_of_its_refinement(brec_folder, row, total):
    from lgan.data.pairs import load_brec

    pairs = load_brec(brec_folder)
    assert measure_network(row, pairs).total == measure_refinement(row, pairs).total == total
