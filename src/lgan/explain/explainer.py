"""A model and how it reads graphs, ready to explain graphs of a set and molecules."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import nn

from lgan.data import RawGraphs, node_features
from lgan.explain.atoms import MOLECULES
from lgan.explain.attribute import attribute
from lgan.explain.attribution import Attribution
from lgan.explain.gallery import GalleryItem
from lgan.explain.methods import DEFAULT
from lgan.explain.molecule import molecule_from_graph, molecule_from_smiles
from lgan.explain.path import Path
from lgan.graph import GraphUnion


@dataclass(frozen=True)
class Explainer:
    """A trained model and what is asked of it.

    Attributes:
        model: The model.
        read: Makes of raw graphs what the model reads, nodes numbered as they are.
        target: Class that the scores are for; ``None`` for :func:`colour_class`.
        method: How edges are scored.
        steps: Points of the path to begin with.
        seed: Seed of methods that draw random numbers.
        held_out: Graphs of the set that the model was not trained on, where that is known.
        progress: Told which graph is at work.
    """

    model: nn.Module
    read: Callable[[RawGraphs], GraphUnion]
    target: int | None = None
    method: str = DEFAULT
    steps: int = 32
    seed: int = 0
    held_out: Collection[int] | None = None
    progress: Callable[[str], None] | None = None

    def scores(self, raw: RawGraphs) -> list[Attribution]:
        """Scores of every graph of a small set."""
        union, found = self.read(raw), []
        target = colour_class(raw) if self.target is None else self.target
        path = Path(steps=self.steps)
        for i in range(union.num_graphs):
            if self.progress is not None:
                self.progress(f"explaining {i + 1} of {union.num_graphs}")
            graph = union.batch(torch.tensor([i], device=union.device))
            scores = attribute(
                self.model, graph, target, method=self.method, path=path, seed=self.seed
            )
            found.append(scores.to("cpu"))
        return found

    def graphs(self, raw: RawGraphs, index: Sequence[int]) -> list[GalleryItem]:
        """Graphs of a set, explained; molecules are drawn as such where RDKit is installed."""
        chemical = raw.name in MOLECULES and find_spec("rdkit") is not None
        return [
            GalleryItem.of(
                scores,
                class_names(raw),
                name=f"{raw.name} {graph}",
                truth=int(raw.y[graph]),
                held_out=None if self.held_out is None else graph in self.held_out,
                molecule=molecule_from_graph(raw, graph) if chemical else None,
            )
            for graph, scores in zip(index, self.scores(raw.select(index)), strict=True)
        ]

    def molecules(self, smiles: Sequence[str], dataset: str) -> list[GalleryItem]:
        """Molecules from SMILES in the labels of a set; all are read before one is explained."""
        items = []
        for molecule in [molecule_from_smiles(text, dataset) for text in smiles]:
            raw = molecule.graph(dataset)
            scores, classes = self.scores(raw)[0], class_names(raw)
            items.append(GalleryItem.of(scores, classes, name=molecule.name, molecule=molecule))
        return items


def class_names(raw: RawGraphs) -> tuple[str, ...]:
    """What the classes of a set mean, or else how its files spell them."""
    known = MOLECULES.get(raw.name)
    return raw.classes if known is None else known.classes


def colour_class(raw: RawGraphs) -> int | None:
    """The class that colours speak for on every picture of a set with two classes.

    Its scores are those of the other with the sign turned, so that red can mean the same on a
    whole page. ``None``, the predicted class of each graph, where there are more.
    """
    if raw.num_classes != 2:
        return None
    return MOLECULES[raw.name].active if raw.name in MOLECULES else 1


def model_input(
    raw: RawGraphs, features: str, *, num_features: int, pair_code: str = "none"
) -> GraphUnion:
    """A few graphs as a model reads them, no twins merged.

    Args:
        raw: The graphs.
        features: Kind of node features the model reads.
        num_features: How many of them it reads.
        pair_code: Structural code of the pairs the model reads.
    """
    x, there = node_features(raw, features)
    if there > num_features or (x.is_floating_point() and there != num_features):
        raise ValueError(
            f"The model reads {num_features} node features ({features}), but these graphs of "
            f"{raw.name} have {there}. Train a model on graphs like these."
        )
    return GraphUnion.build(
        x,
        raw.pair_index,
        raw.y,
        raw.node_ptr,
        num_features=num_features,
        num_classes=raw.num_classes,
        compress=False,
        pair_code=pair_code,
        name=raw.name,
    )
