import networkx as nx
import pytest
import torch

from lgan.data import RawGraphs, load_raw
from lgan.experiment import Reading, ReadSource, factory, settings_for, stored_model
from lgan.predictor import Predictor, load_model
from lgan.train import train_ensemble

SMILES = ["CCO", "CCN", "CCC", "c1ccccc1", "c1ccccc1O", "CC(=O)O", "CCCl", "CCBr"] * 3


def _trained(settings, source, members=1):
    fold = torch.arange(source.union.num_graphs) % 4
    return train_ensemble(
        factory(settings, source.union), source.union, members=members, folds=fold,
        config=settings.training,
    )  # fmt: skip


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """Trains a small model on a table and gives the file it was kept in."""
    pytest.importorskip("rdkit", reason="molecules need rdkit")

    def build(name: str, columns: dict[str, list[str]], members: int = 1, **options):
        folder = tmp_path_factory.mktemp(name)
        table = folder / f"{name}.csv"
        rows = zip(SMILES, *columns.values(), strict=True)
        lines = [",".join(("smiles", *columns)), *(",".join(row) for row in rows)]
        table.write_text("\n".join(lines) + "\n")
        settings = settings_for(
            "lgan-res", table.name, hidden=4, num_layers=2, epochs=1, batch_size=8, **options
        )
        reading = Reading(targets=tuple(columns), root=folder / "data")
        source = ReadSource.of(settings, str(table), reading)
        path = folder / "model.safetensors"
        stored_model(settings, source, _trained(settings, source, members)).save(path)
        return path

    return build


@pytest.fixture(scope="session")
def binary_file(stored):
    return stored("active", {"active": ["yes", "no", "no", "yes"] * 6})


@pytest.fixture(scope="session")
def binary(binary_file):
    return load_model(binary_file)


@pytest.fixture(scope="session")
def number(stored):
    return load_model(stored("logS", {"logS": [f"{i * 0.7 - 20:.2f}" for i in range(24)]}))


@pytest.fixture(scope="session")
def several(stored):
    return load_model(stored("tox", {"a": ["0", "1", ""] * 8, "b": ["1", "", "0"] * 8}))


@pytest.fixture(scope="session")
def members_file(stored):
    return stored("members", {"logS": [f"{i * 0.7 - 20:.2f}" for i in range(24)]}, members=4)


@pytest.fixture(scope="session")
def trained_on():
    """Trains a small model on graphs of two classes."""

    def train(
        raw: RawGraphs, model: str = "lgan-res", num_layers: int = 1, dataset: str = ""
    ) -> Predictor:
        settings = settings_for(
            model, dataset or raw.name, hidden=4, num_layers=num_layers, epochs=1, batch_size=8
        )
        source = ReadSource.of_graphs(settings, raw, "binary")
        return Predictor.of(stored_model(settings, source, _trained(settings, source)))

    return train


@pytest.fixture(scope="session")
def graphs(trained_on):
    """A model of graphs that are no molecules."""
    sizes = range(4, 12)
    known = [nx.Graph(nx.path_graph(n), target="path") for n in sizes]
    known += [nx.Graph(nx.cycle_graph(n), target="cycle") for n in sizes]
    return trained_on(load_raw(known), "lgan", num_layers=2)
