"""What bad input gets: one line that says what was expected, what came and what to do."""

import json

import pytest
from safetensors import safe_open
from safetensors.torch import save_file

pytest.importorskip("rdkit", reason="molecules need rdkit")

SMALL = ["--epochs", 1, "--hidden", 4, "--layers", 1, "--device", "cpu"]
ROWS = [f"{'C' * (i % 6 + 1)}{'O' * (i % 3)},{i % 2}" for i in range(24)]
MOL = "\n  lgan\n\n  1  0  0  0  0  0            999 V2000\n    0.0 0.0 0.0 C   0  0\n"


def table(*rows: str, names: str = "smiles,active") -> bytes:
    return "\n".join([names, *rows, ""]).encode()


# The name of the file, its content, further options, and what the error says.
REFUSED = {
    "no such column": ("a.csv", table(*ROWS), ["--target", "toxic"],
                       ["'toxic'", "'active'", "Name one of these"]),
    "no column of molecules": ("a.csv", table("1,2", names="mass,active"), [],
                               ["must have a column of SMILES", "'mass', 'active'"]),
    "no such file": ("a.csv", table(*ROWS), ["--split", "published:folds"], ["folds"]),
    "an empty file": ("a.csv", b"", [], ["a.csv", "empty"]),
    "columns without rows": ("a.csv", table(), [], ["no rows"]),
    "one row": ("a.csv", table("CCO,1"), [], ["at least two different values", "Add rows"]),
    "one class": ("a.csv", table(*(f"{'C' * n},yes" for n in range(1, 20))), [],
                  ["at least two different values", "'yes'"]),
    "all targets missing": ("a.csv", table(*(f"{'C' * n}," for n in range(1, 20))), [],
                            ["must have a value in some row", "19 empty cells"]),
    "text and numbers": ("a.csv", table(*ROWS, "CCN,unknown"), [], ["'unknown'", "active"]),
    "infinite values": ("a.csv", table(*(f"{'C' * n},{n / 7}" for n in range(1, 20)), "CCO,inf"),
                        [], ["must hold finite numbers", "inf in row 20"]),
    "a class smaller than the folds": (
        "a.csv", table(*ROWS, *(f"{'C' * n}N,2" for n in range(1, 4))), ["--folds", 10],
        ["at least as many graphs as there are folds (10)", "got 3 of class '2'", "fewer folds"]),
    "a class of one graph": (
        "a.csv", table(*ROWS, "CCN,2"), [], ["got 1 of class '2'", "Two are the fewest: add"]),
    "an SDF that breaks off": ("a.sdf", (MOL + "M  END\n> <active>\n1\n\n$$$$\n" + MOL).encode(),
                               [], ["whole molecules", "within record 2"]),
    "no molecule can be read": ("a.csv", table("C1CC,0", "xyz,1"), [],
                                ["a graph that can be read", "row 1", "unclosed ring"]),
    "another task": ("a.csv", table(*(f"{'C' * n},{n / 7}" for n in range(1, 20))),
                     ["--task", "binary"], ["A binary task needs two classes, got 19"]),
    "a metric of another task": ("a.csv", table(*ROWS), ["--metric", "rmse"],
                                 ["The metric of a binary task must be"]),
    "an unknown feature of atoms": ("a.csv", table(*ROWS), ["--atoms", "colour"],
                                    ["`atoms` must be among element"]),
    "an unknown feature of bonds": ("a.csv", table(*ROWS), ["--bonds", "colour"],
                                    ["`bonds` must be among order"]),
    "a directed graph": (
        "a.jsonl", b'{"directed": true, "graph": {"target": 1}, "nodes": [{"id": 0}, {"id": 1}], '
        b'"edges": [{"source": 0, "target": 1}]}\n', [], ["directed", "symmetrise"]),
    "no target among graphs": (
        "a.jsonl", b'{"nodes": [{"id": 0}], "edges": []}\n', [], ["nothing to predict"]),
    "an attribute that no node has": (
        "a.jsonl", b'{"graph": {"target": 1}, "nodes": [{"id": 0}], "edges": []}\n',
        ["--node-attributes", "mass"], ["'mass'", "1 of 1"]),
}  # fmt: skip


