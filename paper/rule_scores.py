"""Methods of explanation on rules whose truth is known: models trained, explained and scored."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from lgan.data import Encoder, load_raw
from lgan.explain import Path as PointsOfPath
from lgan.explain import attribute, molecule_fragments
from lgan.explain.deletion import Players, remaining_outputs
from lgan.explain.masking import prepared
from lgan.explain.question import Question
from lgan.nn import LGAN
from lgan.train import TrainConfig, predict
from lgan.train.environment import environment, typed_command
from lgan.train.jobs import Job, Variant, model_seed
from lgan.train.loop import train_together
from lgan.train.stack import drawn, stack
from paper.faithfulness import edge_auc, stability
from paper.render import Grid
from paper.rules import RULES, LabelledMolecule

MEMBERS = 5
WIDTH = 64
OPTIONS: dict[str, Any] = {
    "num_layers": 3, "residual": True, "pair_code": "rings", "readout": "sum", "dropout": 0.5,
    "head_layers": 2,
}  # fmt: skip
TRAINING = {"epochs": 40, "iterations": 0, "batch_size": 64, "lr": 0.003, "lr_halving": 12,
            "average": 0.8}  # fmt: skip

# What is compared: options of `lgan.attribute`.
CANDIDATES: dict[str, dict[str, Any]] = {
    "consensus": {"method": "consensus"},
    "integrated-gradients": {
        "method": "integrated-gradients",
        "path": PointsOfPath(steps=16, max_steps=64, tolerance=0.05),
    },
    "integrated-gradients, drawn baselines": {
        "method": "integrated-gradients",
        "path": PointsOfPath(steps=8, max_steps=8, baseline="drawn", baselines=4),
    },
    "leave-one-out": {"method": "leave-one-out"},
    "leave-one-out, degrees anew": {"method": "leave-one-out", "degrees": True},
    "leave-one-out, nodes": {"method": "leave-one-out", "over": "nodes"},
    "leave-one-out, groups": {"method": "leave-one-out", "over": "fragments"},
    "shapley": {"method": "shapley", "samples": 8},
    "gradient": {"method": "gradient"},
    "absolute-gradient": {"method": "absolute-gradient"},
}


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


def train_rule(molecules: Sequence[LabelledMolecule], seed: int, path: Path) -> None:
    """Train an ensemble on a rule, each member with another fifth held out, and keep it."""
    raw = load_raw(
        [m.smiles for m in molecules], targets={"rule": [int(m.positive) for m in molecules]}
    )
    encoder = Encoder.fit(raw, edge_features="none")
    union = encoder.encode(raw, compress=False, pair_code=OPTIONS["pair_code"])
    fold = torch.arange(union.num_graphs) % MEMBERS
    nothing = torch.empty(0, dtype=torch.int64)
    jobs = [
        Job(model_seed(seed, k), fold != k, (fold == k).nonzero().flatten(), nothing)
        for k in range(MEMBERS)
    ]
    config = TrainConfig(**TRAINING, seed=seed)  # type: ignore[arg-type]
    model, curves = train_together(
        union, [Variant(lambda: _network(encoder), config)], jobs, groups=union.y, metric="roc-auc"
    )
    held_out = curves.test[:, -1].tolist()
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state": model.state_dict(), "encoder": encoder.to_json(), "test": held_out}, path)


def score_rules(
    drawn_molecules: Mapping[str, Sequence[LabelledMolecule]],
    folder: Path,
    *,
    seeds: Sequence[int] = (0, 1),
    limit: int = 30,
    methods: Sequence[str] = tuple(CANDIDATES),
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train, explain and score every rule; a record.

    Args:
        drawn_molecules: Molecules of every rule, see :func:`paper.rules.draw_molecules`.
        folder: Models and scores are kept there, and not computed again.
        seeds: One ensemble for each.
        limit: Positive molecules explained for each, the first that it classifies right.
        methods: Names of :data:`CANDIDATES`.
        progress: Told what is being done.
    """
    tell = progress or (lambda _: None)
    rules: dict[str, Any] = {}
    for name, molecules in drawn_molecules.items():
        by_seed: list[dict[str, Any]] = []
        for seed in seeds:
            stem = f"{name.replace(' ', '-')}-{seed}"
            path = folder / f"{stem}.pt"
            if not path.exists():
                tell(f"{name}: training, seed {seed}")
                train_rule(molecules, seed, path)
            tell(f"{name}: explaining, seed {seed}")
            by_seed.append(_explained(molecules, path, folder / stem, limit, methods))
        rules[name] = _rule_record(name, molecules, by_seed, methods)
    return {
        "suite": "rules",
        "rules": rules,
        "chosen": choose({name: rule["methods"] for name, rule in rules.items()}),
        "settings": {
            "members": MEMBERS, "width": WIDTH, **OPTIONS, **TRAINING, "limit": limit,
            "seeds": list(seeds),
        },
        "environment": {**environment(torch.device("cpu")), "command": typed_command()},
    }  # fmt: skip


