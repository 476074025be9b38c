import json

import pytest

from lgan.catalogue import DATASETS
from lgan.data import read_folds
from paper.records import GIN_FOLDS, default_settings, fold_key, read_runs, row_name


def test_a_record_is_read_as_far_as_a_table_needs(record, folder):
    path = record("a", [4, 3, 2, 4, 4], inner=True, seed=7, dropout=0.5)
    [run] = read_runs(folder)
    assert (run.path, run.model, run.row) == (path, "lgan", "lgan")
    assert (run.dataset, run.seed) == ("MUTAG", 7)
    assert run.results["gin"] == (1.0, 0.75, 0.5, 1.0, 1.0)
    assert run.results["fair"] == (0.75, 0.5, 0.25, 0.75, 0.75)
    assert run.test_share == pytest.approx(4 / 16)
    assert run.settings["dropout"] == 0.5
    assert "seed" not in run.settings


def test_a_setting_left_out_has_its_default(record, folder):
    record("old", [4, 4])
    new = {"comb": "deepsets", "num_layers": 4, "features": "labels", "compress": True}
    record("new", [4, 4], config={"weight_decay": 0.0, "batch_size": 32}, **new)
    old, new = sorted(read_runs(folder), key=lambda run: run.path.name, reverse=True)
    assert old.settings == new.settings


def test_a_pair_code_makes_a_row(record, folder):
    record("a", [4, 4], pair_code="full")
    record("b", [4, 4], pair_code="none")
    assert [run.row for run in read_runs(folder)] == ["lgan + full", "lgan"]
    assert row_name("lgan-res", {"pair_code": "triangles"}) == "lgan-res + triangles"
    assert row_name("lgan-code", {"pair_code": "triangles"}) == "lgan-code"


def test_default_settings_are_those_of_the_command(record, folder):
    wanted = default_settings("lgan", "IMDB-BINARY")
    assert (wanted["features"], wanted["readout"], wanted["batch_size"]) == ("degree", "mean", 32)
    assert "seed" not in wanted


def test_a_file_that_is_no_record_is_named(folder):
    folder.mkdir()
    (folder / "x.json").write_text(json.dumps({"model": {"name": "lgan"}}))
    with pytest.raises(ValueError, match=r"record of `lgan cv` in .*x.json.*'config'"):
        read_runs(folder)


@pytest.mark.data
@pytest.mark.parametrize("name", GIN_FOLDS)
def test_published_folds_are_known_by_their_key(splits_folder, name):
    folds = read_folds(splits_folder / name, DATASETS[name].graphs)
    assert fold_key(folds.tolist()) == GIN_FOLDS[name]
