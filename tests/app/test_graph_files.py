"""Files of graphs that are dropped on the page: archives, compressed files, and bad ones."""

import gzip
import json

import networkx as nx
import pytest

from lgan.app.subjects import node_link, read_graphs
from lgan.data.readers.networkx_graphs import from_networkx
from lgan.predictor.prediction_rows import PredictionRows
from tu_archive import tu_archive

HOUSE = nx.house_graph()
GRAPHS = [HOUSE, nx.cycle_graph(6), nx.complete_graph(4)]
for each in GRAPHS:
    nx.set_node_attributes(each, "0", "label")


def archive(folder="SET", **other):
    return tu_archive(GRAPHS, folder, **other)


def lines(graphs=GRAPHS):
    return "\n".join(json.dumps(nx.node_link_data(each, edges="edges")) for each in graphs).encode()


def drop(client, content, kind):
    return client.post(f"/api/batches?format={kind}", content=content)


def rows_of(client, content, kind):
    answer = drop(client, content, kind)
    assert answer.status_code == 202, answer.text
    place = f"/api/batches/{answer.json()['id']}"
    assert '"state": "done"' in client.get(f"{place}/events").text
    return place, client.get(f"{place}/rows").json()["rows"]


def test_an_archive_is_predicted_as_lgan_predict_does(graph_client, graph_predictor, tmp_path):
    (tmp_path / "SET.zip").write_bytes(archive())
    place, rows = rows_of(graph_client, archive(), "zip")
    same = PredictionRows.of(graph_predictor, tmp_path / "SET.zip")
    assert rows == list(same.rows)
    assert rows[0]["class"] == 0
    assert same.no_score, "the labels are none of the model's classes"
    header = graph_client.get(f"{place}/table.csv").text.splitlines()[0]
    assert header.split(",") == same.columns
    assert graph_client.get(f"{place}/report.html").text.count("data:image/svg+xml") == 3


def test_a_graph_of_an_archive_is_asked_about_alone(graph_client):
    place, rows = rows_of(graph_client, archive(), "zip")
    graph = graph_client.get(f"{place}/graphs/0").json()
    assert nx.utils.edges_equal(nx.node_link_graph(graph, edges="edges").edges, HOUSE.edges)
    [row] = graph_client.post("/api/predict", json={"graphs": [graph]}).json()["rows"]
    assert row | {"class": 0} == rows[0]
    assert graph_client.get(f"{place}/graphs/3").status_code == 404


@pytest.mark.parametrize("kind", ["jsonl", "ndjson", "jsonl.gz", "graphml", "graphml.gz"])
def test_other_files_of_graphs_give_the_same(graph_client, kind):
    content = lines()
    if kind.startswith("graphml"):
        content = "\n".join(nx.generate_graphml(GRAPHS[0])).encode()
    if kind.endswith(".gz"):
        content = gzip.compress(content)
    rows = rows_of(graph_client, content, kind)[1]
    assert len(rows) == (1 if kind.startswith("graphml") else 3)
    archived = rows_of(graph_client, archive(), "zip")[1][: len(rows)]
    assert rows == [{k: v for k, v in row.items() if k != "class"} for row in archived]


def test_a_graph_that_cannot_be_read_keeps_its_row(graph_client):
    expected = rows_of(graph_client, lines(), "jsonl")[1]
    bad = nx.Graph(GRAPHS[1])
    nx.set_node_attributes(bad, [[1]], "label")
    place, rows = rows_of(graph_client, lines([GRAPHS[0], bad, GRAPHS[2]]), "jsonl")
    assert [rows[0], rows[2]] == [expected[0], expected[2]]
    assert "must be text, a number" in rows[1]["error"]
    assert "must be text" in graph_client.get(f"{place}/graphs/1").json()["error"]
    assert graph_client.get(f"{place}/graphs/2").status_code == 200
    assert graph_client.get(f"{place}/report.html").text.count("data:image/svg+xml") == 2


def test_a_truth_that_the_file_holds_stands_beside_the_prediction(graph_client):
    known = [nx.Graph(graph, **{"class": "hexagons"}) for graph in GRAPHS]
    rows = rows_of(graph_client, lines(known), "jsonl")[1]
    assert [row["class"] for row in rows] == ["hexagons"] * 3


@pytest.mark.parametrize(
    ("content", "kind", "status", "words"),
    [
        (archive("../up"), "zip", 422, "The file is unsafe"),
        (archive()[:-40], "zip", 422, "The file is damaged"),
        (b"PK", "zip", 422, "The file is damaged"),
        (archive(**{"SET_A.txt": "1, 99\n"}), "zip", 422, "SET_A.txt in the file, line 1"),
        (archive(**{"SET_A.txt": "\n" * 60_000}), "zip", 413, "when unpacked"),
        (gzip.compress(b" " * 60_000), "jsonl.gz", 413, "when unpacked"),
        (gzip.compress(lines())[:-9], "jsonl.gz", 422, "compressed by gzip"),
        (b"no gzip", "graphml.gz", 422, "compressed by gzip"),
        (b'{"nodes": [{"id": 0, "x": [[1]]}], "edges": [{}]}', "jsonl", 422, "a node-link graph"),
        (b"smiles\nCCO\n", "csv", 422, "This model reads files in jsonl"),
        (archive(), "zip.gz", 422, "This model reads files in jsonl"),
    ],
)
def test_a_bad_file_is_refused_in_words_and_not_kept(graph_client, content, kind, status, words):
    answer = drop(graph_client, content, kind)
    assert answer.status_code == status
    assert words in answer.json()["error"]
    assert "lgan-app-" not in answer.text


def test_molecules_are_not_read_from_archives(client):
    answer = drop(client, archive(), "zip")
    assert answer.status_code == 422
    assert "csv" in answer.json()["error"]


def test_a_compressed_table_of_molecules_is_read(client):
    answer = drop(client, gzip.compress(b"smiles\nCCO\nxx\n"), "csv.gz")
    assert answer.json()["total"] == 2


def test_the_page_offers_what_the_server_takes(client, graph_client):
    assert "zip" in graph_client.get("/api/model").json()["formats"]
    assert "zip" not in client.get("/api/model").json()["formats"]


@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_as_json_reads_as_the_same(graph_predictor, limits, directed):
    graph = nx.DiGraph([(0, 1), (2, 1), (2, 3), (3, 2)]) if directed else nx.house_graph()
    for node in graph:
        graph.nodes[node].update(kind="ab"[node % 2], weight=node / 2)
    for edge in graph.edges:
        graph.edges[edge]["bond"] = "single"
    raw = from_networkx([graph], directed=directed)
    plain = json.loads(json.dumps(node_link(raw)))
    again = from_networkx([nx.node_link_graph(plain, edges="edges")], directed=directed)
    assert again.content_sha256() == raw.content_sha256()
    assert directed == (again.direction is not None)
    if directed:
        assert again.direction.tolist() == raw.direction.tolist() == [1, -1, 0]
    else:
        assert read_graphs(graph_predictor, [plain], limits).only.num_pairs == raw.num_pairs
