import json

import pytest

from lgan.data import DATASETS


def test_list_names_every_set(lgan, empty):
    ran = lgan("data", "list")
    assert ran.code == 0
    for name in DATASETS:
        assert name in ran.out
    assert empty()


def test_list_as_json_is_one_document(lgan):
    ran = lgan("data", "list", "--json")
    assert list(ran.json) == list(DATASETS)
    assert ran.json["csl"]["classes"] == 10
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize("command", ["prepare", "info"])
def test_generated_set_is_described_and_not_stored(command, lgan, empty):
    ran = lgan("data", command, "csl", "--json")
    assert ran.code == 0
    facts = ran.json
    assert (facts["name"], facts["graphs"]) == ("csl", 150)
    assert (facts["nodes"], facts["edges"]) == (150 * 41, 150 * 82)
    # A skip of 2 makes 41 triangles (i, i + 1, i + 2); no other skip makes any.
    assert facts["triangles"] == 15 * 41
    assert "cache" not in facts
    assert empty()


def test_info_is_a_table_for_people(lgan):
    ran = lgan("data", "info", "triangles")
    assert ran.code == 0
    assert "triangles: Pairs that 1-WL cannot separate" in " ".join(ran.out.split())
    assert "class (hexagons: 100, triangles: 100)" in ran.out


UNKNOWN = (
    "Unknown data set 'mutagg': no such file or folder, and no such name. Did you mean MUTAG? "
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("prepare mutagg", UNKNOWN),
        ("info mutagg", UNKNOWN),
        ("info triangles --features colours", "Choose one of: labels, attributes"),
        ("prepare csl --shards 4", "for tables of molecules"),
        ("prepare csl --processes 4", "for tables of molecules"),
        ("prepare csl --ray auto", "for tables of molecules"),
    ],
)
def test_bad_usage_is_told_and_writes_nothing(words, message, lgan, empty):
    ran = lgan("data", *words.split())
    assert ran.code == 2
    assert message in ran.err
    assert empty()


def test_features_the_set_does_not_have_are_a_failure(lgan):
    ran = lgan("data", "info", "triangles", "--features", "attributes")
    assert ran.code == 1
    assert "need node attributes, got a set (triangles) without" in ran.err
    assert "Traceback" not in ran.err


def test_corrupt_archive_is_a_failure_without_a_stack_trace(lgan, tmp_path):
    folder = tmp_path / "mirror"
    folder.mkdir()
    (folder / "MUTAG.zip").write_bytes(b"PK\x03\x04 this is no archive")
    ran = lgan("data", "prepare", "MUTAG", "--mirror", folder, "--json")
    assert ran.code == 1
    assert "MUTAG.zip is damaged" in ran.json["error"]
    assert "Error: " in ran.err
    assert "MUTAG.zip" in ran.err
    assert "Traceback" not in ran.err
    assert not list(tmp_path.glob("data/prepared/*.safetensors"))


def test_missing_archive_is_a_failure_that_names_it(lgan, tmp_path):
    ran = lgan("data", "prepare", "MUTAG", "--mirror", tmp_path)
    assert ran.code == 1
    assert "MUTAG.zip" in ran.err


@pytest.mark.data
def test_mutag_is_prepared_once_and_read_from_the_cache(lgan, mirror, tmp_path):
    first = lgan("data", "prepare", "MUTAG", "--mirror", mirror, "--root", "here", "--json")
    assert first.code == 0, first.err
    facts = first.json
    assert (facts["graphs"], facts["nodes"], facts["edges"]) == (188, 3371, 3721)
    assert (facts["classes"], facts["inputs of a model"], facts["triangles"]) == (2, 7, 0)
    assert (tmp_path / facts["cache"]).is_file()
    cached = lgan("data", "prepare", "MUTAG", "--root", "here", "--json")  # no mirror any more
    assert {**cached.json, "seconds": 0} == {**facts, "seconds": 0}
    again = lgan("data", "info", "MUTAG", "--mirror", mirror, "--root", "here", "--json")
    assert again.code == 0, again.err
    for key in ("graphs", "nodes", "edges after merging twins", "triangles", "bytes"):
        assert again.json[key] == facts[key], key
    assert again.json["task"] == "binary: class (-1, 1)"
    assert again.json["targets"] == {"class": {"-1": 63, "1": 125}}
    assert (again.json["node features"], again.json["edge features"]) == (
        {"label": 7},
        {"label": 4},
    )
    shown = lgan("data", "prepare", "MUTAG", "--root", "here")
    assert facts["cache"] in shown.out
    assert "ready: lgan cv MUTAG" in shown.out


