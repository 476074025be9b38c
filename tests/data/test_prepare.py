"""A table of molecules becomes shards that hold what the whole table would give."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

from lgan.data import Encoder, Shards, graph_features, load, load_raw, prepare_shards, scaffolds
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.shards import prepare as module
from lgan.data.shards.union import ShardedUnion
from lgan.task.cells import spelled

SMILES = ["CCO", "C[N+](C)(C)C", "c1ccccc1Br", "C1CC1", "CC(=O)[O-]", "C#N", "F/C=C/F", "O"]
UNREADABLE = "C1CC"


@pytest.fixture
def table(tmp_path):
    """23 rows: every seventh cannot be read, one has no target, and the element of the last one
    occurs nowhere else."""
    rows = [(SMILES[i % 8], i % 2) for i in range(22)] + [("C[Si](C)C", 1)]
    lines = [f"{UNREADABLE if i % 7 == 3 else smiles},{y}" for i, (smiles, y) in enumerate(rows)]
    lines[5] = lines[5].split(",")[0] + ","
    path = tmp_path / "table.csv"
    path.write_text("smiles,active\n" + "\n".join(lines) + "\n")
    return path


def equal(first, second):
    first, second = first.tensors(), second.tensors()
    assert first.keys() == second.keys()
    return [name for name in first if not torch.equal(first[name], second[name])] == []


@pytest.mark.parametrize("shards", [4, 23])
@pytest.mark.parametrize(
    "options",
    [{}, {"compress": False, "pair_code": "triangles"},
     {"molecules": MoleculeFeatures(atoms=("element",), bonds=())}],
)  # fmt: skip
def test_union_of_shards_has_the_bits_of_the_table_read_at_once(table, tmp_path, shards, options):
    made = prepare_shards(table, tmp_path / "shards", shards=shards, **options)
    unread = pytest.warns(UserWarning, match="3 of 23 rows")
    with unread, pytest.warns(UserWarning, match="1 of 20 graphs"):
        whole = load(table, root=tmp_path, **options)
    if options.get("pair_code"):  # rows of codes are in another order
        union = made.union()
        lines = (union.lines, whole.lines)
        first, second = (line.pair_table[line.pair_rows] for line in lines)
        torch.testing.assert_close(first, second, rtol=0, atol=0)
        assert torch.equal(union.lines.pair_index, whole.lines.pair_index)
    else:
        assert equal(made.union(), whole)
        assert equal(load(tmp_path / "shards"), whole)
    assert made.encoder == Shards.open(tmp_path / "shards").encoder


@pytest.fixture
def assays(table):
    """The table with a column of numbers, some missing, and one of words."""
    head, *lines = table.read_text().splitlines()
    more = [
        f"{line},{'' if i % 5 == 2 else i / 7},{'ab'[i % 3 == 0]}" for i, line in enumerate(lines)
    ]
    table.write_text("\n".join([f"{head},pH,batch", *more]) + "\n")
    return table


@pytest.mark.parametrize("features", ["morgan", "pH,batch,rdkit2d", "rdkit2d,morgan,pH"])
def test_features_of_whole_graphs_have_the_bits_of_the_table(assays, tmp_path, features):
    folder = tmp_path / "shards"
    made = prepare_shards(assays, folder, targets="active", shards=4, graph_features=features)
    unread = pytest.warns(UserWarning, match="3 of 23 rows")
    with unread, pytest.warns(UserWarning, match="1 of 20 graphs"):
        whole = load(assays, root=tmp_path, targets="active", graph_features=features)
    unread = pytest.warns(UserWarning, match="3 of 23 rows")
    with unread, pytest.warns(UserWarning, match="1 of 20 graphs"):
        plain = load(assays, root=tmp_path, targets="active")
    assert equal(made.union(), whole)
    assert equal(load(folder, graph_features=features), whole)
    assert equal(load(folder), plain)
    window = ShardedUnion(made, 1)
    assert window.num_graph_features == whole.num_graph_features
    got = window.batch(torch.tensor([0, 18, 7]))
    assert torch.equal(got.graph_x, whole.graph_x[[0, 18, 7]])
    with pytest.raises(ValueError, match="prepared"):
        load(folder, graph_features="morgan,rdkit2d")


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_rows_without_a_target_count_in_any_number_of_shards(tmp_path, shards):
    path, features = tmp_path / "t.csv", ("pH", "patterns", "shape")
    cells = [(smiles, i % 2 if i < 6 else "", i * i) for i, smiles in enumerate(SMILES)]
    lines = [",".join(map(str, row)) for row in cells]
    path.write_text("\n".join(["smiles,active,pH", *lines]) + "\n")
    whole = Encoder.fit(load_raw(path, targets="active", columns=["pH"]), graph_features=features)
    options = {"targets": "active", "graph_features": features, "shards": shards}
    made = prepare_shards(path, tmp_path / "shards", **options)
    assert made.encoder == whole
    assert (len(made), made.num_graphs) == (min(shards, 3), 6)
    assert made.union().graph_x.shape == (6, whole.num_graph_features)


def test_auto_is_decided_by_the_rows_of_the_table(table, tmp_path, monkeypatch):
    made = prepare_shards(table, tmp_path / "few", shards=4, graph_features="auto")
    assert made.graph_features == ("morgan", "rdkit2d")
    unread = pytest.warns(UserWarning, match="3 of 23 rows")
    with unread, pytest.warns(UserWarning, match="1 of 20 graphs"):
        whole = load(table, root=tmp_path, graph_features="auto")
    assert equal(load(tmp_path / "few", graph_features="auto"), whole)
    plain = prepare_shards(table, tmp_path / "plain", shards=4)
    assert plain.decided(("auto",)) == ()  # as they were prepared
    monkeypatch.setattr(graph_features, "MOST_ROWS", 23)
    assert made.decided(("auto",)) == ()
    many = prepare_shards(table, tmp_path / "many", shards=4, graph_features="auto")
    assert (many.graph_features, many.decided(("auto",))) == ((), ())


def test_columns_are_kept_for_graphs_that_are_read_again(assays, tmp_path):
    options = {"targets": "active", "columns": ("batch", "pH")}
    made = prepare_shards(assays, tmp_path / "shards", shards=4, **options)
    whole = load_raw(assays, **options)
    whole = whole.select([g for g in range(20) if g != 4])  # which has no target
    rows, again = made.rows(), made.raw([18, 2])
    assert Shards.open(tmp_path / "shards").columns == ("batch", "pH")
    for name in made.columns:
        expected = [spelled(cell) for cell in whole.columns[name]]
        assert rows.columns[name] == expected
        assert again.columns[name] == [expected[18], expected[2]]


@pytest.mark.parametrize(
    ("options", "match"),
    [({"columns": ("batsch",)}, "batsch"), ({"graph_features": "Morgan"}, "Morgan"),
     ({"graph_features": "active"}, "must not name what is predicted")],
)  # fmt: skip
def test_columns_that_cannot_be_read_are_refused_before_any_work(assays, tmp_path, options, match):
    with pytest.raises(ValueError, match=match):
        prepare_shards(assays, tmp_path / "shards", targets="active", **options)
    assert not list((tmp_path / "shards").glob("shard-*"))


def test_infinite_numbers_are_kept_as_text_and_refused_as_features(assays, tmp_path):
    lines = assays.read_text().splitlines()
    lines[22] = lines[22].replace(f"{21 / 7},", "1e999,")
    assays.write_text("\n".join(lines) + "\n")
    made = prepare_shards(assays, tmp_path / "a", targets="active", shards=4, columns=("pH",))
    assert made.rows().columns["pH"][-2] == "inf"
    with pytest.raises(ValueError, match="'pH' must hold finite numbers, got inf in row 22"):
        prepare_shards(assays, tmp_path / "b", targets="active", graph_features="pH")
    assert not list((tmp_path / "b").glob("shard-*"))


def test_rows_that_cost_their_row_are_counted_and_told(table, tmp_path):
    made = prepare_shards(table, tmp_path / "shards", shards=5)
    assert made.counts == {"rows": 23, "graphs": 19, "unreadable": 3, "unlabelled": 1}
    assert [row for row, _ in made.errors()] == [3, 10, 17]
    assert re.search("unclosed ring|RDKit cannot read", made.errors()[0][1])
    rows = made.rows()
    assert rows.rows.tolist() == [r for r in range(23) if r % 7 != 3 and r != 5]
    assert rows.targets["active"][:3] == ["0", "1", "0"]
    assert scaffolds(rows.ids)[2] == "c1ccccc1"


def test_rows_of_a_shard_without_graphs_are_told_too(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("smiles,y\nC1CC,1\n,0\nCCO,1\nCCN,0\nC1C,1\nCCC,1\n")
    made = prepare_shards(table, tmp_path / "shards", shards=3)
    assert (len(made), made.counts["unreadable"]) == (2, 3)
    assert [row for row, _ in made.errors()] == [row for row, _ in made.rows().errors] == [0, 1, 4]


def test_graphs_are_read_again_as_they_were(table, tmp_path):
    made = prepare_shards(table, tmp_path / "shards", shards=5)
    whole = load_raw(table)
    again = made.raw([18, 2])
    assert again.ids == (whole.ids[19], whole.ids[2])
    assert again.rows.tolist() == [22, 2]
    unions = (made.encoder.encode(graphs) for graphs in (again, whole.select([19, 2])))
    # Atoms may be in another order.
    first, second = (sorted(union.features.tolist()) for union in unions)
    assert first == second


def test_finished_shards_are_not_made_again(table, tmp_path, monkeypatch):
    folder, write = tmp_path / "shards", module._write_shard

    def write_three(folder, plan, number, *rest):
        if number == 3:
            raise KeyboardInterrupt
        write(folder, plan, number, *rest)

    monkeypatch.setattr(module, "_write_shard", write_three)
    with pytest.raises(KeyboardInterrupt):
        prepare_shards(table, folder, shards=6)
    # Tensors without the file that says they are whole are those of a process that was killed.
    (folder / "shard-00002.json").unlink()
    before = {p.name: p.stat().st_mtime_ns for p in folder.glob("*.safetensors")}
    monkeypatch.setattr(module, "_write_shard", write)
    done = []
    prepare_shards(table, folder, shards=6, progress=lambda *rows: done.append(rows))
    after = {p.name: p.stat().st_mtime_ns for p in folder.glob("*.safetensors")}
    assert {name for name, at in before.items() if after[name] == at} == {
        "shard-00000.safetensors", "shard-00001.safetensors",
    }  # fmt: skip
    assert done[0] == (8, 23)
    assert done[-1] == (23, 23)


def test_shards_of_a_helper_that_was_killed_are_made_by_the_others(table, tmp_path, monkeypatch):
    folder, helped = tmp_path / "shards", []

    def killed(folder):
        helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        os.kill(helper.pid, signal.SIGKILL)
        helped.append(helper)
        return helper

    monkeypatch.setattr(module, "_helper", killed)
    assert len(prepare_shards(table, folder, shards=3, processes=3)) == 3
    assert [helper.wait() for helper in helped] == [-signal.SIGKILL] * 2


@pytest.mark.slow
def test_a_helper_makes_shards_of_its_own(table, tmp_path):
    folder = tmp_path / "shards"
    plan = module._plan(table, folder, {
        "source": str(table), "targets": None, "task": None, "smiles_column": None,
        "molecules": MoleculeFeatures().to_json(), "graph_features": [], "columns": [],
        "compress": True, "pair_code": "none", "shards": 4,
    })  # fmt: skip
    helper = module._helper(folder)
    assert helper.wait(120) == 0
    assert module._rows_done(folder, plan) == 23
    at = {path: path.stat().st_mtime_ns for path in folder.glob("shard-*")}
    assert len(prepare_shards(table, folder, shards=4)) == 4
    assert {path: path.stat().st_mtime_ns for path in at} == at


def test_a_folder_of_something_else_is_refused(table, tmp_path):
    prepare_shards(table, tmp_path / "shards", shards=2)
    with pytest.raises(ValueError, match="shards 2 → 3"):
        prepare_shards(table, tmp_path / "shards", shards=3)
    time.sleep(0.01)
    table.write_text(table.read_text() + "CC,1\n")
    with pytest.raises(ValueError, match="made of something else: size"):
        prepare_shards(table, tmp_path / "shards", shards=2)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="must be empty or hold shards"):
        prepare_shards(table, tmp_path / "other")


def test_a_table_without_a_molecule_is_refused_with_its_reason(tmp_path):
    (tmp_path / "bad.csv").write_text(f"smiles,y\n{UNREADABLE},0\n{UNREADABLE},1\n")
    with pytest.raises(ValueError, match=r"2 rows that cannot be read \(row 1: .*(unclosed|RDKit)"):
        prepare_shards(tmp_path / "bad.csv", tmp_path / "shards")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(["0", "1", "NA", "1"], "binary"), (["a", "b", "c", "a"], "multiclass"),
     ([str(i / 7) for i in range(30)], "regression")],
)  # fmt: skip
def test_task_of_a_stream_is_that_of_the_column(tmp_path, cells, kind, monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 12)
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\n" + "\n".join(f"C,{cell}" for cell in cells))
    table = module.open_table(path)
    task, rows = module._streamed_task(table, ["y"], None)
    assert (task.kind, rows) == (kind, len(cells))
    assert task == module.Task.infer({"y": cells})


def test_too_few_shards_for_the_rows_are_refused(table, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    with pytest.raises(ValueError, match="`shards` must be 3 or more"):
        prepare_shards(table, tmp_path / "shards", shards=2)
    assert len(prepare_shards(table, tmp_path / "other")) == 3


@pytest.mark.parametrize(
    "change", [{"rows": 10**12}, {"shards": 2}, {"structures": 3}, {"task": {}}, {"columns": None}]
)
def test_a_plan_that_lies_is_refused(table, tmp_path, change):
    prepare_shards(table, tmp_path / "shards", shards=3)
    plan = tmp_path / "shards" / "plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | change))
    with pytest.raises(ValueError, match=r"plan.json must be as .* prepare the table again"):
        prepare_shards(table, tmp_path / "shards", shards=3)


def test_a_table_that_changes_while_it_is_read_is_refused(table, tmp_path, monkeypatch):
    work = module._work

    def meanwhile(*given, **options):
        work(*given, **options)
        table.write_text(table.read_text() + "CC,1\n")

    monkeypatch.setattr(module, "_work", meanwhile)
    with pytest.raises(ValueError, match="made of something else: size"):
        prepare_shards(table, tmp_path / "shards", shards=2)
