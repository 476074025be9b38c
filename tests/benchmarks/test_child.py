import pytest

from benchmarks import child
from benchmarks.child import call_in_child, run_child


def test_the_peak_is_that_of_the_child_alone():
    ballast = bytearray(300 << 20)  # memory of this process must not count
    small = run_child("print('done')")
    large = run_child("data = bytearray(200 << 20)")
    assert len(ballast)
    assert small.output == "done\n"
    assert small.problem == large.problem == ""
    assert small.memory < 100 << 20 < large.memory - small.memory < 300 << 20


def test_a_failure_is_told_in_one_line():
    run = run_child("import sys; sys.exit('no such graph')")
    assert run.problem == "failed (no such graph)"
    assert "ran out of memory" in run_child("raise MemoryError").problem


def test_a_child_that_takes_too_long_is_stopped():
    run = run_child("import time; time.sleep(60)", timeout=0.5)
    assert run.problem == "did not finish in 0.5 s"
    assert run.memory is None


def test_a_function_is_called_with_its_arguments_within_its_memory():
    run = call_in_child("builtins:dict", {"edges": 3}, memory_limit=8 << 30)
    assert run.problem == ""
    assert run.result == {"edges": 3}


def test_a_peak_can_be_forgotten():
    ballast = bytearray(200 << 20)
    before = child.peak_memory()
    del ballast
    child.reset_peak()
    assert child.peak_memory() <= before


def test_memory_is_counted_in_bytes():
    assert 1 << 20 < child.resident_memory() <= child.peak_memory()
    assert child.available_memory() > 1 << 20


@pytest.mark.parametrize("field", ["VmHWM", "VmNoSuch"])
def test_an_unknown_field_is_none(field):
    found = child._kilobytes("self/status", field)
    assert found is None or found > 0
