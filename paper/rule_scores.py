"""Methods of explanation on rules whose truth is known: how well each finds it."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lgan.train.environment import environment
from paper.faithfulness import edge_auc, stability
from paper.rule_units import COMPARED, unit
from paper.rules import RULES, LabelledMolecule

# A model is what `LGANClassifier` trains, with fewer members than its ten to save time.
TRAINING: dict[str, Any] = {"members": 5}
# So many ensembles have as many members as that of `LGANClassifier`.
JOINED = 2


@dataclass(frozen=True)
class RuleScores:
    """How well a method finds what a rule is made of, over molecules that were classified right.

    Attributes:
        auc: ROC-AUC of the bonds of all molecules in one curve.
        auc_per_molecule: Mean of the ROC-AUC of every molecule.
        atom_auc: ROC-AUC of the atoms, each by its strongest bond, in one curve.
        overlap: Mean Jaccard index of the bonds of the groups and those with half the largest
            score or more.
        recall: For every group of the rule, the share of its bonds among as many of the strongest
            ones as all groups have.
        fidelity: Mean loss of probability when as many of the strongest bonds are deleted as all
            groups have.
    """

    auc: float
    auc_per_molecule: float
    atom_auc: float
    overlap: float
    recall: tuple[float, ...]
    fidelity: float


def score_rules(
    drawn: Mapping[str, Sequence[LabelledMolecule]],
    folder: Path,
    *,
    seeds: Sequence[int] = range(5),
    limit: int = 30,
    processes: int = 1,
    training: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train, explain and score every rule; a record.

    Args:
        drawn: Molecules of every rule, see :func:`paper.rules.draw_molecules`.
        folder: Models and scores are kept there, and not computed again.
        seeds: One ensemble for each; whether they agree is seen from two on.
        limit: Positive molecules explained for each, the first that it classifies right.
        processes: Rules at a time, each with one thread.
        training: Options of :class:`lgan.LGANClassifier` in place of :data:`TRAINING`.
        progress: Told what is done.
    """
    tell, training = progress or (lambda _: None), dict(TRAINING if training is None else training)
    found: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in drawn}
    with ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        waiting = {
            pool.submit(
                unit, molecules, folder / f"{name.replace(' ', '-')}-{seed}", seed, limit, training
            ): (name, seed)
            for seed in seeds
            for name, molecules in drawn.items()
        }
        for number, future in enumerate(as_completed(waiting)):
            name, seed = waiting[future]
            found[name][seed] = future.result()
            tell(f"{name}, seed {seed}; {number + 1} of {len(waiting)} done")
    rules = {
        name: _rule_record(name, drawn[name], [by_seed[seed] for seed in seeds])
        for name, by_seed in found.items()
    }
    units = [one for by_seed in found.values() for one in by_seed.values()]
    return {
        "suite": "rules",
        "rules": rules,
        "chosen": choose({name: rule["methods"] for name, rule in rules.items()}),
        "settings": {**training, "limit": limit, "seeds": list(seeds)},
        "revisions": {key: sorted({one[key] for one in units}) for key in ("trained", "explained")},
        "seconds": sum(one["seconds"] for one in units),
        "environment": environment(torch.device("cpu")),
    }


