import networkx as nx
import pytest

from lgan.data import load_raw
from lgan.experiment import UNLABELLED, ReadSource, settings_for, with_data_options


def graphs(label):
    made = [nx.erdos_renyi_graph(9, 0.5, seed=seed) for seed in range(12)]
    for graph in made:
        nx.set_node_attributes(graph, {node: str(label(graph, node)) for node in graph}, "label")
    return made


def options(model="lgan", label=lambda graph, node: graph.degree(node), **given):
    reading = {"node_features": ["label"], "targets": {"class": [0, 1] * 6}}
    settings = settings_for(model, "", **given)
    source = ReadSource.of_graphs(settings, load_raw(graphs(label), **reading), "binary")
    return with_data_options(settings, source.union).options, source.union.lines


@pytest.mark.parametrize("label", [lambda *_: "a", lambda graph, node: graph.degree(node)])
def test_pairs_carry_codes_where_nodes_tell_no_more_than_their_degree(label):
    chosen, lines = options(label=label)
    assert chosen.items() >= UNLABELLED.items()
    assert lines.pair_table.size(1) == 4


def test_pairs_carry_none_where_nodes_tell_more():
    chosen, lines = options(label=lambda graph, node: node % 3)
    assert (chosen["pair_code"], chosen["squash"], lines.pair_table) == ("none", False, None)


def test_what_is_given_stays_where_nodes_tell_no_more_than_their_degree():
    chosen, lines = options(pair_code="none")
    assert (chosen["pair_code"], chosen["squash"], lines.pair_table) == ("none", True, None)
    assert chosen["code_map"] == "linear"  # there is nothing for a spline to read
    assert options("lgan-code")[0]["code_map"] == "linear"
    assert options(recipe="paper")[0]["pair_code"] == "none"
    assert "pair_code" not in options("gin")[0]
