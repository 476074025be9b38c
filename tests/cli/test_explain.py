import csv
import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from lgan.data import Encoder, RawGraphs, load_raw
from lgan.explain.molecule import graphs_from_smiles
from lgan.nn import LGAN
from lgan.predictor import load_model
from lgan.train.checkpoint import Checkpoint

SUMS = ["--method", "integrated-gradients"]  # whose scores add up
SMALL = ["--hidden", 8, "--layers", 2, "--batch-size", 64, "--epochs", 2]


def _store(path: Path, raw: RawGraphs, features: str = "labels") -> Path:
    """A model with fresh weights, stored as a trained one is."""
    torch.manual_seed(0)
    encoder = Encoder.fit(raw, features=features, other=features != "labels")
    options = {"num_layers": 2, "readout": "sum", "residual": True}
    if encoder.num_edge_features:
        options["edge_dim"] = encoder.num_edge_features
    model = LGAN(encoder.num_features, 8, 2, **options)
    Checkpoint(
        model="lgan",
        options=options,
        in_channels=encoder.num_features,
        hidden_channels=8,
        out_channels=2,
        dataset=raw.name,
        features=features,
        state=model.state_dict(),
        info={"compress": True, "config": {"seed": 0}, "held_out_graphs": [0, 1, 20, 21, 40, 41]},
        classes=raw.classes,
        encoder=encoder.to_json(),
    ).save(path)
    return path


@pytest.fixture
def triangles(tmp_path) -> Path:
    return _store(tmp_path / "triangles.safetensors", load_raw("triangles"))


@pytest.fixture
def mutag(tmp_path) -> Path:
    """A model that reads the labels and bonds of MUTAG, which keeps no hydrogens."""
    pytest.importorskip("rdkit")
    raw = graphs_from_smiles(["CO", "CN"], "MUTAG").with_targets({"class": ["-1", "1"]})
    return _store(tmp_path / "mutag.safetensors", raw)


def test_scores_are_printed_as_json(triangles, lgan):
    ran = lgan("explain", triangles, "--index", 7, "--index", 3, *SUMS, "--json")
    assert ran.code == 0, ran.err
    first, second = ran.json["graphs"]
    assert [first["name"], second["name"]] == ["triangles 7", "triangles 3"]
    raw = load_raw("triangles")
    start, end = raw.node_ptr[7:9].tolist()
    inside = (raw.pair_index[0] >= start) & (raw.pair_index[0] < end)
    pairs = (raw.pair_index[:, inside] - start).tolist()
    both = [pairs[0] + pairs[1], pairs[1] + pairs[0]]
    assert first["edge_index"] == both
    assert len(first["edge_scores"]) == len(both[0])
    difference = first["output"] - first["baseline_output"]
    half = first["edge_scores"][: len(pairs[0])]
    assert sum(half) == pytest.approx(difference, rel=0.02, abs=1e-4)
    assert first["class"] == 1
    assert first["held_out"] is False


def test_a_table_names_the_strongest_edges(triangles, lgan):
    ran = lgan("explain", triangles, "--index", 7, *SUMS)
    assert ran.code == 0, ran.err
    assert "│ triangles 7 " in ran.out
    assert "scores add up to the change of the output" in ran.out


@pytest.mark.parametrize("name", ["out.svg", "new/out.png"])
def test_several_graphs_become_a_grid(name, triangles, lgan, tmp_path):
    ran = lgan("explain", triangles, "--index", 0, "--index", 1, "-o", name)
    assert ran.code == 0, ran.err
    assert f"picture: {name}" in ran.err
    content = (tmp_path / name).read_bytes()
    if name.endswith(".svg"):
        assert content.decode().count(">for triangles<") == 2
    else:
        assert content.startswith(b"\x89PNG")


def test_colours_speak_for_one_class_unless_another_is_asked_for(triangles, lgan):
    ran = lgan("explain", triangles, "--index", 0, "--index", 1, "--json")
    assert [item["target"] for item in ran.json["graphs"]] == [1, 1]
    assert [item["of"] for item in ran.json["graphs"]] == ["log-odds", "log-odds"]
    for given, target in (("0", 0), ("hexagons", 0), ("triangles", 1)):
        ran = lgan("explain", triangles, "--index", 0, "--class", given, "--json")
        assert ran.json["graphs"][0]["target"] == target


