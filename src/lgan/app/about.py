"""What is known of a model: the data, how good it is, where it was wrong, how it was made."""

from typing import Any

import torch
from torch import Tensor

from lgan._version import __version__
from lgan.app.batches import file_formats
from lgan.app.limits import Limits
from lgan.app.subjects import node_link, reads_molecules
from lgan.catalogue import DATASETS, shown
from lgan.data import load_raw
from lgan.experiment.training_report import made_facts, mistake_words, worst_mistakes
from lgan.explain.attribution import plain
from lgan.explain.report import confusion_table
from lgan.predictor import Predictor
from lgan.predictor.calibration import calibration
from lgan.predictor.prediction_cells import predicted_columns
from lgan.train.out_of_fold import OutOfFold

# Points of a scatter plot, and graphs to begin with.
POINTS, EXAMPLES = 400, 12


def about_model(predictor: Predictor, limits: Limits) -> dict[str, Any]:
    """A model in numbers and words, as JSON's types."""
    stored, task = predictor.checkpoint, predictor.task
    info, known = stored.info, stored.out_of_fold
    metric = str(info.get("metric", task.default_metric.name))
    several = len(task.targets) > 3  # names that would fill the top of the page
    facts: dict[str, Any] = {
        "name": stored.dataset
        if several or stored.dataset in DATASETS
        else ", ".join(task.targets),
        "dataset": stored.dataset,
        "kind": task.kind,
        "targets": list(task.targets),
        "classes": list(task.classes),
        "outputs": list(task.classes if task.has_classes else task.targets),
        "columns": predicted_columns(task),
        "molecules": reads_molecules(predictor),
        "members": stored.members,
        "graphs": len(stored.trained_on),
        "metric": metric,
        "estimate": shown(metric, info["score"]) if "score" in info else None,
        "folds": [shown(metric, score) for score in info.get("fold_scores", [])],
        "keeps_molecules": bool(stored.molecules and stored.molecules.smiles),
        "made": made_facts(stored) if "environment" in info else {},
        "formats": file_formats(predictor),
        "limits": vars(limits),
        "version": __version__,
    }
    if known is not None and len(known.y):
        facts |= _measured(predictor, known)
    return plain(facts)  # type: ignore[no-any-return]


def example_graphs(predictor: Predictor) -> list[dict[str, Any]]:
    """Some graphs to begin with, where the model was trained on a set that is generated."""
    spec = DATASETS.get(predictor.checkpoint.dataset)
    if reads_molecules(predictor) or spec is None or spec.kind != "synthetic":
        return []
    raw = load_raw(predictor.checkpoint.dataset)
    return [node_link(raw.select([graph])) for graph in range(min(EXAMPLES, raw.num_graphs))]


def _measured(predictor: Predictor, known: OutOfFold) -> dict[str, Any]:
    """What members said of graphs that they had not seen."""
    task, y, said = predictor.task, known.y, known.predictions
    values = {name: metric(y.numpy(), said.numpy()) for name, metric in task.metrics.items()}
    found: dict[str, Any] = {
        "held_out": len(y),
        "metrics": {name: shown(name, v) for name, v in values.items() if v == v},
        "mistakes": _mistakes(predictor, known),
    }
    if task.classes:
        bins = calibration(said, y, task)
        found["calibration"] = {
            "said": bins.said.tolist(),
            "came": bins.came.tolist(),
            "count": bins.count.tolist(),
            "error": bins.error,
        }
    else:
        some = torch.linspace(0, len(y) - 1, min(len(y), POINTS)).round().long()
        points = torch.stack([y[some], said[some]], -1)  # [points, T, 2]
        found["scatter"] = {
            target: [[a, b] for a, b in points[:, t].tolist() if a == a]
            for t, target in enumerate(task.targets)
        }
    if task.has_classes:
        found["confusion"] = confusion_table(said, y).tolist()
    return found


def _mistakes(predictor: Predictor, known: OutOfFold) -> list[dict[str, Any]]:
    """The graphs that were predicted worst, with their SMILES where the model keeps these, or their
    number in training, counted from 1, where all were held out.
    """
    task, kept = predictor.task, predictor.checkpoint.molecules
    # What is kept is in the order of the out-of-fold predictions where all were held out.
    same = kept is not None and torch.equal(kept.y.nan_to_num(-1), known.y.nan_to_num(-1))
    everything = len(known.y) == len(predictor.checkpoint.trained_on)
    listed = []
    for place, output in zip(*map(Tensor.tolist, worst_mistakes(known, task)), strict=True):
        target, truth, guess = mistake_words(known, task, place, output)
        smiles = kept.smiles[place] if same and kept is not None and kept.smiles else None
        told = {"smiles": smiles, "graph": place + 1 if everything else None}
        listed.append({**told, "target": target, "is": truth, "predicted": guess})
    return listed
