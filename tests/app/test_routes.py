"""What the page's server answers to honest questions."""

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import pandas as pd
import pytest

from lgan.app.answers import explained
from lgan.app.batches import Batch, Batches
from lgan.app.one_thread import OneThread
from lgan.predictor.prediction_cells import predicted_columns
from lgan.predictor.prediction_rows import PredictionRows
from small_estimators import NUMBERS, SMILES, regressor

NITROBENZENE = "c1ccccc1[N+](=O)[O-]"


def ask(client, path, body, status=200):
    answer = client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def events(text):
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def predicted_file(client, content, kind):
    """Drop a file and wait for its end."""
    answer = client.post(f"/api/batches?format={kind}", content=content)
    assert answer.status_code == 202, answer.text
    told = events(client.get(f"/api/batches/{answer.json()['id']}/events").text)
    return told[-1]


def test_the_end_of_a_file_is_told_where_it_comes_while_its_state_is(client, monkeypatch, tmp_path):
    class Ending(Batch):
        def to_json(self):
            told, self.state = super().to_json(), "done"
            return told

    batch = Ending("x", tmp_path, 0, [], state="running")
    monkeypatch.setattr(Batches, "find", lambda *_: batch)
    told = events(client.get("/api/batches/x/events").text)
    assert [each["state"] for each in told] == ["running", "done"]


def test_rows_are_those_of_lgan_predict(client, predictor):
    smiles = ["c1ccccc1", "not a molecule", "CCO"]
    found = ask(client, "/api/predict", {"smiles": smiles})["rows"]
    assert found == list(PredictionRows.of(predictor, smiles).rows)
    assert list(found[0]) == ["smiles", *predicted_columns(predictor.task)]
    assert found[1]["error"]
    assert [row["seen"] for row in found] == ["yes", "", "yes"]


def test_details_say_what_stands_behind_a_prediction(client, predictor):
    answer = ask(client, "/api/predict", {"smiles": ["c1ccccc1", "xx"], "details": True})
    [first, bad] = answer["details"]
    assert bad is None
    assert len(first["members"]["yes"]) == 5
    mean = sum(first["members"]["yes"]) / 5
    assert answer["rows"][0]["nitro_probability_yes"] == pytest.approx(mean, abs=1e-6)
    assert set(first["possible"]) <= {"no", "yes"}
    nearest = first["nearest"]
    assert [nearest[0]["smiles"], nearest[0]["similarity"]] == ["c1ccccc1", 1.0]
    assert nearest[0]["labels"] == {"nitro": "no"}
    assert first["unlike"] is False
    assert first["unseen"] == ""


def test_details_say_what_the_model_was_not_trained_on(client):
    answer = ask(client, "/api/predict", {"smiles": ["c1ccccc1[Si]"], "details": True})
    words = answer["details"][0]["unseen"]
    assert words.startswith("values the model was not trained on: ")
    assert "Si (1)" in words


def test_numbers_come_with_their_interval(number_client, number_predictor):
    [details] = ask(number_client, "/api/predict", {"smiles": ["CCO"], "details": True})["details"]
    ends = number_predictor.predict_interval(["CCO"])[0].tolist()
    assert details["interval"]["size"] == pytest.approx(ends)


def test_an_explanation_has_the_form_that_was_agreed_on(client, predictor, limits):
    found = ask(client, "/api/explain", {"smiles": NITROBENZENE, "class": "no"})
    assert found["class"] == "no"
    assert len(found["atoms"]) == 9
    assert len(found["bonds"]) == 9
    assert found["svg"].startswith("<svg")
    raw = predictor.read([NITROBENZENE])
    assert found["bonds"] == explained(predictor, raw, limits, target="no")["bonds"]
    assert {"for no", "for yes"} == {found["red"], found["blue"]}


def test_of_two_classes_the_second_is_explained_unless_asked(client):
    assert ask(client, "/api/explain", {"smiles": "CCO"})["class"] == "yes"


def test_a_picture_can_show_numbers_and_a_given_scale(client):
    plain, numbers = (
        ask(client, "/api/explain", {"smiles": NITROBENZENE, "numbers": n}) for n in (False, True)
    )
    assert plain["bonds"] == numbers["bonds"]
    assert "class='note'" not in plain["svg"]
    assert "class='note'" in numbers["svg"]
    wide = ask(client, "/api/explain", {"smiles": NITROBENZENE, "limit": 100})
    assert wide["limit"] == 100


@pytest.mark.parametrize(
    ("change", "smiles"),
    [({"remove": [1, 2]}, "CC.O"), ({"remove": [2, 1]}, "CC.O"),
     ({"atom": 2, "element": "N"}, "CCN")],
)  # fmt: skip
def test_what_if_tells_the_change_of_what_is_explained(client, change, smiles):
    found = ask(client, "/api/what-if", {"smiles": "CCO", "class": "yes", **change})
    assert found["smiles"] == smiles
    before, after = (
        ask(client, "/api/explain", {"smiles": s, "class": "yes"})["output"]
        for s in ("CCO", smiles)
    )
    assert found["change"] == pytest.approx(after - before, abs=1e-5)
    assert found["row"] == ask(client, "/api/predict", {"smiles": [smiles]})["rows"][0]