def test_the_old_name_of_the_class_still_works_and_says_so(triangles, lgan):
    ran = lgan("explain", triangles, "--index", 0, "--target", 0, "--json")
    assert ran.json["graphs"][0]["target"] == 0
    assert "`--target` is now `--class`" in ran.err


def test_method_is_used(triangles, lgan):
    ran = lgan("explain", triangles, "--index", 0, "--method", "degree", "--json")
    assert ran.json["graphs"][0]["method"] == "degree"
    assert ran.json["graphs"][0]["gap"] is None


def test_report_shows_held_out_graphs_and_the_whole_set(triangles, lgan, tmp_path):
    ran = lgan("explain", triangles, "--report", "r/out.html", "--gallery", 4, "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["graphs"]) == 4
    assert all(entry["held_out"] for entry in ran.json["graphs"])
    html = (tmp_path / "r" / "out.html").read_text()
    assert html.count("<article") == 4
    assert "held-out graphs" in html
    assert "all graphs of triangles" in html
    assert str(tmp_path) not in html


def test_report_of_a_set_made_with_another_seed_does_not_speak_of_held_out_graphs(
    triangles, lgan, tmp_path
):
    ran = lgan("explain", triangles, "--index", 0, "--seed", 3, "--report", "out.html", "--json")
    assert ran.json["graphs"][0]["held_out"] is None
    assert "held-out graphs" not in (tmp_path / "out.html").read_text()


def test_training_keeps_which_graphs_were_held_out(lgan, tmp_path):
    ran = lgan("train", "triangles", *SMALL, "--folds", 4, "--members", 1, "--output", "out")
    assert ran.code == 0, ran.err
    stored = Checkpoint.load(tmp_path / "out" / "model.safetensors")
    assert len(stored.info["held_out_graphs"]) == 50


def test_smiles_are_drawn_as_molecules(mutag, lgan, tmp_path):
    ran = lgan(
        "explain", mutag, "--smiles", "Nc1ccccc1", "--smiles", "C[N+](=O)[O-]",
        "-o", "out.svg", "--report", "out.html", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert [entry["name"] for entry in ran.json["graphs"]] == ["Nc1ccccc1", "C[N+](=O)[O-]"]
    assert ran.json["graphs"][0]["node_labels"] == ["N0", "C1", "C2", "C3", "C4", "C5", "C6"]
    assert ran.json["graphs"][0]["classes"] == ["not mutagenic", "mutagenic"]
    assert ran.json["graphs"][0]["class"] is None
    assert ran.json["graphs"][0]["held_out"] is None  # whatever is known of the first of the set
    assert "<path" in (tmp_path / "out.svg").read_text()
    assert (tmp_path / "out.html").read_text().count("<article") == 2


@pytest.mark.parametrize("features", ["degree", "degree-bins", "constant"])
def test_smiles_of_few_features_are_read_by_a_model_of_more(features, lgan, tmp_path):
    pytest.importorskip("rdkit")
    raw = graphs_from_smiles(["CO", "CC(C)(C)C"], "MUTAG").with_targets({"class": ["-1", "1"]})
    stored = _store(tmp_path / "a.safetensors", raw, features)
    ran = lgan("explain", stored, "--smiles", "CCO", "--json")
    assert ran.code == 0, ran.err
    with pytest.warns(UserWarning, match="1 of 3 rows cannot be read"):
        answers = load_model(stored).predict_proba(np.array(["CCO", None, "CO"], dtype=object))
    assert np.isnan(answers).all(1).tolist() == [False, True, False]


def test_every_graph_that_was_named_is_on_the_page(triangles, lgan, tmp_path):
    asked = [word for graph in range(5) for word in ("--index", graph)]
    assert lgan("explain", triangles, *asked, "--report", "r.html", "--gallery", 2).code == 0
    assert (tmp_path / "r.html").read_text().count("<article") == 5


def test_single_atom_has_an_empty_explanation(mutag, lgan, tmp_path):
    ran = lgan("explain", mutag, "--smiles", "C", "-o", "out.svg", "--report", "out.html")
    assert ran.code == 0, ran.err
    assert "no edges" in lgan("explain", mutag, "--smiles", "C").out
    assert "No edges, hence nothing to score." in (tmp_path / "out.html").read_text()
    assert (tmp_path / "out.svg").exists()


@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("C((", "Expected a molecule as SMILES, got 'C(('"),
        ("C[Si](C)C", "has the atom Si, which no molecule of MUTAG has"),
    ],
)
def test_bad_smiles_fail_and_write_nothing(smiles, message, mutag, lgan, tmp_path):
    ran = lgan("explain", mutag, "--smiles", "CC", "--smiles", smiles, "-o", "out.svg")
    assert ran.code == 1
    assert message in ran.err
    assert ran.out == ""
    assert not (tmp_path / "out.svg").exists()


