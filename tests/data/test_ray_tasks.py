"""Tasks on a Ray cluster do what they do here, also when a worker is lost."""

import os
import signal

import pytest

from lgan.data import prepare_shards
from lgan.data.shards import prepare as module
from lgan.data.shards.ray_tasks import on_ray

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("local_ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning"),
]


def test_calls_are_read_as_they_are_worked_off():
    read = []

    def calls():
        for number in range(12):
            read.append(number)
            yield (number,)

    ended = []
    for result in on_ray("auto", lambda shift, x: shift + x, calls(), shared=(100,)):
        ended.append(result)
        assert len(read) - len(ended) <= 3
    assert sorted(ended) == list(range(100, 112))


def test_an_error_of_the_function_is_raised_as_it_is():
    def odd(number):
        if number == 1:
            raise ValueError("`number` must be even, got 1.")

    with pytest.raises(ValueError, match=r"^`number` must be even, got 1.$"):
        list(on_ray("auto", odd, [(0,), (1,)]))


def test_shards_made_on_ray_are_those_made_here_also_when_a_worker_dies(tmp_path, monkeypatch):
    table = tmp_path / "t.csv"
    smiles = ["CCO", "c1ccccc1Br", "C1CC", "C#N", "CC(=O)[O-]"]
    table.write_text("smiles,y\n" + "\n".join(f"{smiles[i % 5]},{i % 2}" for i in range(40)))
    here = prepare_shards(table, tmp_path / "here", shards=6)
    make, mark = module._make, tmp_path / "died"

    def dying(folder, plan, number, block):
        if number == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        make(folder, plan, number, block)

    monkeypatch.setattr(module, "_make", dying)
    monkeypatch.setattr(module, "_work", lambda *_, **__: None)
    there = prepare_shards(table, tmp_path / "there", shards=6, ray="auto")
    assert mark.exists()
    names = [path.name for path in sorted((tmp_path / "here").glob("[sm]*"))]
    assert len(names) == 13
    for name in names:
        assert (there.folder / name).read_bytes() == (here.folder / name).read_bytes(), name


def test_processes_do_not_go_with_ray(tmp_path):
    with pytest.raises(ValueError, match="`processes` must be left out with `ray`"):
        prepare_shards("t.csv", tmp_path, processes=2, ray="auto")
