"""The paper's Figure 3: what the edges of two graphs and two molecules meant to LGAN."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lgan._optional import require
from lgan.data import RawGraphs, node_features, stratified_folds
from lgan.data.cache import save_record
from lgan.experiment import Reading, Settings, factory, network_spec, prepare, settings_for
from lgan.explain import MOLECULES, Attribution, GalleryItem, Picture, Scale, attribute, save
from lgan.explain.integrated_gradients import METHOD
from lgan.explain.molecule import Molecule, molecule_from_graph, molecule_from_smiles
from lgan.graph import GraphUnion
from lgan.train import OnEpoch, train_ensemble
from lgan.train.environment import environment, typed_command
from lgan.train.stack import model_view
from lgan.wl import refine

# A bar over the epochs of a training: title, epochs and sizes of the held-out parts.
Bar = Callable[[str, int, list[int]], AbstractContextManager[OnEpoch | None]]

Panel = tuple[Picture, dict[str, Any]]

TRIANGLES, MUTAGEN = 1, 0  # the classes whose scores are shown
SHOWN_TESTS = ("1-wl", "2-wl-set", "2-wl", "lgan")
FOLDS = 10
MODEL = "lgan"
# Name, SMILES, and the class that the paper shows.
SHOWN = (
    ("2-nitroanisole", "COc1ccccc1[N+](=O)[O-]", 0),
    ("2-nitrobenzyl alcohol", "OCc1ccccc1[N+](=O)[O-]", 1),
)


@dataclass(frozen=True, eq=False)
class Figure3:
    """The four panels and how they came about.

    Attributes:
        pictures: The panels (a) to (d).
        record: Scores, predictions, accuracies, settings: everything but the drawing.
    """

    pictures: list[Picture]
    record: dict[str, Any]

    def save(self, path: Path | str) -> list[Path]:
        """Write the picture as SVG and PNG, and the record as JSON; the paths."""
        paths = [Path(path).with_suffix(ending) for ending in (".svg", ".png", ".json")]
        for picture in paths[:2]:
            save(self.pictures, picture, columns=2)
        save_record(paths[2], self.record)
        return paths


def figure3(
    *,
    root: str | Path = "data",
    mirror: str | Path | None = None,
    seed: int = 0,
    epochs: tuple[int, int] = (30, 40),
    hidden: tuple[int, int] = (16, 32),
    device: torch.device | str = "cpu",
    bar: Bar | None = None,
) -> Figure3:
    """Train both models and explain the four graphs of the figure.

    Panels (a) and (b) are partners of the set ``triangles``, covers of one base that no 2-WL on
    sets of nodes tells apart: one has hexagons where the other has triangles. Panels (c) and (d)
    are two molecules, with hydrogens as Mutagenicity has them. Neither the partners nor, where
    the set has them, the molecules are among the graphs the models are trained on. Both panels of
    a row answer the same question on the same scale: what spoke for triangles, what for a mutagen.
    """
    reading = Reading(root=root, mirror=mirror, seed=seed)
    rows = [
        make(_Trainer(reading, passes, width, device, bar or _no_bar))
        for make, passes, width in zip((_graphs, _molecules), epochs, hidden, strict=True)
    ]
    made = environment(torch.device(device))
    panels = [panel for row, _ in rows for panel in row]
    record = {
        "figure": "3",
        "made": {**made, "command": typed_command()},
        "seed": seed,
        "models": [model for _, model in rows],
        "panels": [plain for _, plain in panels],
    }
    return Figure3([picture for picture, _ in panels], record)


@dataclass(frozen=True)
class _Trainer:
    """Where the data come from and how a model is trained on them."""

    reading: Reading
    epochs: int
    hidden: int
    device: torch.device | str
    bar: Bar

    def train(self, dataset: str, fold: Tensor) -> "_Trained":
        """A model trained on all folds but the first."""
        settings = settings_for(
            MODEL, dataset, hidden=self.hidden, num_layers=3, epochs=self.epochs, iterations=0,
            seed=self.reading.seed,
        )  # fmt: skip
        union = prepare(settings, reading=self.reading, device=self.device)
        held_out = int((fold == 0).sum())
        with self.bar(dataset, self.epochs, [held_out]) as on_epoch:
            trained = train_ensemble(
                factory(settings, union), union, members=1, folds=fold, config=settings.training,
                on_epoch=on_epoch, captured=network_spec(MODEL).captured,
            )  # fmt: skip
        about = {
            "dataset": dataset,
            "model": settings.about(),
            "training": asdict(settings.training),
            "seconds": trained.info["seconds"],
            "held_out_graphs": held_out,
            "held_out_accuracy": trained.score,
        }
        return _Trained(model_view(trained.network, 0), settings, union.num_features, about)


@dataclass(frozen=True)
class _Trained:
    """A model, what it reads, and what to record of it."""

    model: nn.Module
    settings: Settings
    num_features: int
    about: dict[str, Any]

    def explain(self, raw: RawGraphs, target: int) -> list[Attribution]:
        """Scores of every graph of a small set for a class."""
        union = _union(raw, self.settings.features, self.num_features, self.settings.pair_code)
        found: list[Attribution] = attribute(self.model, union, target, method=METHOD)
        return found


def _no_bar(title: str, epochs: int, sizes: list[int]) -> AbstractContextManager[None]:
    return nullcontext()


def _graphs(trainer: _Trainer) -> tuple[list[Panel], dict[str, Any]]:
    """Panels (a) and (b), and what is known of their model."""
    raw = trainer.reading.raw("triangles")
    # Partners share a fold: otherwise what is learnt of one by heart is wrong for the other.
    fold = torch.arange(raw.num_graphs) // 2 % FOLDS
    trained = trainer.train("triangles", fold)
    held_out = (fold == 0).nonzero().flatten()
    smallest = int(held_out[raw.node_ptr.diff()[held_out].argmin()]) // 2 * 2
    chosen = raw.select(held_out)
    scores = trained.explain(chosen, TRIANGLES)
    found = {int(g): s for g, s in zip(held_out, scores, strict=True)}
    pair = _union(raw.select([smallest, smallest + 1]), "constant", 1)
    about = {
        **trained.about,
        "triangle_edges_on_top": _on_top(chosen, scores),
        "told_apart_by": {t: refine(pair, test=t).separates(0, 1) for t in SHOWN_TESTS},
    }
    items = []
    for graph, title in ((smallest, "(a) G′: no triangle"), (smallest + 1, "(b) H′: triangles")):
        item = GalleryItem.of(found[graph], raw.classes, name=title, truth=int(raw.y[graph]))
        items.append((item, {"dataset": raw.name, "graph": graph, "held_out": True}))
    return _row(items), about


def _molecules(trainer: _Trainer) -> tuple[list[Panel], dict[str, Any]]:
    """Panels (c) and (d), and what is known of their model."""
    raw = trainer.reading.raw("Mutagenicity")
    shown = [molecule_from_smiles(smiles, raw.name) for _, smiles, _ in SHOWN]
    places = [_find(raw, each) for each in shown]
    fold = stratified_folds(raw.y, FOLDS, seed=trainer.reading.seed)
    fold[[place for place in places if place is not None]] = 0
    trained = trainer.train(raw.name, fold)
    items = []
    for each, place, letter, (name, smiles, paper) in zip(shown, places, "cd", SHOWN, strict=True):
        item = GalleryItem.of(
            trained.explain(each.graph(raw.name), MUTAGEN)[0],
            MOLECULES[raw.name].classes,
            name=f"({letter}) {name}",
            truth=None if place is None else int(raw.y[place]),
            molecule=each,
        )
        known = {"dataset": raw.name, "graph": place, "held_out": True, "smiles": smiles}
        items.append((item, {**known, "class_in_the_paper": paper}))
    return _row(items), trained.about


def _row(items: list[tuple[GalleryItem, dict[str, Any]]]) -> list[Panel]:
    """Two panels on one scale, as pictures and plain values."""
    scale = Scale.joint(item.picture.scale for item, _ in items)
    return [(item.picture.on_scale(scale), {**known, **item.to_json()}) for item, known in items]


def _on_top(raw: RawGraphs, scores: list[Attribution]) -> float:
    """How many of the k strongest edges of a graph with k edges in triangles are these, on average.

    The graphs are those with triangles; 1 means that no other edge comes before one of a triangle.
    """
    assert raw.ground_truth is not None
    shares = []
    for graph, found in enumerate(scores):
        start, end = raw.node_ptr[graph : graph + 2]
        first = raw.pair_index[0]
        truth = raw.ground_truth[(first >= start) & (first < end)]
        if bool(truth.any()):
            best = torch.argsort(found.undirected()[1], descending=True)[: int(truth.sum())]
            shares.append(float(truth[best].float().mean()))
    return sum(shares) / len(shares)


def _union(raw: RawGraphs, features: str, num_features: int, pair_code: str = "none") -> GraphUnion:
    """A few graphs as a model of a whole set reads them, nodes numbered as they are."""
    return GraphUnion.build(
        node_features(raw, features)[0],
        raw.pair_index,
        torch.zeros(raw.num_graphs, dtype=torch.int64),
        raw.node_ptr,
        num_features=num_features,
        num_classes=2,
        compress=False,
        pair_code=pair_code,
        name=raw.name,
    )


def _find(raw: RawGraphs, wanted: Molecule) -> int | None:
    """The graph of a set that is this molecule, if there is one."""
    chem = require("rdkit.Chem")
    text = chem.MolToSmiles(chem.RemoveHs(wanted.mol))
    assert raw.node_labels is not None
    kinds = int(raw.node_labels.max()) + 1
    graph_of = torch.repeat_interleave(torch.arange(raw.num_graphs), raw.node_ptr.diff())
    atoms = torch.bincount(graph_of * kinds + raw.node_labels, minlength=raw.num_graphs * kinds)
    alike = (atoms.view(-1, kinds) == torch.bincount(wanted.labels, minlength=kinds)).all(1)
    for graph in alike.nonzero().flatten().tolist():
        found = molecule_from_graph(raw, graph)
        if found.status == "clean" and chem.MolToSmiles(chem.RemoveHs(found.mol)) == text:
            return int(graph)
    return None