def test_smiles_for_a_model_of_no_molecules_fail(triangles, lgan):
    ran = lgan("explain", triangles, "--smiles", "CC")
    assert ran.code == 1
    assert "reads graphs whose features come with them, got molecules" in ran.err


def test_smiles_without_rdkit_name_the_package(mutag, lgan, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    ran = lgan("explain", mutag, "--smiles", "CC")
    assert ran.code == 1
    assert "pip install 'lgan[molecules]'" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("option", [("-o", "out.png"), ("-o", "out.svg"), ("--report", "out.html")])
def test_matplotlib_is_asked_for_before_anything_is_computed(option, triangles, lgan, monkeypatch):
    import sys

    def computed(*arguments, **options):
        raise AssertionError("computed before the package was asked for")

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("lgan.predictor.reading.load_raw", computed)
    ran = lgan("explain", triangles, "--index", 0, *option)
    assert ran.code == 1
    assert "pip install 'lgan[plot]'" in ran.err


def test_set_with_other_features_fails(mutag, lgan):
    ran = lgan("explain", mutag, "--dataset", "triangles", "--index", 0)
    assert ran.code == 1
    assert (
        "trained on MUTAG, but triangles has 1 features, not 7. Train a model on triangles"
        in ran.err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to explain"),
        (
            ["--index", 200],
            "`--index` must name a row of triangles that can be read, from 0 to 199, got 200",
        ),
        (["--index", -1], "that can be read, from 0 to 199, got -1"),
        (
            ["--index", 0, "--class", 2],
            "`--class`: The class to explain must be one of hexagons, triangles, or a number",
        ),
        (["--index", 0, "--method", "magic"], "Choose one of: consensus, integrated-gradients"),
        (["--index", 0, "--dataset", "MUTANG"], "Did you mean MUTAG?"),
        (["--index", 0, "--smiles", "C"], "`--smiles` excludes SOURCE, `--index`, `--dataset`"),
        (["--index", 0, "-o", "out.gif"], "must end with .svg or .png, got 'out.gif'"),
        (["--index", 0, "-o", "out.html"], "`--report` writes a page"),
        (["--index", 0, "-o", "."], "`--output` must be a file, but . is a folder"),
        (["--report", "."], "`--report` must be a file, but . is a folder"),
        (["--index", 0, "--device", "tpu"], "must be cpu, cuda or auto"),
    ],
)
def test_bad_usage_is_told_and_writes_nothing(arguments, message, triangles, lgan, tmp_path):
    ran = lgan("explain", triangles, *arguments)
    assert ran.code == 2, ran
    assert message in " ".join(ran.err.split())
    assert ran.out == ""
    assert [p.name for p in tmp_path.iterdir() if p.name[0] != "."] == [triangles.name]


def test_missing_checkpoint_fails(lgan):
    ran = lgan("explain", "nowhere", "--index", 0)
    assert ran.code == 1
    assert "There is no checkpoint nowhere" in ran.err


def test_graph_without_edges_has_an_empty_explanation(triangles, lgan, monkeypatch):
    def lonely(name, **options) -> RawGraphs:
        return RawGraphs.numbered(
            name=name,
            node_ptr=torch.tensor([0, 2]),
            pair_index=torch.zeros(2, 0, dtype=torch.int64),
            y=torch.tensor([1]),
            classes=("hexagons", "triangles"),
            node_labels=torch.zeros(2, dtype=torch.int64),
        )

    monkeypatch.setattr("lgan.predictor.reading.load_raw", lonely)
    ran = lgan("explain", triangles, "--index", 0, "--json", "-o", "out.svg")
    assert ran.code == 0, ran.err
    assert ran.json["graphs"][0]["edge_scores"] == []
    assert ran.json["graphs"][0]["node_scores"] == [0.0, 0.0]


