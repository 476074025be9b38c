import json

import networkx as nx
import pytest

from lgan.data import load_raw
from lgan.experiment import (
    LARGER_FROM,
    UNLABELLED,
    Reading,
    ReadSource,
    settings_for,
    source,
    with_data_options,
)


def graphs(label):
    made = [nx.erdos_renyi_graph(9, 0.5, seed=seed) for seed in range(12)]
    for graph in made:
        nx.set_node_attributes(graph, {node: str(label(graph, node)) for node in graph}, "label")
    return made


def options(model="lgan", label=lambda graph, node: graph.degree(node), **given):
    reading = {"node_features": ["label"], "targets": {"class": [0, 1] * 6}}
    settings = settings_for(model, "", **given)
    read = ReadSource.of_graphs(settings, load_raw(graphs(label), **reading), "binary")
    return with_data_options(settings, read.union).options, read.union.lines


@pytest.mark.parametrize("label", [lambda *_: "a", lambda graph, node: graph.degree(node)])
def test_pairs_carry_codes_where_nodes_tell_no_more_than_their_degree(label):
    chosen, lines = options(label=label)
    assert chosen.items() >= UNLABELLED.items()
    assert lines.pair_table.size(1) == 4


def test_pairs_carry_none_where_nodes_tell_more():
    chosen, lines = options(label=lambda graph, node: node % 3)
    assert (chosen["pair_code"], chosen["squash"], lines.pair_table) == ("none", False, None)


def test_sums_are_squashed_where_a_few_nodes_have_far_more_edges():
    def chosen(shape, model="lgan", **given):
        made = [shape(30 + size) for size in range(12)]
        for graph in made:
            nx.set_node_attributes(graph, {node: str(node % 3) for node in graph}, "label")
        raw = load_raw(made, node_features=["label"], targets={"class": [0, 1] * 6})
        settings = settings_for(model, "", **given)
        union = ReadSource.of_graphs(settings, raw, "binary").union
        return with_data_options(settings, union).options.get("squash")

    assert [chosen(nx.star_graph), chosen(nx.cycle_graph)] == [True, False]
    assert chosen(nx.star_graph, squash=False) is False
    assert chosen(nx.star_graph, recipe="paper") is False
    assert chosen(nx.star_graph, "gin") is None


def test_what_is_given_stays_where_nodes_tell_no_more_than_their_degree():
    chosen, lines = options(pair_code="none")
    assert (chosen["pair_code"], chosen["squash"], lines.pair_table) == ("none", True, None)
    assert chosen["code_map"] == "linear"  # there is nothing for a spline to read
    assert options("lgan-code")[0]["code_map"] == "linear"
    assert options(recipe="paper")[0]["pair_code"] == "none"
    assert "pair_code" not in options("gin")[0]


def test_two_maps_stand_behind_the_read_out_where_graphs_are_many():
    settings = settings_for("lgan", "")
    reading = {"node_features": ["label"], "targets": {"class": [0, 1] * 6}}
    source = {
        name: ReadSource.of_graphs(settings, load_raw(graphs(label), **reading), "binary").union
        for name, label in {"many": lambda _, node: node % 3, "degree": lambda *_: "a"}.items()
    }

    def maps(name, number, settings=settings):
        chosen = with_data_options(settings, source[name], graphs=number)
        assert with_data_options(chosen, source[name]).options == chosen.options  # decided once
        return chosen.options["head_layers"]

    assert [maps("many", n) for n in (None, LARGER_FROM - 1, LARGER_FROM)] == [1, 1, 2]
    assert maps("degree", LARGER_FROM) == 1
    assert maps("many", LARGER_FROM, settings_for("gin", "")) == 2
    assert maps("many", LARGER_FROM, settings_for("lgan", "", head_layers=1)) == 1
    assert maps("many", LARGER_FROM, settings_for("lgan", "", recipe="paper")) == 1


def test_the_source_decides_what_is_told_of_whole_graphs():
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    molecules = load_raw(["CCO", "CCN", "c1ccccc1", "CC(=O)O"] * 3, targets={"y": [0, 1] * 6})

    def read(raw=molecules, **given):
        settings = settings_for("lgan", "", **given)
        found = ReadSource.of_graphs(settings, raw, "binary").union
        chosen = with_data_options(settings, found)
        assert with_data_options(chosen, found) == chosen  # decided once
        return chosen.about().get("graph_features"), chosen.options["graph_dropout"], found

    assert read()[:2] == ("morgan,rdkit2d", 0.5)
    assert read(graph_dropout=0.2)[:2] == ("morgan,rdkit2d", 0.2)
    assert read()[2].num_graph_features == 1241
    assert read(graph_features="none")[:2] == (None, 0.0)
    reading = {"node_features": ["label"], "targets": {"class": [0, 1] * 6}}
    others = load_raw(graphs(lambda _, node: node % 3), **reading)
    assert read(others)[:2] == ("patterns,shape", 0.5)
    assert read(load_raw("triangles"))[:2] == (None, 0.0)


def test_windows_of_shards_take_a_share_of_a_gpu(monkeypatch):
    free = {"cuda": 64 << 30, "cpu": 24 << 30}
    monkeypatch.setattr(source, "free_memory", lambda device: free[device.type])
    assert source._window_bytes("cpu") == source.WINDOW_BYTES
    assert source._window_bytes("cuda") == 6 << 30  # of the smaller memory
    free["cuda"] = 1 << 30
    assert source._window_bytes("cuda") == source.WINDOW_BYTES


def test_a_flaw_in_what_is_not_read_costs_no_row(tmp_path):
    lines = []
    for graph in range(8):
        plain = nx.node_link_data(nx.cycle_graph(4), edges="edges")
        plain["graph"]["class"] = graph % 2
        plain["edges"][0]["length"] = None if graph else "long"
        plain["nodes"][0]["charge"] = None if graph else "high"
        lines.append(json.dumps(plain))
    path = tmp_path / "graphs.jsonl"
    path.write_text("\n".join(lines))
    reading = Reading(targets=("class",), root=tmp_path)
    chosen = {"edge_features": "none", "features": "degree"}
    read = ReadSource.of(settings_for("lgan", "", **chosen), str(path), reading)
    assert read.raw.num_graphs == 8
    assert not read.raw.errors
