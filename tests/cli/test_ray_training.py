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
