"""Every benchmark in its quick form gives well-formed rows."""

from importlib import import_module

import pytest
import torch

from benchmarks import BENCHMARKS, BenchConfig
from benchmarks.child import ChildRun

# They measure in processes of their own; here the same functions run in this one.
IN_CHILDREN = ("blocks", "codes", "large", "scaling")
NEEDS_DATA = ("prepare",)
SLOW = ("molecules", "molecule-training", "scale")


def _in_process(function, arguments, **_):
    module, _, name = function.partition(":")
    result = getattr(import_module(module), name)(**arguments)
    return ChildRun(0.0, 1 << 20, "", "", result)


@pytest.fixture(
    params=[pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in BENCHMARKS]
)
def name(request, monkeypatch):
    if request.param in NEEDS_DATA:
        request.node.add_marker(pytest.mark.data)
    if request.param in IN_CHILDREN:
        module = import_module(f"benchmarks.{request.param}")
        monkeypatch.setattr(module, "call_in_child", _in_process)
    return request.param


def test_every_benchmark_gives_well_formed_rows(name, request, tmp_path):
    mirror = str(request.getfixturevalue("mirror")) if name in NEEDS_DATA else None
    said = []
    config = BenchConfig(quick=True, root=tmp_path, mirror=mirror, progress=said.append)
    rows = BENCHMARKS[name].run(config)
    assert rows
    assert said
    cases = [(row.name, row.peer, row.size) for row in rows]
    assert len(set(cases)) == len(cases)
    for row in rows:
        assert row.name
        assert row.what
        assert row.seconds is None or row.seconds > 0
        assert row.peer_seconds is None or row.peer_seconds > 0
        assert row.seconds is not None or row.note
        assert row.peer is None or row.peer_seconds is not None or row.note
        assert row.bar is None or row.holds is not None or row.note
        assert all(isinstance(value, int | float) for value in row.detail.values())


def test_a_benchmark_fits_its_device_only():
    cpu, cuda = torch.device("cpu"), torch.device("cuda")
    assert BENCHMARKS["triangles"].fits(cpu)
    assert not BENCHMARKS["triangles"].fits(cuda)
    assert BENCHMARKS["product"].fits(cuda)
    assert not BENCHMARKS["paper"].fits(cpu)