def choose(methods_by_rule: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The best method by the other rules, for every rule, and by all of them.

    Judged by the mean over rules of ROC-AUC, overlap, and recall of the group that is found least.
    """

    def merit(scores: Mapping[str, Any]) -> float:
        return float(scores["auc"] + scores["overlap"] + min(scores["recall"])) / 3

    def best(names: Sequence[str]) -> str:
        methods = methods_by_rule[names[0]]
        return max(methods, key=lambda m: sum(merit(methods_by_rule[n][m]) for n in names))

    names = list(methods_by_rule)
    others = {n: [other for other in names if other != n] for n in names}
    return {"all": best(names), "without": {n: best(others[n] or names) for n in names}}


def scores_of_rule(
    molecules: Sequence[LabelledMolecule],
    pairs: Sequence[Sequence[Sequence[int]]],
    scores: Sequence[Sequence[float]],
    loss: Sequence[float],
) -> RuleScores:
    """How well edge scores find the groups of a rule.

    Args:
        molecules: Positive molecules.
        pairs: Every bond of each once.
        scores: Its score.
        loss: For each the probability lost with its strongest bonds.
    """
    truths, values, overlaps, recalls = [], [], [], []
    atom_truths, atom_values = [], []
    for molecule, own, score in zip(molecules, pairs, map(np.asarray, scores), strict=True):
        groups = molecule.bonds()
        truth = np.array([any((u, v) in group for group in groups) for u, v in own], dtype=bool)
        truths.append(torch.from_numpy(truth))
        values.append(torch.from_numpy(score))
        found = score >= score.max() / 2
        overlaps.append((found & truth).sum() / (found | truth).sum())
        top = {tuple(own[i]) for i in np.argsort(-score, kind="stable")[: truth.sum()]}
        recalls.append([len(top & group) / len(group) for group in groups])
        in_group, strongest = _atoms(molecule, own, score)
        atom_truths.append(torch.from_numpy(in_group))
        atom_values.append(torch.from_numpy(strongest))
    auc, per_molecule = edge_auc(values, truths)
    kinds = min(len(each) for each in recalls)
    return RuleScores(
        auc=auc,
        auc_per_molecule=per_molecule,
        atom_auc=edge_auc(atom_values, atom_truths)[0],
        overlap=float(np.mean(overlaps)),
        recall=tuple(np.mean([each[:kinds] for each in recalls], 0).tolist()),
        fidelity=float(np.mean(loss)),
    )


def _rule_record(
    name: str, molecules: Sequence[LabelledMolecule], units: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Means over seeds of every method, and how well seeds agree."""
    labelled = {molecule.smiles: molecule for molecule in molecules}
    methods = {}
    for method in COMPARED:
        by_seed = []
        for one in units:
            chosen, found = [labelled[text] for text in one["smiles"]], one["methods"][method]
            scores = scores_of_rule(chosen, one["pairs"], found["scores"], found["loss"])
            by_seed.append(asdict(scores))
        methods[method] = {
            **{key: np.mean([one[key] for one in by_seed], 0).tolist() for key in by_seed[0]},
            "agreement": agreement(units, method),
            "agreement_joined": agreement(units, method, joined=JOINED),
            "by_seed": by_seed,
        }
    return {
        **asdict(RULES[name]),
        "molecules": len(molecules),
        "explained": [len(one["smiles"]) for one in units],
        "held_out": [one["held_out"] for one in units],
        "lost_with_group": np.mean([one["lost_with_group"] for one in units], 0).tolist(),
        "methods": methods,
    }


def agreement(units: Sequence[Mapping[str, Any]], method: str, *, joined: int = 1) -> float | None:
    """Rank correlation of the scores of different seeds, on molecules that all of them explained;
    the mean over pairs. None where there are too few seeds.

    Args:
        units: What :func:`paper.rule_units.unit` gave for every seed.
        method: Whose scores.
        joined: Seeds whose scores are averaged on either side.
    """
    scores = [
        dict(zip(one["smiles"], map(Tensor, one["methods"][method]["scores"]), strict=True))
        for one in units
    ]
    found = []
    for one, other in combinations(combinations(scores, joined), 2):
        if any(a is b for a in one for b in other):
            continue
        shared = [text for text in one[0] if all(text in seed for seed in (*one, *other))]
        sides = [
            [torch.stack([s[t] for s in side]).mean(0) for t in shared] for side in (one, other)
        ]
        found.append(stability(*sides))
    return float(np.mean(found)) if found else None


def _atoms(
    molecule: LabelledMolecule, pairs: Sequence[Sequence[int]], scores: NDArray[Any]
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Whether each atom is in a group, and its strongest bond."""
    atoms = max(max(pair) for pair in pairs) + 1
    inside = {atom for group in molecule.groups for atom in group}
    strongest = np.full(atoms, scores.min())
    for pair, score in zip(pairs, scores, strict=True):
        strongest[list(pair)] = np.maximum(strongest[list(pair)], score)
    return np.array([atom in inside for atom in range(atoms)]), strongest