@pytest.mark.data
def test_facts_of_imdb_are_the_same_with_twins_merged(lgan, mirror):
    facts = [
        json.loads(lgan("data", "info", "IMDB-BINARY", "--mirror", mirror, compress, "--json").out)
        for compress in ("--compress", "--no-compress")
    ]
    for key in ("graphs", "nodes", "edges", "triangles", "inputs of a model"):
        assert facts[0][key] == facts[1][key], key
    assert facts[0]["triangles"] == 391_991
    assert facts[0]["nodes after merging twins"] == 5_357
    assert facts[1]["nodes after merging twins"] == facts[1]["nodes"] == 19_773


MOLECULES = """smiles,active,batch
CCO,1,a
OCC,0,a
c1ccccc1,0,b
C1CC1,,b
C1CC,1,b
[Na+].[Cl-],1,c
"""


def test_info_of_a_table_says_all_that_was_understood(lgan, tmp_path):
    (tmp_path / "a.csv").write_text(MOLECULES)
    facts = lgan("data", "info", "a.csv", "--target", "active", "--json").json
    assert facts["columns"] == ["smiles", "active", "batch"]
    assert facts["task"] == "binary: active (0, 1)"
    assert facts["targets"] == {"active": {"0": 2, "1": 2}}
    assert facts["graphs"] == 4
    assert facts["rows without a target"] == 1
    [unreadable] = facts["unreadable rows"]
    assert unreadable["row"] == 5
    assert "unclosed ring" in unreadable["reason"]
    assert facts["molecules in several rows"] == {
        "molecules": 1, "rows": 2, "with different targets": 1,
    }  # fmt: skip
    assert facts["node features"]["element"] == 4
    assert list(facts["edge features"]) == ["order", "conjugated", "ring", "stereo"]
    assert facts["nodes per graph"] == {"least": 2, "median": 3, "most": 6}
    assert facts["graphs without edges"] == 1
    shown = lgan("data", "info", "a.csv", "--target", "active", "--bonds", "order")
    assert "active (0: 2, 1: 2)" in shown.out
    assert "rows that cannot be read: 1" in shown.out
    assert "conjugated" not in shown.out


def test_info_lists_the_columns_where_no_target_is_clear(lgan, tmp_path):
    (tmp_path / "a.csv").write_text(MOLECULES)
    facts = lgan("data", "info", "a.csv", "--json").json
    assert facts["columns"] == ["smiles", "active", "batch"]
    assert facts["task"].startswith("none: A target must be named")
    assert (facts["targets"], facts["graphs"], facts["triangles"]) == ({}, 5, 1)


def test_info_of_numbers_says_where_they_lie(lgan, tmp_path):
    rows = [f"{'C' * (i + 1)},{i / 2 + 0.25}" for i in range(12)]
    (tmp_path / "b.csv").write_text("\n".join(["smiles,logS", *rows]))
    facts = lgan("data", "info", "b.csv", "--json").json
    assert facts["targets"] == {"logS": {"least": 0.25, "mean": 3.0, "most": 5.75}}


def test_info_of_graphs_reads_the_attributes_asked_for(lgan, tmp_path):
    import networkx as nx

    lines = []
    for size in (3, 4, 5):
        graph = nx.complete_graph(size, create_using=nx.DiGraph)
        nx.set_node_attributes(graph, {v: {"kind": "ab"[v % 2], "mass": v / 2} for v in graph})
        graph.graph["target"] = "xyz"[size - 3]
        lines.append(json.dumps(nx.node_link_data(graph)))
    (tmp_path / "g.jsonl").write_text("\n".join(lines))
    refused = lgan("data", "info", "g.jsonl", "--json")
    assert refused.code == 1
    assert "directed" in refused.json["error"]
    read = ("data", "info", "g.jsonl", "--symmetrise", "--json")
    assert lgan(*read).json["node features"] == {"kind": 2, "mass": "number"}
    facts = lgan(*read, "--node-attributes", "kind").json
    assert facts["node features"] == {"kind": 2}
    assert facts["triangles"] == 1 + 4 + 10
    assert facts["targets"] == {"target": {"x": 1, "y": 1, "z": 1}}
    assert lgan(*read, "--node-attributes", "none").json["node features"] == {}
    for option in (["--hydrogens"], ["--atoms", "element"], ["--smiles-column", "kind"]):
        refused = lgan(*read, *option)
        assert refused.code == 1
        assert f"{option[0]}`" in refused.json["error"]
        assert "g.jsonl holds other graphs" in refused.json["error"]


def test_attributes_of_graphs_are_not_asked_of_molecules(lgan, tmp_path):
    (tmp_path / "m.csv").write_text("smiles,active\nCCO,1\nCCN,0\n")
    for option in ("--node-attributes", "--edge-attributes"):
        refused = lgan("data", "info", "m.csv", option, "none", "--json")
        assert refused.code == 1
        assert f"`{option}` names attributes of graphs" in refused.json["error"]
        assert "by `--atoms` and `--bonds`" in refused.json["error"]