def test_an_aromatic_bond_can_be_taken_away(client):
    assert ask(client, "/api/what-if", {"smiles": "c1ccccc1", "remove": [0, 1]})["smiles"]


@pytest.mark.parametrize(
    "change", [{}, {"remove": [0, 2]}, {"remove": [0]}, {"atom": 9, "element": "N"},
               {"atom": 0, "element": "Zz"}, {"atom": 0}, {"remove": [0, 1.5]}],
)  # fmt: skip
def test_a_change_that_cannot_be_is_refused(client, change):
    assert ask(client, "/api/what-if", {"smiles": "CCO", **change}, 422)["error"]


def test_pictures_are_null_where_nothing_can_be_drawn(client):
    found = ask(client, "/api/pictures", {"smiles": ["CCO", "xx"]})["svgs"]
    assert "<svg" in found[0]
    assert found[1] is None


def test_the_model_tells_what_training_found(client, predictor):
    found = client.get("/api/model").json()
    assert found["classes"] == ["no", "yes"]
    assert found["members"] == 5
    assert found["graphs"] == 16
    assert sum(map(sum, found["confusion"])) == found["held_out"] == 16
    assert sum(found["calibration"]["count"]) == 16
    assert all(one["smiles"] and one["is"] in ("no", "yes") for one in found["mistakes"])
    assert "training" in found["made"]


def test_the_model_of_numbers_has_a_scatter_plot(number_client):
    found = number_client.get("/api/model").json()
    assert len(found["scatter"]["size"]) == 16
    assert found["mistakes"][0]["target"] == "size"


def test_mistakes_where_all_were_held_out_have_their_number(number_client, molecules):
    for one in number_client.get("/api/model").json()["mistakes"]:
        assert one["is"] == str(len(molecules[one["graph"] - 1]))


def test_a_csv_comes_back_with_the_columns_of_lgan_predict(client, predictor, tmp_path):
    text = "name,smiles\n=1+1,CCO\nbad,not a molecule\nlast,c1ccccc1\n"
    told = predicted_file(client, text.encode(), "csv")
    assert (told["state"], told["done"], told["total"]) == ("done", 3, 3)
    rows = client.get(f"/api/batches/{told['id']}/rows").json()["rows"]
    path = tmp_path / "same.csv"
    path.write_text(text)
    same = PredictionRows.of(predictor, path)
    assert rows == list(same.rows)
    assert told["columns"] == same.columns
    saved = list(
        csv.DictReader(io.StringIO(client.get(f"/api/batches/{told['id']}/table.csv").text))
    )
    assert list(saved[0]) == same.columns
    assert [row["name"] for row in saved] == ["'=1+1", "bad", "last"]
    assert saved[1]["error"]
    assert saved[2]["nitro_predicted"] == rows[2]["nitro_predicted"]


def test_the_report_of_a_file_needs_nothing_else_and_has_no_markup_from_it(client):
    text = "smiles,name\nCCO,<script>alert(1)</script>\nxx,\n"
    told = predicted_file(client, text.encode(), "csv")
    answer = client.get(f"/api/batches/{told['id']}/report.html")
    assert "attachment" in answer.headers["content-disposition"]
    assert "<script" not in answer.text
    assert "&lt;script&gt;" in answer.text
    assert answer.text.count("data:image/svg+xml") == 1
    assert "http://" not in answer.text.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("kind", "content"),
    [("smi", "CCO one\nc1ccccc1 two\n"), ("tsv", "smiles\tname\nCCO\tone\nCC\ttwo\n")],
)
def test_other_tables_are_read_too(client, kind, content):
    assert predicted_file(client, content.encode(), kind)["done"] == 2


def test_molecules_of_an_sdf_are_predicted_and_drawn(client):
    chem = pytest.importorskip("rdkit.Chem")
    blocks = [chem.MolToMolBlock(chem.MolFromSmiles(smiles)) for smiles in ("CCO", "c1ccccc1")]
    text = "".join(f"{block}> <name>\nthis\n\n$$$$\n" for block in blocks)
    told = predicted_file(client, text.encode(), "sdf")
    rows = client.get(f"/api/batches/{told['id']}/rows").json()["rows"]
    assert [row["seen"] for row in rows] == ["yes", "yes"]
    assert "V2000" in rows[0][told["structures"]]
    report = client.get(f"/api/batches/{told['id']}/report.html").text
    assert report.count("data:image/svg+xml") == 2
    assert "V2000" not in report