def choose(methods_by_rule: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The best method by the other rules, for every rule, and by all of them.

    Judged by the mean over rules of ROC-AUC and of the recall of the group that is found least.
    """

    def merit(scores: Mapping[str, Any]) -> float:
        return float(scores["auc"] + min(scores["recall"])) / 2

    def best(names: Sequence[str]) -> str:
        methods = methods_by_rule[names[0]]
        return max(methods, key=lambda m: sum(merit(methods_by_rule[n][m]) for n in names))

    names = list(methods_by_rule)
    without = {n: best([other for other in names if other != n]) for n in names}
    return {"all": best(names), "without": without}


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


def rule_grids(record: Mapping[str, Any]) -> list[Grid]:
    """ROC-AUC, recall and overlap of every method on every rule."""
    rules = record["rules"]
    methods = list(next(iter(rules.values()))["methods"])
    chosen = record["chosen"]
    others = {n: m for n, m in chosen["without"].items() if m != chosen["all"]}
    settings = record["settings"]
    notes = [
        f"Ensembles of {settings['members']} models of width {settings['width']}, seeds "
        f"{', '.join(map(str, settings['seeds']))}; {settings['limit']} molecules of a rule that "
        "have its groups and are classified right. Their ROC-AUC on what members did not see: "
        + ", ".join(f"{name} {rule['held_out']:.3f}" for name, rule in rules.items())
        + ".",
        "Recall is that of the group found least, at the true number of bonds.",
        f"By the mean of ROC-AUC and recall the best of all rules is {chosen['all']}; leaving one "
        "rule out chooses the same"
        + ("." if not others else ", but for " + ", ".join(
            f"{name} ({method})" for name, method in others.items()) + "."),
    ]  # fmt: skip
    if all("agreement" in rule for rule in rules.values()):
        means = {m: np.mean([rule["agreement"][m] for rule in rules.values()]) for m in methods}
        shown = ", ".join(f"{method} {mean:.2f}" for method, mean in means.items())
        notes.append(f"Rank correlation between seeds, mean over rules: {shown}.")
    pick: dict[str, Callable[[Any], float]] = {
        "Edge ROC-AUC on rules of one and two groups": lambda s: float(s["auc"]),
        "Recall of the groups": lambda s: float(min(s["recall"])),
        "Overlap with the groups": lambda s: float(s["overlap"]),
    }
    if all("lost_with_group" in rule for rule in rules.values()):
        lost = (
            f"{name} " + " and ".join(f"{share:.2f}" for share in rule["lost_with_group"])
            for name, rule in rules.items()
        )
        notes.append(
            "Fidelity deletes as many of the strongest bonds as the groups have. With the bonds of "
            f"one group the models lose a probability of: {', '.join(lost)}."
        )
        pick["Fidelity: probability lost with the strongest bonds"] = lambda s: float(s["fidelity"])
    grids = []
    for title, number in pick.items():
        rows = []
        for method in methods:
            values = [number(rule["methods"][method]) for rule in rules.values()]
            rows.append([method, *(f"{v:.3f}" for v in values), f"{np.mean(values):.3f}"])
        grids.append(Grid(title, ["method", *rules, "mean"], rows, []))
    grids[-1] = Grid(grids[-1].title, grids[-1].columns, grids[-1].rows, notes)
    return grids


def _network(encoder: Encoder) -> nn.Module:
    return LGAN(encoder.num_features, WIDTH, 2, **OPTIONS)


def _explained(
    molecules: Sequence[LabelledMolecule],
    path: Path,
    scores: Path,
    limit: int,
    methods: Sequence[str],
) -> dict[str, Any]:
    """Scores by every method of the positive molecules that a stored ensemble gets right."""
    stored = torch.load(path)
    encoder = Encoder.from_json(stored["encoder"])
    model = stack([drawn(lambda: _network(encoder), k) for k in range(MEMBERS)])
    model.load_state_dict(stored["state"])
    positive = [m for m in molecules if m.positive]
    union = encoder.encode(
        load_raw([m.smiles for m in positive]), compress=False, pair_code=OPTIONS["pair_code"],
        labelled=False,
    )  # fmt: skip
    right = (predict(model, union).softmax(-1).mean(0)[:, 1] > 0.5).nonzero().flatten()[:limit]
    chosen = [positive[i] for i in right.tolist()]
    found: dict[str, Any] = {}
    graphs = [union.batch(right[i : i + 1]) for i in range(len(right))]
    sizes = [len(set.union(*molecule.bonds())) for molecule in chosen]
    for name in methods:
        file = scores.with_name(f"{scores.name}-{name.replace(' ', '-').replace(',', '')}.json")
        if not file.exists():
            answer = attribute(model.eval(), graphs, 1, **_asked(name, encoder, chosen))
            pairs = [each.undirected() for each in answer]
            ranks = [s.argsort(descending=True, stable=True).argsort() for _, s in pairs]
            strongest = [r[None] < size for r, size in zip(ranks, sizes, strict=True)]
            plain = {"pairs": [p.t().tolist() for p, _ in pairs],
                     "scores": [s.tolist() for _, s in pairs],
                     "loss": [float(d) for d in _losses(model, graphs, strongest)]}  # fmt: skip
            file.write_text(json.dumps(plain))
        found[name] = json.loads(file.read_text())
    pairs = found[methods[0]]["pairs"]
    groups = [
        torch.tensor([[(u, v) in group for u, v in own] for group in molecule.bonds()])
        for molecule, own in zip(chosen, pairs, strict=True)
    ]
    lost = _losses(model.eval(), graphs, groups)
    kinds = min(len(each) for each in lost)
    return {
        "molecules": chosen,
        "found": found,
        "held_out": float(np.mean(stored["test"])),
        "lost_with_group": torch.stack([each[:kinds] for each in lost]).mean(0).tolist(),
    }


def _losses(model: nn.Module, graphs: Sequence[Any], absent: Sequence[Tensor]) -> list[Tensor]:
    """The probability of the positive class that is lost with some bonds of every graph, a row of
    ``absent`` ``[S, P]`` for each case ``[S]``.
    """
    question = Question(model, prepared(model, graphs), [1] * len(graphs))
    players = [Players.of(question, g) for g in range(len(graphs))]
    cases = [torch.cat([torch.zeros_like(rows[:1]), rows]) for rows in absent]
    outputs = remaining_outputs(question, players, cases)  # [K, S + 1, C] each
    probability = [each.softmax(-1).mean(0)[:, 1] for each in outputs]
    return [p[0] - p[1:] for p in probability]


def _asked(name: str, encoder: Encoder, molecules: Sequence[LabelledMolecule]) -> dict[str, Any]:
    from rdkit import Chem

    asked = dict(CANDIDATES[name])
    if asked.get("degrees"):
        asked["degrees"] = encoder.with_degrees
    if asked.get("over") == "fragments":
        mols = [Chem.MolFromSmiles(m.smiles) for m in molecules]
        asked["fragments"] = [molecule_fragments(mol) for mol in mols]
    return asked


def _rule_record(
    name: str,
    molecules: Sequence[LabelledMolecule],
    by_seed: Sequence[Mapping[str, Any]],
    methods: Sequence[str],
) -> dict[str, Any]:
    """Means over seeds of every method."""
    record: dict[str, Any] = {**asdict(RULES[name]), "molecules": len(molecules)}
    record["held_out"] = float(np.mean([each["held_out"] for each in by_seed]))
    record["lost_with_group"] = np.mean([each["lost_with_group"] for each in by_seed], 0).tolist()
    record["methods"] = {}
    for method in methods:
        found = [
            asdict(scores_of_rule(each["molecules"], *each["found"][method].values()))
            for each in by_seed
        ]
        record["methods"][method] = {
            key: np.mean([one[key] for one in found], 0).tolist() for key in found[0]
        }
    if len(by_seed) > 1:
        record["agreement"] = {
            m: stability(*(_common(by_seed, m, k) for k in (0, 1))) for m in methods
        }
    return record


def _common(by_seed: Sequence[Mapping[str, Any]], method: str, seed: int) -> list[Tensor]:
    """Scores of the molecules that the first two seeds both explained."""
    smiles = [[m.smiles for m in each["molecules"]] for each in by_seed[:2]]
    both = [text for text in smiles[0] if text in smiles[1]]
    scores = by_seed[seed]["found"][method]["scores"]
    return [torch.tensor(scores[smiles[seed].index(text)]) for text in both]


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