def test_table_becomes_shards_that_train_takes(lgan, tmp_path):
    rows = "\n".join(f"{'C' * (1 + i % 5)}O,{i % 2}" for i in range(30))
    (tmp_path / "t.csv").write_text(f"smiles,active\n{rows}\nC1CC,1\n")
    ran = lgan("data", "prepare", "t.csv", "--shards", "4", "--output", "shards", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["rows"], ran.json["graphs"], ran.json["unreadable"]) == (31, 30, 1)
    tiny = ["--members", "2", "--epochs", "1", "--hidden", "4", "--layers", "1", "--no-report"]
    scores = [
        lgan("train", source, *tiny, "--output", f"m{i}", "--json", *more).json["test"]
        for i, (source, more) in enumerate(
            [("shards", ()), ("t.csv", ()), ("shards", ("--window", "2"))]
        )
    ]
    assert scores[0] == scores[1]
    assert len(scores[2]) == 2
    ran = lgan("train", "shards", *tiny[:-1], "--window", "2", "--output", "told")
    assert ran.code == 0, ran.err
    report = (tmp_path / "told" / "report.html").read_text()
    assert "unreadable rows" in report
    assert "nodes per graph" not in report  # for which all shards would be read again
    refused = lgan("train", "shards", "--pair-code", "full", "--output", "m9")
    assert refused.code == 1
    assert "read as they were prepared" in refused.err


def test_shards_with_features_of_graphs_and_columns_train_what_the_table_trains(lgan, tmp_path):
    rows = "\n".join(f"{'C' * (1 + i % 5)}O,{i % 2},{i / 3},b{i % 4}" for i in range(30))
    (tmp_path / "t.csv").write_text(f"smiles,active,pH,batch\n{rows}\n")
    told = ("--graph-features", "morgan,pH")
    ran = lgan("data", "prepare", "t.csv", "--target", "active", *told, "--columns", "batch",
               "--shards", "3", "--output", "shards")  # fmt: skip
    assert ran.code == 0, ran.err
    assert "lgan train shards --graph-features morgan,pH" in ran.out
    tiny = ["--members", "2", "--epochs", "1", "--hidden", "4", "--layers", "1", "--no-report"]
    grouped = (*tiny, "--split", "group:batch", *told, "--json")
    table = lgan("train", "t.csv", "--target", "active", *grouped, "--output", "m0").json
    assert lgan("train", "shards", *grouped, "--output", "m1").json["test"] == table["test"]
    assert lgan("train", "shards", *grouped, "--window", "1", "--output", "m2").code == 0
    assert lgan("train", "shards", *tiny, "--output", "m3").code == 0
    refused = lgan("train", "shards", *tiny, "--split", "group:day", "--output", "m4")
    assert refused.code == 1
    assert "the columns batch, pH" in refused.err
    assert "the column day" in refused.err


def test_info_of_shards_is_that_of_their_table(lgan, tmp_path):
    rows = "\n".join(f"{'C' * (1 + i % 5)}O,{i % 2}" for i in range(10))
    (tmp_path / "t.csv").write_text(f"smiles,active\n{rows}\nC1CC,1\n")
    refused = lgan("data", "prepare", "t.csv", "--features", "degree", "--output", "shards")
    assert refused.code == 2
    assert "`--features` is for sets with a name" in refused.err
    assert lgan("data", "prepare", "t.csv", "--shards", "3", "--output", "shards").code == 0
    table, shards = (lgan("data", "info", source, "--json").json for source in ("t.csv", "shards"))
    del table["columns"]
    for key, value in table.items():
        assert key in ("name", "bytes") or shards[key] == value, key


@pytest.mark.data
def test_pair_codes_are_prepared_where_asked_for(lgan, mirror, tmp_path):
    prepare = ["data", "prepare", "MUTAG", "--mirror", mirror]
    plain = lgan(*prepare, "--json").json
    coded = lgan(*prepare, "--pair-code", "cycles", "--json").json
    assert coded["cache"] != plain["cache"]
    assert (tmp_path / coded["cache"]).is_file()
    assert "ready: lgan cv MUTAG --pair-code cycles" in lgan(*prepare, "--pair-code", "cycles").out


def test_a_column_called_like_what_is_computed_is_told_to_be_another(lgan, tmp_path):
    rows = "\n".join(f"{'C' * (1 + i % 5)}O,{i % 2},{i}" for i in range(12))
    (tmp_path / "t.csv").write_text(f"smiles,active,shape\n{rows}\n")
    told = ("t.csv", "--target", "active", "--graph-features", "shape", "--output", "out")
    assert "The column 'shape' is not read" in lgan("data", "prepare", *told, "--shards", "2").err
    ran = lgan("train", *told, "--members", "1", "--epochs", "1", "--no-report", "--overwrite")
    assert "The column 'shape' is not read" in ran.err