def test_a_file_can_be_cancelled_and_keeps_what_is_there(client, predictor):
    text = "smiles\n" + "CCO\n" * 190
    ids = [
        client.post("/api/batches?format=csv", content=text.encode()).json()["id"] for _ in range(2)
    ]
    told = client.delete(f"/api/batches/{ids[1]}").json()
    assert told["state"] in ("cancelled", "running", "done")
    last = events(client.get(f"/api/batches/{ids[1]}/events").text)[-1]
    assert last["state"] in ("cancelled", "done")
    assert events(client.get(f"/api/batches/{ids[0]}/events").text)[-1]["done"] == 190


def test_a_file_that_begins_while_it_is_cancelled_is_left_to_who_works_on_it(
    predictor, limits, tmp_path
):
    batch = Batch("x", tmp_path / "mine.csv", 0, [])
    batch.path.touch()
    batches = Batches(predictor, OneThread(limits), limits)
    with ThreadPoolExecutor(1) as pool, batches._lock:
        pool.submit(batches.cancel, batch)
        assert batch.stop.wait(5)
        batch.state = "running"
    assert (batch.state, batch.path.exists()) == ("running", True)


def test_graphs_are_asked_about_as_networks(graph_client, graph_predictor):
    graphs = graph_client.get("/api/examples").json()["graphs"]
    assert len(graphs) == 12
    [row] = ask(graph_client, "/api/predict", {"graphs": graphs[:1]})["rows"]
    read = graph_predictor.read([nx.node_link_graph(graphs[0], edges="edges")])
    assert row["class_predicted"] in graph_predictor.task.classes
    assert list(row.values())[3] == pytest.approx(
        float(graph_predictor.answers(read)[0, 1]), abs=1e-6
    )
    found = ask(graph_client, "/api/explain", {"graph": graphs[0]})
    assert len(found["atoms"]) == len(graphs[0]["nodes"])
    assert "<svg" in found["svg"]
    u, v, _ = found["bonds"][0]
    other = ask(graph_client, "/api/what-if", {"graph": graphs[0], "remove": [u, v]})
    graph = nx.node_link_graph(graphs[0], edges="edges")
    graph.remove_edge(u, v)
    [same] = ask(
        graph_client, "/api/predict", {"graphs": [nx.node_link_data(graph, edges="edges")]}
    )["rows"]
    assert other["row"] == same


def test_a_file_of_graphs_is_predicted_graph_by_graph(graph_client):
    graphs = graph_client.get("/api/examples").json()["graphs"]
    lines = "\n".join(map(json.dumps, graphs)).encode()
    told = predicted_file(graph_client, lines, "jsonl")
    assert told["done"] == 12
    rows = graph_client.get(f"/api/batches/{told['id']}/rows").json()["rows"]
    assert [row["graph"] for row in rows] == list(range(12))
    assert rows == [
        {**row, "graph": i}
        for i, row in enumerate(ask(graph_client, "/api/predict", {"graphs": graphs})["rows"])
    ]
    assert (
        graph_client.get(f"/api/batches/{told['id']}/graphs/3").json()["nodes"]
        == graphs[3]["nodes"]
    )
    assert graph_client.get(f"/api/batches/{told['id']}/graphs/12").status_code == 404
    told = predicted_file(graph_client, json.dumps(graphs[0]).encode(), "jsonl")
    assert "data:image/svg+xml" in graph_client.get(f"/api/batches/{told['id']}/report.html").text


def test_every_route_is_described(client):
    described = client.get("/api/openapi.json").json()["paths"]
    asked = {
        (route.path.replace("{row:int}", "{row}"), method.lower())
        for route in client.app.routes
        for method in route.methods - {"HEAD"}
        if route.path.startswith("/api/")
    }
    assert asked == {
        (path, m) for path, ways in described.items() for m in ways if m != "parameters"
    }


def test_the_page_and_its_files_are_there(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for name in ("main.js", "page.css", "vendor/openchemlib.js", "vendor/openchemlib.LICENSE.txt"):
        assert client.get(f"/static/{name}").status_code == 200
    tag = page.headers["etag"]
    assert client.get("/", headers={"If-None-Match": tag}).status_code == 304


def test_a_model_that_reads_a_column_takes_it_from_a_table_alone(make_client, limits):
    table = {"smiles": SMILES, "pH": [7.0, None, 3.0, 1.0] * 4}
    fitted = regressor(graph_features="pH", epochs=1).fit(pd.DataFrame(table), NUMBERS)
    client = make_client(fitted.predictor_, limits)
    refused = ask(client, "/api/predict", {"smiles": ["CCO"]}, status=422)["error"]
    assert "reads the column 'pH' of a table, which the page cannot give" in refused
    assert "use `lgan predict`" in refused
    told = predicted_file(client, b"smiles,pH\nCCO,7\nCCN,\n", "csv")
    assert (told["state"], told["done"]) == ("done", 2)
    told = predicted_file(client, b"smiles\nCCO\n", "csv")
    assert told["state"] == "failed"
    assert told["error"] == (
        "The file lacks the column 'pH', which the model reads. Give a table that has it."
    )
