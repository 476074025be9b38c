import gzip
import json
from pathlib import Path

import networkx as nx
import pytest

from lgan.data import load_raw
from lgan.data.readers.graph_files import read_graph_file


def _graphs() -> list[nx.Graph]:
    graphs = [nx.cycle_graph(3), nx.path_graph(3)]
    for graph, target in zip(graphs, ("ring", "chain"), strict=True):
        nx.set_node_attributes(graph, {0: "a", 1: "b", 2: "a"}, "kind")
        nx.set_edge_attributes(graph, 0.5, "length")
        graph.graph["target"] = target
    return graphs


def _line(graph: nx.Graph) -> str:
    return json.dumps(nx.node_link_data(graph, edges="edges")) + "\n"


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".jsonl.gz"])
def test_json_lines_hold_a_graph_each(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"graphs{suffix}"
    text = "".join(map(_line, _graphs())).encode() + b"\n"
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    raw = load_raw(path)
    assert raw.node_ptr.tolist() == [0, 3, 6]
    assert raw.num_pairs == 5
    assert raw.nodes.vocabularies == (("a", "b"),)
    assert raw.pairs.number_names == ("length",)
    assert raw.targets == {"target": ["ring", "chain"]}


def test_graphml_holds_graphs_with_their_attributes(tmp_path: Path) -> None:
    path = tmp_path / "ring.graphml"
    nx.write_graphml(_graphs()[0], path)
    raw = load_raw(str(path))
    assert (raw.num_graphs, raw.num_pairs) == (1, 3)
    assert raw.nodes.vocabularies == (("a", "b"),)
    assert raw.targets == {"target": ["ring"]}
    nx.write_graphml(nx.DiGraph([(0, 1)]), path)
    with pytest.raises(ValueError, match=r"directed.*symmetrise"):
        load_raw(path)
    assert load_raw(path, symmetrise=True).num_pairs == 1


def test_several_edges_in_one_graph_of_graphml_make_no_others_multigraphs(tmp_path: Path) -> None:
    graph = "".join(nx.generate_graphml(nx.path_graph(3)))
    head, one = graph.split("<graph ", 1)
    one, end = one.split("</graph>")
    twice = one + '<edge source="0" target="1"/>'
    path = tmp_path / "five.graphml"
    path.write_text(
        head + "".join(f"<graph {g}</graph>" for g in (one, twice, one, one, one)) + end
    )
    assert [g.is_multigraph() for g in read_graph_file(path)] == [False, True, False, False, False]
    assert [row for row, _ in load_raw(path).errors] == [1]


def test_names_of_edges_in_graphml_are_no_features(tmp_path: Path) -> None:
    path = tmp_path / "ring.graphml"
    text = "".join(nx.generate_graphml(_graphs()[0]))
    for number in range(3):
        text = text.replace("<edge source", f'<edge id="e{number}" source', 1)
    path.write_text(text)
    raw = load_raw(path)
    assert (raw.num_pairs, raw.pairs.names, raw.pairs.number_names) == (3, (), ("length",))


BAD_LINES = {
    "a number of too many digits": (f'{{"a": 1{"0" * 5000}}}', "line 2: expected one JSON object"),
    "half of a letter": (
        '{"nodes": [], "edges": [], "graph": {"a": "\\ud83d"}}',
        "line 2: .*surrog",
    ),
    "no JSON": ("{", "line 2: expected one JSON object"),
    "a number": ("3", "line 2: expected an object with the lists `nodes` and `edges`, got a int"),
    "nodes of text": (
        json.dumps({"nodes": "ab", "edges": []}),
        "line 2: expected an object with the lists .*, got 'edges': list, 'nodes': str",
    ),
    "edges by name": (
        json.dumps({"nodes": [], "edges": {}}),
        "line 2: expected an object with the lists `nodes` and `edges`, got 'edges': dict",
    ),
    "no nodes": ('{"edges": []}', "line 2: .*got 'edges': list"),
    "a node without a name": ('{"nodes": [{}], "edges": []}', "line 2: expected a node-link graph"),
    "edges of text": ('{"nodes": [], "edges": "ab"}', "line 2: .*'edges': str, 'nodes': list"),
    "an edge to nowhere": (
        '{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 7}]}',
        "line 2: .*got the node 7",
    ),
    "a node twice": ('{"nodes": [{"id": 1}, {"id": 1.0}], "edges": []}', "got 2 with 1 different"),
    "attributes in a list": (
        '{"nodes": [], "edges": [], "graph": [["target", 1]]}',
        "line 2: expected an object of attributes under `graph`, got list",
    ),
    "deep nesting": ("[" * 100_000, "line 2: expected one JSON object"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_lines_are_refused_by_number(tmp_path: Path, case: str) -> None:
    line, message = BAD_LINES[case]
    path = tmp_path / "graphs.jsonl"
    path.write_text(_line(nx.path_graph(2)) + line)
    with pytest.raises(ValueError, match=message):
        read_graph_file(path)


def test_nodes_may_be_called_by_several_values(tmp_path: Path) -> None:
    path = tmp_path / "grid.jsonl"
    path.write_text(_line(nx.grid_2d_graph(2, 3)))
    [grid] = read_graph_file(path)
    assert nx.utils.graphs_equal(grid, nx.grid_2d_graph(2, 3))


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml/>'
BOMB_16 = BOMB.replace('"1.0"', '"1.0" encoding="utf-16"').encode("utf-16")
STRANGER = "".join(nx.generate_graphml(nx.path_graph(3))).replace('target="2"', 'target="99"')


# A second graph whose edge ends at a node of the first.
BESIDE = STRANGER.replace('target="99"', 'target="2"').replace(
    "</graphml>", '<graph><node id="5"/><edge source="5" target="0"/></graph></graphml>'
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must hold graphs in GraphML"),
        ("<graphml>", "must hold graphs in GraphML"),
        (STRANGER, "edges must join nodes that are listed, and '99' is not"),
        (BESIDE, "edges must join nodes that are listed, and '0' is not"),
        (BOMB_16, "must define no entities"),
        ("not xml", "must hold graphs in GraphML"),
        ("<graphml/>", "at least one graph"),
        (BOMB, "define no entities"),
    ],
)
def test_bad_graphml_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = tmp_path / "x.graphml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_graph_file(path)


def test_a_line_without_the_word_multigraph_is_a_simple_graph(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    nodes, edge = '"nodes": [{"id": 0}, {"id": 1}]', '{"source": 0, "target": 1}'
    path.write_text(f'{{{nodes}, "edges": [{edge}]}}')
    assert load_raw(path).num_pairs == 1
    path.write_text(f'{{{nodes}, "edges": [{edge}, {edge}]}}')
    with pytest.raises(ValueError, match="expected every edge once, got 2 that join 1 pairs"):
        load_raw(path)


def test_missing_and_empty_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x.jsonl, got no such file"):
        load_raw(tmp_path / "x.jsonl")
    (tmp_path / "x.jsonl").touch()
    with pytest.raises(ValueError, match="at least one graph"):
        load_raw(tmp_path / "x.jsonl")
    (tmp_path / "x.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"jsonl.gz must hold text"):
        load_raw(tmp_path / "x.jsonl.gz")
