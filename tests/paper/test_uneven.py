import json

import networkx as nx
import numpy as np
import pytest

from lgan.data import load
from lgan.experiment import UNEVEN_FROM
from paper import uneven


@pytest.mark.parametrize("name", uneven.SETS)
def test_sets_are_uneven_and_drawn_by_their_seed(name):
    graphs, y = uneven.graphs_of(name, 0)
    again, same = uneven.graphs_of(name, 0)
    assert len(graphs) == len(y) == uneven.NUMBER
    assert all(nx.utils.graphs_equal(*pair) for pair in zip(graphs, again, strict=True))
    assert np.array_equal(y, same)
    assert y.std() > 0
    assert load(graphs).unevenness >= UNEVEN_FROM


def test_pairs_of_near_points_are_those_within_the_distance():
    graph = uneven._near(np.array([[0, 0], [0, 1], [3, 0]]), 1.5)
    assert [*graph.edges] == [(0, 1)]


def test_a_run_measures_what_is_not_in_the_record_yet(monkeypatch, tmp_path):
    monkeypatch.setattr(uneven, "NAMES", ("even shares",))
    monkeypatch.setattr(uneven, "NUMBER", 12)
    monkeypatch.setattr(uneven, "SEEDS", (0,))
    monkeypatch.setattr(uneven, "EPOCHS", 1)
    uneven.run(tmp_path / "uneven.jsonl")
    lines = (tmp_path / "uneven.jsonl").read_text()
    assert [json.loads(line)["choice"] for line in lines.splitlines()] == [*uneven.CHOICES]
    uneven.run(tmp_path / "uneven.jsonl")
    assert (tmp_path / "uneven.jsonl").read_text() == lines