def test_a_model_of_other_data_asks_for_the_source(lgan, tmp_path):
    raw = replace(load_raw("triangles"), name="own")
    ran = lgan("explain", _store(tmp_path / "own.safetensors", raw), "--index", 0)
    assert ran.code == 2
    assert "trained on own, which is no known data set. Name the SOURCE" in " ".join(
        ran.err.split()
    )


@pytest.mark.data
@pytest.mark.parametrize("name", ["MUTAG", "Mutagenicity"])
def test_smiles_become_the_graphs_that_the_files_hold(name, mirror, tmp_path):
    chem = pytest.importorskip("rdkit.Chem")
    from lgan.explain.molecule import molecule_from_graph

    raw = load_raw(name, mirror=mirror, root=tmp_path)
    told = 0
    for graph in range(40):
        molecule = molecule_from_graph(raw, graph)
        if molecule.status != "clean":
            continue
        text = chem.MolToSmiles(chem.RemoveHs(molecule.mol))
        made, own = graphs_from_smiles([text], name), raw.select([graph])
        told += 1
        for labels in ("node_labels", "pair_labels"):
            both = (getattr(each, labels).sort().values for each in (made, own))
            assert torch.equal(*both), (graph, text)
        assert made.nodes.vocabularies == raw.nodes.vocabularies
        assert made.pairs.vocabularies == raw.pairs.vocabularies
    assert told > 10


@pytest.mark.data
def test_a_model_of_mutag_reads_its_bonds_wherever_molecules_come_from(lgan, mirror, tmp_path):
    pytest.importorskip("rdkit")
    at = ("--mirror", mirror, "--root", tmp_path / "data")
    ran = lgan("train", "MUTAG", *SMALL, "--members", 2, "--output", "out", *at)
    assert ran.code == 0, ran.err
    model = Path("out") / "model.safetensors"
    for asked in (("--index", 7), ("MUTAG", "--index", 7), ("--dataset", "MUTAG", "--index", 7)):
        ran = lgan("explain", model, *asked, *at, "--json")
        assert ran.code == 0, ran.err
        assert ran.json["graphs"][0]["classes"] == ["not mutagenic", "mutagenic"]
        assert ran.json["graphs"][0]["target"] == 1
    ran = lgan("explain", model, "--smiles", "Cc1ccccc1[N+](=O)[O-] nitrotoluene", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["graphs"][0]["name"] == "nitrotoluene"
    for given in ("mutagenic", "1"):  # what the class means, and how the files spell it
        ran = lgan("explain", model, "--smiles", "CCO", "--class", given, "-o", "scores.csv")
        assert ran.code == 0, ran.err
        with (tmp_path / "scores.csv").open() as file:
            assert {row["explained"] for row in csv.DictReader(file)} == {"mutagenic"}


@pytest.mark.data
def test_mutag_end_to_end(mutag, lgan, mirror, tmp_path):
    ran = lgan(
        "explain", mutag, "--dataset", "MUTAG", "--index", 7, "--index", 82, "--mirror", mirror,
        "-o", "out.svg", "--report", "out.html", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    svg = (tmp_path / "out.svg").read_text()
    assert svg.count("<svg") == 3  # the sheet and two molecules
    assert svg.count(">for not mutagenic<") == 2
    assert "MUTAG 82" in svg
    html = (tmp_path / "out.html").read_text()
    assert "all graphs of MUTAG" in html
    assert str(mirror) not in html


def test_directed_graphs_are_explained_as_undirected_ones_where_asked(triangles, lgan, tmp_path):
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3)])
    nx.set_node_attributes(graph, "0", "label")
    (tmp_path / "own.jsonl").write_text(json.dumps(nx.node_link_data(graph)))
    refused = lgan("explain", triangles, "own.jsonl")
    assert "symmetrise" in refused.err
    ran = lgan("explain", triangles, "own.jsonl", "--symmetrise", "--json")
    assert len(ran.json["graphs"][0]["edge_scores"]) == 8
