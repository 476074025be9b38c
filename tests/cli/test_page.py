"""`lgan app` from the command line: what it needs, where it listens, how it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from importlib import import_module

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from lgan.app.server import listen, next_free
from lgan.data import GraphFeatures
from molecule_models import predictor


def busy_port() -> tuple[socket.socket, int]:
    held = listen("127.0.0.1", 0)
    return held, held.getsockname()[1]


def test_a_missing_extra_is_named_before_any_work(lgan, monkeypatch, tmp_path):
    def missing(name):
        if name == "uvicorn":
            raise ImportError(name)
        return import_module(name)

    monkeypatch.setattr("lgan._optional.import_module", missing)
    ran = lgan("app", tmp_path / "no.safetensors")
    assert ran.code == 1
    assert "pip install 'lgan[app]'" in ran.err


def test_a_busy_port_is_told_with_the_next_free_one(lgan, tmp_path):
    held, port = busy_port()
    with held:
        ran = lgan("app", tmp_path / "no.safetensors", "--port", port)
        assert ran.code == 2
        assert f"Port {port} is busy" in ran.err
        assert f"--port {next_free('127.0.0.1', port)}" in ran.err


def test_without_a_port_the_next_free_one_is_taken(lgan, tmp_path, monkeypatch):
    held, port = busy_port()
    monkeypatch.setattr("lgan.cli.page.PORT", port)
    with held:
        ran = lgan("app", tmp_path / "no.safetensors")
    assert f"port {port} is busy; taking" in ran.err
    assert "no checkpoint" in ran.err
    assert ran.code == 1


def test_columns_that_the_page_cannot_give_are_told_at_its_start(lgan, tmp_path, monkeypatch):
    model = predictor(["no", "yes", "no", "yes", "yes"])
    told = GraphFeatures(("T",), {"T": {"T": (0.0, 1.0)}}, {})
    reading = replace(model, encoder=replace(model.encoder, graphs=told))
    monkeypatch.setattr("lgan.app.serve", lambda app, listening: None)
    for one, there in ((reading, True), (model, False)):
        monkeypatch.setattr("lgan.predictor.load_model", lambda path, one=one: one)
        ran = lgan("app", tmp_path / "m.safetensors", "--port", 0, "--no-browser")
        assert ran.code == 0
        assert ("reads the column 'T' of a table, which the page cannot give" in ran.err) == there


def test_a_short_token_is_refused(lgan, tmp_path):
    ran = lgan("app", tmp_path / "no.safetensors", "--token", "short")
    assert ran.code == 2
    assert "16 characters" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_it_serves_and_ends_with_ctrl_c(host, tmp_path):
    model = tmp_path / "model.safetensors"
    predictor(["no", "yes", "no", "yes", "yes"]).checkpoint.save(model)
    command = [sys.executable, "-m", "lgan", "app", str(model), "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        [*command, "--host", host], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    try:
        line = process.stdout.readline().strip()
        assert line.startswith(f"page: http://{host}:")
        assert ("#token=" in line) == (host != "127.0.0.1")
        address = line.split()[1].split("#")[0].replace("0.0.0.0", "127.0.0.1")
        for _ in range(50):
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:
                    assert answer.status == 200
                break
            except OSError:
                time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=20)
        assert process.returncode == 130
        assert "Traceback" not in told
        assert told.strip().endswith("Stopped.")
    finally:
        process.kill()
