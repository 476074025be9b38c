"""A folder of shards is read as it was written, and one that lies is refused with its file."""

import hashlib
import json

import pytest
import torch

from lgan.data import Shards, prepare_shards
from lgan.data.cache import load_tensors, save_tensors
from lgan.data.shards.union import ShardedUnion


@pytest.fixture
def shards(tmp_path):
    """Three shards of twelve molecules with a column of numbers, one of which cannot be read."""
    smiles = ["CCO", "C1CC1", "c1ccccc1", "CC(=O)O", "C#N", "C1CC"]
    lines = [f"{text},{i % 2},{i / 7}" for i, text in enumerate(smiles * 2)]
    (tmp_path / "table.csv").write_text("\n".join(["smiles,active,pH", *lines]) + "\n")
    return prepare_shards(
        tmp_path / "table.csv", tmp_path / "shards", targets="active", shards=3,
        graph_features="morgan,pH",
    )  # fmt: skip


def edited(path, change):
    """Change what a JSON file holds."""
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))


def forged(shards, change):
    """The folder with another first shard, whose checksums are right."""
    path = shards.files[0].path
    tensors = {name: t.clone() for name, t in load_tensors(path)[0].items()}
    change(tensors)
    save_tensors(path, tensors, {})
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    edited(path.with_suffix(".json"), lambda told: told.update(sha256=checksum))
    edited(shards.folder / "manifest.json", lambda t: t["files"].update({path.name: checksum}))
    return Shards.open(shards.folder)


def read_all(shards):
    """Everything that is read of a folder when it is trained on."""
    rows = shards.rows()
    for name in ("graph_nodes", "graph_keys", "graph_work"):
        shards.column(name)
    ShardedUnion(shards, 1).batch(torch.arange(2))
    return rows, shards.union()


def test_a_folder_that_is_not_finished_or_lost_a_file_says_so(shards):
    shards.files[1].path.unlink()
    with pytest.raises(ValueError, match=r"1 of 3 are missing\). Delete .*, shard-00001.json"):
        Shards.open(shards.folder)
    manifest = shards.folder / "manifest.json"
    manifest.unlink()
    with pytest.raises(ValueError, match="Finish them with `lgan data prepare`"):
        Shards.open(shards.folder)
    for text, got in ((json.dumps({"format": 99}), "99"), ("[1]", "'list'")):
        manifest.write_text(text)
        with pytest.raises(ValueError, match=f"must have the format 1, got {got}"):
            Shards.open(shards.folder)


def test_the_remedy_of_a_lost_or_broken_shard_makes_it_anew(shards):
    expected = shards.union().tensors()
    path = shards.files[0].path
    path.write_bytes(path.read_bytes()[:-8])
    opened = Shards.open(shards.folder)
    with pytest.raises(ValueError, match=r"the checksum .* Delete manifest.json, shard-00000"):
        opened.union()
    for name in ("manifest.json", "shard-00000.safetensors", "shard-00000.json"):
        (shards.folder / name).unlink()
    table = shards.folder.parent / "table.csv"
    options = {"targets": "active", "shards": 3, "graph_features": "morgan,pH"}
    again = prepare_shards(table, shards.folder, **options).union().tensors()
    assert [name for name in expected if not torch.equal(expected[name], again[name])] == []


@pytest.mark.parametrize(
    ("change", "match"),
    [(lambda t: t.pop("name"), "KeyError: 'name'"),
     (lambda t: t.update(name=7), "name 7"),
     (lambda t: t.update(options={"compress": 1, "pair_code": "none"}), "options"),
     (lambda t: t["counts"].update(rows=-1), "counts"),
     (lambda t: t.update(columns="pH"), "columns pH"),
     (lambda t: t.update(files={}), "files"),
     (lambda t: t.update(files={"../shard-00000.safetensors": ""}), "files"),
     (lambda t: t["encoder"].update(task=None), "without task"),
     (lambda t: t.update(encoder=[]), "encoder|indices"),
     (lambda t: t["files"].update({"shard-00001.safetensors": "0"}), "that of another")],
)  # fmt: skip
def test_a_manifest_that_lies_is_refused(shards, change, match):
    edited(shards.folder / "manifest.json", change)
    with pytest.raises(ValueError, match=match) as refused:
        Shards.open(shards.folder)
    assert "Delete manifest.json" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "match"),
    [(lambda t: t.update(graphs=-1), "the counts"), (lambda t: t.update(rows="4"), "the counts"),
     (lambda t: t.update(errors=[[0]]), "unpack"), (lambda t: t.update(errors=[[0, 1]]), "texts"),
     (lambda t: t.update(more=1), "more"), (lambda t: t.pop("tables"), "tables")],
)  # fmt: skip
def test_what_is_told_of_a_shard_must_fit(shards, change, match):
    edited(shards.files[1].path.with_suffix(".json"), change)
    with pytest.raises(ValueError, match=rf"shard-00001.json must be as .*{match}"):
        Shards.open(shards.folder)


@pytest.mark.parametrize(
    ("change", "match"),
    [(lambda t: t.pop("value_morgan"), "without `value_morgan`"),
     (lambda t: t.pop("cells"), "without `cells`"),
     (lambda t: t["graph_places"].add_(99), "`graph_places` must hold molecules from 0 to"),
     (lambda t: t.update(graph_places=t["graph_places"].float()), "graph_places"),
     (lambda t: t.update(cells=torch.zeros(3, dtype=torch.uint8)), "JSON"),
     (lambda t: t.pop("smiles"), "smiles"),
     (lambda t: t.update(smiles=t["smiles"][:3]), "1 SMILES for 4 graphs"),
     (lambda t: t.update(smiles=torch.full_like(t["smiles"], 255)), "codec"),
     (lambda t: t["y"].add_(7), "classes"),
     (lambda t: t.update(y=t["y"][:1]), "`y`"),
     (lambda t: t["graph_rows"].sub_(99), "graph_rows"),
     (lambda t: t.update(graph_keys=t["graph_keys"][:1]), "graph_keys"),
     (lambda t: t.update(graph_work=t["graph_work"].float()), "graph_work"),
     (lambda t: t["node_ptr"].add_(1), "node_ptr"),
     (lambda t: t["node_ptr"][-1].add_(10**9), "node_ptr"),
     (lambda t: t["pair_index"].add_(10**6), "pair_index"),
     (lambda t: t["x"].add_(10**6), "10000|x"),
     (lambda t: t.pop("numbers"), "numbers")],
)  # fmt: skip
def test_a_shard_that_lies_is_refused_by_its_name(shards, change, match):
    opened = forged(shards, change)
    with pytest.raises(ValueError, match=rf"(?s)shard-00000.*{match}"):
        read_all(opened)


def test_other_atoms_than_the_shard_has_are_refused(shards):
    path = shards.files[0].path.with_suffix(".json")
    edited(path, lambda told: told.update(tables=[[[6, 0]], []]))
    with pytest.raises(ValueError, match="shard-00000"):
        read_all(Shards.open(shards.folder))
