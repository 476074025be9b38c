"""Processes that train as one: what fails in one of them fails in all, and is told."""

import os
import socket
import subprocess
import sys

import networkx as nx
import pytest
import torch

import lgan as library
from lgan.cli import joined
from lgan.cli.failure import report
from lgan.cli.screen import console, log
from lgan.ops import together


@pytest.fixture
def beside(monkeypatch):
    """Makes this process the first of two, the other of which gives what it is told to."""

    def told(other):
        monkeypatch.setattr(together, "workers", lambda: 2)
        monkeypatch.setattr(together, "rank", lambda: 0)
        monkeypatch.setattr(together, "gathered", lambda own: [own, other(own)])

    return told


def test_what_fails_elsewhere_fails_here_and_names_the_machine(beside):
    beside(lambda _: "lgh2: There is no file t.csv.")
    said = r"could not begin, on lgh2: There is no file t.csv\."
    with pytest.raises(ValueError, match=said), joined.all_or_none():
        pass


def test_what_fails_here_is_raised_as_it_is_and_told_by_who_was_silent(beside, monkeypatch):
    for screen in (console, log):
        monkeypatch.setattr(screen, "quiet", True)
    beside(lambda _: "")
    with pytest.raises(OSError, match="no room"), joined.all_or_none():
        raise OSError("no room")
    assert not log.quiet


def test_a_restart_of_one_is_one_of_all(beside):
    assert not joined.restarted()
    beside(lambda _: True)
    assert joined.restarted()


def test_different_data_are_refused(beside):
    union, fold = library.load(["CC", "CO", "CN"], targets={"y": [0, 1, 0]}), torch.arange(3)
    joined.check_same_data(union, fold)
    beside(lambda own: own)
    joined.check_same_data(union, fold)
    beside(lambda own: ("other", "lgh2"))
    with pytest.raises(ValueError, match="must read the same data in the same order, got others"):
        joined.check_same_data(union, fold)


def test_data_in_another_order_are_different(beside):
    said = []
    beside(lambda own: said.append(own[0]) or own)
    for smiles in (["CCO", "CCN", "CC"], ["CCN", "CCO", "CC"]):
        union = library.load(smiles, targets={"y": [0, 0, 1]})
        joined.check_same_data(union, torch.arange(3))
    assert said[0] != said[1]


def test_other_features_of_edges_are_other_data(beside):
    said = []
    beside(lambda own: said.append(own[0]) or own)
    for kinds in ("abab", "baba"):
        ring = nx.cycle_graph(4)
        told = dict(zip(ring.edges, kinds, strict=True))
        nx.set_edge_attributes(ring, told, "kind")
        union = library.load([ring, ring], targets={"y": [0, 1]})
        joined.check_same_data(union, torch.arange(2))
    assert said[0] != said[1]


def test_a_state_that_only_one_sees_is_refused(beside, tmp_path):
    (tmp_path / "state-0.safetensors").touch()
    beside(lambda own: own)
    joined.check_same_state(tmp_path)
    beside(lambda own: ("[]", "lgh2"))
    with pytest.raises(ValueError, match="must see the same state of the run"):
        joined.check_same_state(tmp_path)


def test_a_lost_process_is_no_mistake_of_ours(capsys):
    text = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537] Read error [10.0.0.2]"
    assert report(RuntimeError(text), as_json=False, debug=False) == 1
    said = capsys.readouterr().err
    assert "Another process of this training was lost" in said
    assert "mistake in lgan" not in said


@pytest.mark.slow
def test_a_source_that_one_process_does_not_have_ends_all(tmp_path):
    rows = "\n".join(f"{'C' * (1 + i % 5)}{'ON'[i % 2]},{i % 2}" for i in range(40))
    for rank in range(2):
        (tmp_path / str(rank)).mkdir()
    (tmp_path / "0" / "t.csv").write_text(f"smiles,active\n{rows}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "lgan", "train", "t.csv"], cwd=tmp_path / str(rank),
            env={**os.environ, **where, "RANK": str(rank), "PYTHONPATH": path},
            stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [1, 2]
    assert "could not begin, on" in said[0]
    assert all("There is no file or folder t.csv" in text for text in said)
    assert not (tmp_path / "0" / "runs").exists()
