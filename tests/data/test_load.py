import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import lgan._sources
from lgan import GraphUnion, load
from lgan._sources import source_digest
from lgan.data import DATASETS, DatasetSpec, prepared_path

TINY = DatasetSpec(
    name="TINY",
    kind="molecule",
    graphs=2,
    classes=2,
    features="labels",
    readout="sum",
    description="A triangle and an edge",
)


@pytest.fixture
def tiny(pack: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that holds the archive of a tiny set, which is known by name meanwhile."""
    monkeypatch.setitem(DATASETS, "TINY", TINY)
    monkeypatch.delenv("LGAN_MIRROR", raising=False)
    return pack().parent


def _same(a: GraphUnion, b: GraphUnion) -> bool:
    x, y = a.tensors(), b.tensors()
    return (a.name, x.keys()) == (b.name, y.keys()) and all(
        torch.equal(x[key], y[key]) and x[key].dtype == y[key].dtype for key in x
    )


def _cached(root: Path) -> list[Path]:
    return sorted((root / "prepared").glob("*.safetensors"))


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("features", ["labels", "attributes", "labels+attributes", "degree"])
def test_cache_gives_what_a_fresh_build_gives(features, compress, tiny, tmp_path):
    options = {"features": features, "compress": compress}
    fresh = load("TINY", root=tmp_path / "root", mirror=tiny, **options)
    (tiny / "TINY.zip").unlink()
    cached = load("TINY", root=tmp_path / "root", mirror=tiny, **options)
    assert _same(cached, fresh)
    assert (cached.num_graphs, cached.num_classes, cached.original_nodes) == (2, 2, 5)


def test_cache_is_a_file_per_choice_of_options(tiny, tmp_path):
    root = tmp_path / "root"
    for features in ("labels", "degree"):
        for compress in (True, False):
            load("TINY", root=root, mirror=tiny, features=features, compress=compress)
            path = prepared_path("TINY", root=root, features=features, compress=compress)
            assert path.exists()
    assert len(_cached(root)) == 4
    assert prepared_path("TINY", root=root) == prepared_path("TINY", root=root, features="labels")


def test_files_of_one_s_own_are_cached_until_they_change(tmp_path):
    pytest.importorskip("rdkit")
    table, root = tmp_path / "molecules.csv", tmp_path / "root"
    table.write_text("smiles,active,size\nCCO,yes,1.5\nc1ccccc1,no,2.5\nCCN,no,3.5\n")
    fresh = load(table, targets=["active"], root=root)
    cached = load(str(table), targets=["active"], root=root)
    assert _same(cached, fresh)
    assert (cached.task, cached.name) == (fresh.task, "molecules.csv")
    assert len(_cached(root)) == 1
    assert load(table, targets=["size"], task="regression", root=root).y.shape == (3, 1)
    assert len(_cached(root)) == 2
    table.write_text("smiles,active,size\nCCO,yes,1.5\nc1ccccc1,no,2.5\n")
    assert load(table, targets=["active"], root=root).num_graphs == 2


def test_changed_code_does_not_read_the_cache(tiny, tmp_path, monkeypatch):
    load("TINY", root=tmp_path / "root", mirror=tiny)
    package = shutil.copytree(Path(lgan._sources.__file__).parent, tmp_path / "lgan")
    with (package / "graph" / "pair_codes.py").open("a") as file:
        file.write("# another way to count\n")
    monkeypatch.setattr(lgan._sources, "__file__", str(package / "_sources.py"))
    source_digest.cache_clear()
    load("TINY", root=tmp_path / "root", mirror=tiny)
    source_digest.cache_clear()
    assert len(_cached(tmp_path / "root")) == 2


def test_interrupted_preparation_leaves_nothing_and_the_next_run_recovers(
    tiny, tmp_path, monkeypatch
):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    root = tmp_path / "root"
    with monkeypatch.context() as patched:
        patched.setattr(GraphUnion, "build", interrupted)
        with pytest.raises(KeyboardInterrupt):
            load("TINY", root=root, mirror=tiny)
    assert not _cached(root)
    path = prepared_path("TINY", root=root)
    stale = path.with_name(f".{path.name}.0123.tmp")
    stale.write_bytes(b"half a file of a writer that was killed")
    assert load("TINY", root=root, mirror=tiny).num_graphs == 2
    assert not stale.exists()
    assert _cached(root) == [path]


def test_preparation_that_fails_to_write_leaves_nothing(tiny, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    root = tmp_path / "root"
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match=r"No space left on device.*Free some space"):
            load("TINY", root=root, mirror=tiny)
    assert not _cached(root)
    assert load("TINY", root=root, mirror=tiny).num_graphs == 2


def test_two_processes_prepare_a_set_at_once_and_one_does_the_work(tiny, tmp_path):
    code = """
        import sys, time
        from pathlib import Path
        from lgan import GraphUnion, load
        from lgan.data import DATASETS, DatasetSpec

        folder, me = Path(sys.argv[1]), sys.argv[2]
        DATASETS["TINY"] = DatasetSpec("TINY", "molecule", 2, 2, "labels", "sum", "")
        build = GraphUnion.build

        def slow(*arguments, **options):
            (folder / f"built-by-{me}").touch()
            time.sleep(0.5)
            return build(*arguments, **options)

        GraphUnion.build = slow
        (folder / f"ready-{me}").touch()
        while not (folder / f"ready-{1 - int(me)}").exists():
            time.sleep(0.01)
        union = load("TINY", root=folder / "root", mirror=folder)
        assert (union.num_graphs, union.original_nodes) == (2, 5)
        """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(tiny), str(me)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for me in range(2)
    ]
    for process in processes:
        errors = process.communicate()[1]
        assert process.returncode == 0, errors
    assert len(list(tiny.glob("built-by-*"))) == 1
    assert _cached(tiny / "root") == [prepared_path("TINY", root=tiny / "root")]


def test_progress_is_told_while_files_are_read(tiny, tmp_path):
    told: list[float] = []
    load("TINY", root=tmp_path / "root", mirror=tiny, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("name", ["triangles", "motifs-ba"])
def test_generated_sets_depend_on_the_seed_and_are_not_stored(name, tmp_path):
    one = load(name, root=tmp_path, seed=1)
    assert _same(one, load(name, root=tmp_path, seed=1))
    assert not torch.equal(one.lines.pair_index, load(name, root=tmp_path, seed=2).lines.pair_index)
    assert not list(tmp_path.iterdir())


def test_unknown_set_is_answered_with_the_names(tmp_path):
    with pytest.raises(ValueError, match=r"'mutga'.*Did you mean MUTAG.*PTC_MR, "):
        load("mutga", root=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.data
@pytest.mark.parametrize("compress", [True, False])
def test_mutag_comes_from_its_cache_as_it_was_built(compress, mirror, tmp_path):
    fresh = load("MUTAG", root=tmp_path, mirror=mirror, compress=compress)
    assert _same(load("MUTAG", root=tmp_path, mirror=tmp_path, compress=compress), fresh)
    assert fresh.num_graphs == 188
    assert torch.bincount(fresh.y).tolist() == [63, 125]


@pytest.mark.parametrize("name", ["shape", "patterns"])
def test_a_column_called_like_what_is_computed_is_told_to_be_another(
    name: str, tmp_path: Path
) -> None:
    columns = {"smiles": ["CCO", "CC", "CCC"], "y": [0, 1, 0], name: [7, 8, 9]}
    path = tmp_path / "a.csv"
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    for source in (columns, path):
        with pytest.warns(UserWarning, match=f"column '{name}' is not read: .* Rename the column"):
            union = load(source, targets="y", graph_features=name, root=tmp_path)
        assert union.num_graph_features > 1
    assert load(columns, targets="y", root=tmp_path).num_graphs == 3  # without a word
    with pytest.warns(UserWarning, match="`auto` means that the source decides"):
        load({**columns, "auto": [1, 2, 3]}, targets="y", graph_features="auto", root=tmp_path)
