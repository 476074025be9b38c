"""One rule and one seed: a model as a user trains it, explained by every method."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lgan.data.cache import save_json
from lgan.estimator import LGANClassifier
from lgan.explain.deletion import Players, remaining_outputs
from lgan.explain.maskable import MaskableGraph
from lgan.explain.masking import prepared
from lgan.explain.question import Question
from lgan.nn.graph_block import graph_alone
from lgan.predictor import Predictor, load_model
from lgan.predictor.explaining import explain_graphs
from lgan.train.environment import environment
from paper.rules import LabelledMolecule

POSITIVE = "1"
# What is compared: options of `Predictor.explain`, none for its default.
CANDIDATES: dict[str, dict[str, Any]] = {
    "consensus": {},
    "integrated-gradients": {"method": "integrated-gradients"},
    "leave-one-out": {"method": "leave-one-out"},
    "leave-one-out, nodes": {"method": "leave-one-out", "over": "nodes"},
    "leave-one-out, groups": {"method": "leave-one-out", "over": "fragments"},
    "gradient": {"method": "gradient"},
    "absolute-gradient": {"method": "absolute-gradient"},
}
# What the default would be if losses counted beyond the point where the prediction turns.
MEAN, OF = "mean of the two", ("integrated-gradients", "leave-one-out")
COMPARED = (*CANDIDATES, MEAN)


def unit(
    molecules: Sequence[LabelledMolecule],
    stem: Path,
    seed: int,
    limit: int,
    training: Mapping[str, Any],
) -> dict[str, Any]:
    """The scores of molecules by every method, from a file where they are known."""
    model, scores = stem.with_suffix(".safetensors"), stem.with_suffix(".json")
    known = json.loads(scores.read_text()) if scores.exists() else {}
    if known.get("limit") != limit or list(known.get("methods", {})) != list(COMPARED):
        if not model.exists():
            stem.parent.mkdir(parents=True, exist_ok=True)
            classifier = LGANClassifier(**training, random_state=seed)
            classifier.fit([m.smiles for m in molecules], [int(m.positive) for m in molecules])
            classifier.save(model)
        known = {"limit": limit, **explained(load_model(model), molecules, limit)}
        save_json(scores, known)
    return known


def explained(
    predictor: Predictor, molecules: Sequence[LabelledMolecule], limit: int
) -> dict[str, Any]:
    """Scores by every method of the positive molecules that a model gets right."""
    positive = [m for m in molecules if m.positive]
    said = predictor.predict([m.smiles for m in positive])
    chosen = [m for m, one in zip(positive, said, strict=True) if one == POSITIVE][:limit]
    if not chosen:
        raise ValueError(
            f"The model gets none of {len(positive)} positive molecules right, and there is "
            "nothing to explain. Train on more molecules, or for longer."
        )
    smiles = [m.smiles for m in chosen]
    raw, network = predictor.read(smiles), graph_alone(predictor.network)
    union = predictor.union(raw, compress=False)
    graphs = prepared(network, [union.batch(torch.tensor([i])) for i in range(len(chosen))])
    pairs = [graph.lines.pair_index.t().tolist() for graph in graphs]
    groups = [
        torch.tensor([[(u, v) in group for u, v in own] for group in molecule.bonds()])
        for molecule, own in zip(chosen, pairs, strict=True)
    ]
    found = {
        name: [e.undirected()[1] for e in explain_graphs(predictor, raw, target=POSITIVE, **asked)]
        for name, asked in CANDIDATES.items()
    }
    found[MEAN] = [(a + b) / 2 for a, b in zip(*(found[name] for name in OF), strict=True)]
    methods = {}
    for name, scores in found.items():
        ranks = [s.argsort(descending=True, stable=True).argsort() for s in scores]
        strongest = [r[None] < g.any(0).sum() for r, g in zip(ranks, groups, strict=True)]
        methods[name] = {
            "scores": [s.tolist() for s in scores],
            "loss": [float(each) for each in losses(network, graphs, strongest)],
        }
    lost, info = losses(network, graphs, groups), predictor.checkpoint.info
    kinds = min(len(each) for each in lost)
    return {
        "smiles": smiles,
        "pairs": pairs,
        "methods": methods,
        "lost_with_group": np.mean([each[:kinds].numpy() for each in lost], 0).tolist(),
        "held_out": info["score"],
        "seconds": info["seconds"],
        "trained": info["environment"]["revision"],
        "explained": environment(torch.device("cpu"))["revision"],
    }


def losses(
    model: nn.Module, graphs: Sequence[MaskableGraph], absent: Sequence[Tensor]
) -> list[Tensor]:
    """The probability of the positive class that is lost with some bonds of every graph, a row of
    ``absent`` ``[S, P]`` for each case ``[S]``.
    """
    question = Question(model, graphs, [1] * len(graphs))
    players = [Players.of(question, g) for g in range(len(graphs))]
    cases = [torch.cat([torch.zeros_like(rows[:1]), rows]) for rows in absent]
    outputs = remaining_outputs(question, players, cases)  # [K, S + 1, C] each
    probability = [each.softmax(-1).mean(0)[:, 1] for each in outputs]
    return [p[0] - p[1:] for p in probability]