@pytest.mark.parametrize("command", ["train", "cv"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_learned_from_is_refused_in_words(lgan, tmp_path, command, case):
    name, content, options, words = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    ran = lgan(command, name, *options, *SMALL, "--json")
    assert ran.code in (1, 2), ran.out
    assert list(ran.json) == ["error"]
    assert "Traceback" not in ran.err
    assert "mistake in lgan" not in ran.json["error"]
    for word in words:
        assert word in ran.json["error"]
    # A cache of molecules may stay behind; a run does not.
    assert {path.name for path in tmp_path.iterdir()} <= {name, "data"}


@pytest.mark.parametrize(
    ("case", "rows"),
    {
        "another separator": table(*ROWS).replace(b",", b";"),
        "a tab as separator": table(*ROWS).replace(b",", b"\t"),
        "UTF-16": table(*ROWS).decode().encode("utf-16"),
        "Latin-1": table(*(f"{row},Mol\xe9cule" for row in ROWS), names="smiles,active,name")
        .decode()
        .encode("latin-1"),
        "a byte order mark": b"\xef\xbb\xbf" + table(*ROWS),
        "Windows line ends": table(*ROWS).replace(b"\n", b"\r\n"),
        "isolated atoms": table(*ROWS, "[Na+].[Cl-],1", "[He],0"),
        "2,000 atoms": table(*ROWS, f"{'C' * 2000},1"),
        "no atoms": table(*ROWS, ",1", '"",0'),
    }.items(),
)
def test_odd_tables_are_read_as_they_are_meant(lgan, tmp_path, case, rows):
    (tmp_path / "a.csv").write_bytes(rows)
    facts = lgan("data", "info", "a.csv", "--target", "active", "--json").json
    assert facts["task"] == "binary: active (0, 1)"
    expected = {"isolated atoms": 26, "2,000 atoms": 25}.get(case, 24)
    assert facts["graphs"] == expected
    assert len(facts["unreadable rows"]) == (2 if case == "no atoms" else 0)
    ran = lgan("train", "a.csv", "--target", "active", "--folds", 3, *SMALL, "--json")
    assert ran.code == 0, ran.json
    assert ran.json["epoch"] > 0


@pytest.mark.parametrize(
    ("rare", "command"),
    [(3, ["train", "--members", 4]), (2, ["train", "--members", 2]), (2, ["cv"])],
)
def test_a_rare_class_makes_fewer_folds_and_says_so(lgan, tmp_path, rare, command):
    rows = [*ROWS, *(f"{'C' * n}N,2" for n in range(1, rare + 1))]
    (tmp_path / "a.csv").write_bytes(table(*rows))
    ran = lgan(*command, "a.csv", *SMALL, "--json")
    assert ran.code == 0, ran.err
    usual = 10 if command == ["cv"] else 5
    said = f"{rare} folds instead of {usual}, since the rarest class has {rare} graphs"
    assert said in " ".join(ran.err.split())
    if command == ["cv"]:
        assert len(ran.json["fold_sizes"]) == rare


def test_a_kernel_and_few_groups_make_fewer_folds_too(lgan, tmp_path):
    (tmp_path / "a.csv").write_bytes(
        table(*(f"{row},{i % 4}" for i, row in enumerate(ROWS)), names="smiles,active,batch")
    )
    ran = lgan("cv", "a.csv", "--target", "active", "--split", "group:batch", "--model", "wl",
               "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert "4 folds instead of 10, since there are 4 groups" in " ".join(ran.err.split())
    assert len(ran.json["fold_sizes"]) == 4


def test_duplicates_with_different_labels_are_told_counted_and_kept(lgan, tmp_path):
    (tmp_path / "a.csv").write_bytes(table(*ROWS, "OCC,1", "CCO,0"))
    ran = lgan("cv", "a.csv", "--folds", 3, *SMALL, "--json")
    assert ran.code == 0, ran.err
    said = " ".join(ran.err.split())
    assert "occur more than once: 6 (26 rows)" in said
    assert "with different targets: 1; all are kept" in said
    assert sum(ran.json["fold_sizes"]) == 26


def test_balanced_class_weights_need_classes(lgan, tmp_path):
    (tmp_path / "a.csv").write_bytes(table(*(f"{'C' * n},{n / 7}" for n in range(1, 20))))
    ran = lgan("train", "a.csv", "--class-weight", "balanced", *SMALL, "--json")
    assert ran.code == 1
    assert "Class weights need classes" in ran.json["error"]


@pytest.fixture
def model(lgan, tmp_path):
    """A model trained on molecules."""
    (tmp_path / "a.csv").write_bytes(table(*ROWS))
    assert lgan("train", "a.csv", "--folds", 3, *SMALL, "--output", "m").code == 0
    return tmp_path / "m" / "model.safetensors"


def test_a_formula_in_a_cell_is_written_back_as_text(lgan, tmp_path, model):
    (tmp_path / "b.csv").write_bytes(table("CCO,=cmd()", "+1+1,@x", names="smiles,note"))
    assert lgan("predict", model, "b.csv", "-o", "p.csv").code == 0
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[1].startswith("CCO,'=cmd(),")
    assert lines[2].startswith("'+1+1,'@x,")


def test_json_tells_what_is_odd_about_a_source(lgan, tmp_path, model):
    (tmp_path / "b.csv").write_bytes(table("[Xe],maybe", names="smiles,active"))
    said = lgan("predict", model, "b.csv", "--json").json
    assert "maybe" in said["not_compared"]
    assert said["unseen"]["node element"] == {"Xe": 1}


def test_rows_without_a_target_leave_a_score_that_is_no_fair_measure(lgan, tmp_path, model):
    known = [row for row in ROWS if "C1CC," not in row]
    (tmp_path / "b.csv").write_bytes(table(*known, "CCCCBr,", "CCCCCl,"))
    said = lgan("predict", model, "b.csv", "-o", "p.csv")
    assert "of them trained on: no fair measure: " in said.out
    (tmp_path / "c.csv").write_bytes(table(*known, "CCCCBr,1", "CCCCCl,0"))
    assert "on the rows it was not trained on: " in lgan("predict", model, "c.csv").out


def test_parts_are_scored_as_the_whole_is(lgan, tmp_path, model):
    rows = ["CCO,1", "C1CC,0", "c1ccccc1Cl,0", "CCCCBr,1"]
    (tmp_path / "b.csv").write_bytes(table(*rows, names="smiles,active"))
    whole = lgan("predict", model, "b.csv", "--json").json
    parts = lgan("predict", model, "b.csv", "--shards", 2, "-o", "out", "--json").json
    assert parts["metrics"] == pytest.approx(whole["metrics"], rel=1e-4)
    assert (parts["rows"], parts["seen"], parts["failed"]) == (4, whole["seen"], 1)
    said = lgan("predict", model, "b.csv", "--shards", 2, "-o", "out")
    assert "roc-auc" in said.out
    assert "1 of 4 rows have no prediction" in said.err


def rewritten(path, change):
    """The same file with other metadata."""
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    plain = json.loads(metadata["lgan"])
    change(plain)
    save_file(tensors, path, {**metadata, "lgan": json.dumps(plain)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda plain: plain.update(format=99), "format"),
        (lambda plain: plain["encoder"]["featuriser"].update(version=99), "version 99"),
        (lambda plain: plain["encoder"]["featuriser"].update(featuriser="cdk"), "'cdk'"),
    ],
    ids=["another version", "another version of the featuriser", "another featuriser"],
)
def test_a_model_that_cannot_be_used_here_is_refused(lgan, tmp_path, model, change, words):
    rewritten(model, change)
    ran = lgan("predict", model, "a.csv", "-o", "p.csv", "--json")
    assert ran.code == 1
    assert words in ran.json["error"]
    assert not (tmp_path / "p.csv").exists()
