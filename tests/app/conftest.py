"""A small model of molecules and one of graphs, trained once, and the page over them."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("rdkit")

with warnings.catch_warnings():  # it would rather have a successor of httpx
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from lgan.app import Limits, build_app
from lgan.data import load_raw
from lgan.experiment import factory, network_spec, settings_for, stored_model
from lgan.experiment.source import ReadSource
from lgan.predictor import Predictor
from lgan.train import train_ensemble
from lgan.train.checkpoint import Checkpoint

NITRO = ["c1ccccc1", "CCO", "CCC", "c1ccncc1", "CC(C)O", "CCCCO", "CCOC", "c1ccsc1"]
MOLECULES = [*NITRO, *(f"{smiles}[N+](=O)[O-]" for smiles in NITRO)]


@cache
def trained(kind: str) -> Checkpoint:
    """A model of few members and epochs: of molecules with a nitro group, or of triangles."""
    import torch

    values = {
        "molecules": ("nitro", ["no"] * 8 + ["yes"] * 8),
        "numbers": ("size", [float(len(smiles)) for smiles in MOLECULES]),
    }
    if kind in values:
        raw = load_raw(MOLECULES, targets=dict([values[kind]]))
    else:
        raw = load_raw("triangles").select(range(40))
    members = 1 if kind == "graphs" else 5
    settings = settings_for("lgan", raw.name, hidden=8, num_layers=2, epochs=2, iterations=40)
    found = ReadSource.of_graphs(settings, raw, raw.known_task.kind)
    fold = torch.arange(found.union.num_graphs) % 5
    union = found.union
    result = train_ensemble(
        factory(settings, union), union, members=members, folds=fold, config=settings.training,
        captured=network_spec("lgan").captured,
    )  # fmt: skip
    return stored_model(settings, found, result)


@pytest.fixture(scope="session")
def molecules() -> list[str]:
    return MOLECULES


@pytest.fixture(scope="session")
def predictor() -> Predictor:
    return Predictor.of(trained("molecules"))


@pytest.fixture(scope="session")
def graph_predictor() -> Predictor:
    return Predictor.of(trained("graphs"))


@pytest.fixture(scope="session")
def number_predictor() -> Predictor:
    return Predictor.of(trained("numbers"))


@pytest.fixture(scope="session")
def limits() -> Limits:
    return Limits(
        json_bytes=20_000, file_bytes=50_000, rows=50, file_rows=200, letters=200, edges=60
    )


@contextmanager
def client_of(model: Predictor, limits: Limits, **options: Any) -> Iterator[TestClient]:
    app = build_app(model, limits=limits, **options)
    with TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def client(predictor: Predictor, limits: Limits) -> Iterator[TestClient]:
    with client_of(predictor, limits) as found:
        yield found


@pytest.fixture(scope="session")
def graph_client(graph_predictor: Predictor, limits: Limits) -> Iterator[TestClient]:
    with client_of(graph_predictor, limits) as found:
        yield found


@pytest.fixture(scope="session")
def number_client(number_predictor: Predictor, limits: Limits) -> Iterator[TestClient]:
    with client_of(number_predictor, limits) as found:
        yield found


@pytest.fixture
def make_client() -> Iterator[Callable[..., TestClient]]:
    with ExitStack() as stack:
        yield lambda *given, **options: stack.enter_context(client_of(*given, **options))
