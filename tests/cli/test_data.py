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
    assert (facts["name"], facts["graphs"], facts["classes"]) == ("csl", 150, 10)
    assert (facts["nodes"], facts["edges"]) == (150 * 41, 150 * 82)
    # A skip of 2 makes 41 triangles (i, i + 1, i + 2); no other skip makes any.
    assert facts["triangles"] == 15 * 41
    assert facts["graphs per class"] == [15] * 10
    assert "cache" not in facts
    assert empty()


def test_info_is_a_table_for_people(lgan):
    ran = lgan("data", "info", "triangles")
    assert ran.code == 0
    assert "triangles: Pairs that 1-WL cannot separate" in " ".join(ran.out.split())
    assert "graphs per class" in ran.out
    assert "[100, 100]" in ran.out


@pytest.mark.parametrize("command", ["prepare", "info"])
def test_unknown_set_is_answered_with_the_names(command, lgan, empty):
    ran = lgan("data", command, "mutagg")
    assert ran.code == 2
    assert "Unknown data set 'mutagg'. Did you mean MUTAG? Choose one of: MUTAG, PTC_MR" in ran.err
    assert empty()


def test_unknown_features_are_bad_usage(lgan, empty):
    ran = lgan("data", "info", "triangles", "--features", "colours")
    assert ran.code == 2
    assert "Choose one of: labels, attributes" in ran.err
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
    assert (facts["classes"], facts["node features"], facts["triangles"]) == (2, 7, 0)
    assert (tmp_path / facts["cache"]).is_file()
    again = lgan("data", "info", "MUTAG", "--root", "here", "--json")  # no mirror any more
    assert again.code == 0, again.err
    assert {**again.json, "seconds": 0, "cache": ""} == {**facts, "seconds": 0, "cache": ""}
    shown = lgan("data", "prepare", "MUTAG", "--root", "here")
    assert facts["cache"] in shown.out
    assert "ready: lgan cv MUTAG" in shown.out


@pytest.mark.data
def test_facts_of_imdb_are_the_same_with_twins_merged(lgan, mirror):
    facts = [
        json.loads(lgan("data", "info", "IMDB-BINARY", "--mirror", mirror, compress, "--json").out)
        for compress in ("--compress", "--no-compress")
    ]
    for key in ("graphs", "nodes", "edges", "triangles", "node features"):
        assert facts[0][key] == facts[1][key], key
    assert facts[0]["triangles"] == 391_991
    assert facts[0]["nodes after merging twins"] == 5_357
    assert facts[1]["nodes after merging twins"] == facts[1]["nodes"] == 19_773
