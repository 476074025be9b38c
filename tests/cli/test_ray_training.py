import pytest

from lgan.cli.ray_training import without_ray


@pytest.mark.parametrize(
    "words",
    [["train", "t.csv", "--ray", "auto", "--workers", "2", "--seed", "1"],
     ["train", "--workers=2", "t.csv", "--seed", "1", "--resume", "--ray=auto"]],
)  # fmt: skip
def test_workers_run_the_command_itself_and_go_on(words):
    assert without_ray(words) == ["train", "t.csv", "--seed", "1", "--resume"]


def test_workers_are_for_ray(lgan, tmp_path):
    (tmp_path / "t.csv").write_text("smiles,y\nC,1\nN,0\n")
    ran = lgan("train", "t.csv", "--workers", "2")
    assert ran.code == 2
    assert "on one machine use torchrun" in ran.err


def test_ray_predicts_in_parts_and_prepares_tables(lgan, tmp_path):
    (tmp_path / "t.csv").write_text("smiles\nC\n")
    ran = lgan("predict", "model.safetensors", "t.csv", "--ray", "auto")
    assert (ran.code, "add `--shards`" in ran.err) == (2, True)
    ran = lgan("data", "prepare", "t.csv", "--ray", "auto", "--processes", "2")
    assert ran.code != 0
    assert "`processes` must be left out with `ray`" in ran.err
