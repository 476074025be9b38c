import signal

import numpy as np
import pytest

pytest.importorskip("rdkit")

from lgan.data.molecules import workers
from lgan.data.molecules.featurise import featurise
from lgan.data.molecules.workers import featurised

CHUNKS = [["CCO", "bad"], ["c1ccccc1"], [], ["C", "N", "C1"], ["[Na+].[Cl-]"], ["O"], ["CC"]]


@pytest.mark.parametrize("options", [{}, {"hydrogens": True}])
def test_workers_give_what_one_process_gives_in_order(options: dict[str, bool]) -> None:
    given = list(featurised(CHUNKS, processes=2, **options))
    assert len(given) == len(CHUNKS)
    for chunk, rows in zip(given, CHUNKS, strict=True):
        expected = vars(featurise(rows, **options))
        for name, value in vars(chunk).items():
            assert np.array_equal(value, expected[name]), name


def test_chunks_are_asked_for_as_they_are_needed() -> None:
    taken = []

    def chunks():
        for i in range(100):
            taken.append(i)
            yield ["C"]

    stream = featurised(chunks(), processes=2)
    next(stream)
    assert len(taken) <= 2 + 2 * workers.CHUNKS_AHEAD
    stream.close()


def test_processes_end_with_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = workers._Workers._start

    def noted(self):
        process = start(self)
        started.append(process)
        return process

    monkeypatch.setattr(workers._Workers, "_start", noted)
    stream = featurised([["C"]] * 50, processes=2)
    next(stream)
    stream.close()
    assert started
    assert all(process.poll() is not None for process in started)


def test_a_molecule_that_brings_a_worker_down_is_an_error_of_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = workers._Workers._ask

    def ask(self, chunk):
        if "boom" in chunk:  # as a fault inside RDKit would
            process = getattr(self._own, "process", None) or self._start()
            process.send_signal(signal.SIGKILL)
            process.wait()
        return asked(self, chunk)

    monkeypatch.setattr(workers._Workers, "_ask", ask)
    first, second = featurised([["C", "N", "boom", "O", "CC"], ["CCC"]], processes=2)
    assert first.errors == ((2, "RDKit broke down on this molecule"),)
    assert first.smiles == ("C", "N", "O", "CC")
    assert first.rows.tolist() == [0, 1, 3, 4]
    assert second.smiles == ("CCC",)


def test_a_worker_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.script, "__file__", "/nowhere.py")
    with pytest.raises(RuntimeError, match=r"must start with .*exit code 2\. Pass `processes=1`"):
        list(featurised([["C"], ["N"]], processes=2))
