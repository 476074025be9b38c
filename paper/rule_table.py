"""Methods of explanation on rules whose truth is known, as tables from a record."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lgan.explain.methods import DEFAULT
from paper.render import Grid
from paper.rule_scores import JOINED
from paper.rule_units import MEAN, OF

# What the default has to reach on every rule, the mean over seeds.
AUC, AUC_OF_TWO, RECALL, OVERLAP, BEHIND, AGREEMENT = 0.95, 0.90, 0.8, 0.75, 0.02, 0.8
MISSED = " ▼"
AGREE = "Agreement between seeds"
# The default must not fall behind the better of these.
SIMPLE = ("leave-one-out", "absolute-gradient")

NUMBERS: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "Edge ROC-AUC on rules of one and two groups": lambda s: float(s["auc"]),
    "Recall of the group that is found least": lambda s: float(min(s["recall"])),
    "Overlap with the groups": lambda s: float(s["overlap"]),
    AGREE: lambda s: float(s["agreement"]),
    "Fidelity: probability lost with the strongest bonds": lambda s: float(s["fidelity"]),
}


def rule_grids(record: Mapping[str, Any]) -> list[Grid]:
    """The default against its bars, then every method on every rule."""
    rules = record["rules"]
    grids = [_bars(record)]
    several = len(record["settings"]["seeds"]) > 1
    for title, number in NUMBERS.items():
        if title == AGREE and not several:
            continue
        rows = []
        for method in next(iter(rules.values()))["methods"]:
            values = [number(rule["methods"][method]) for rule in rules.values()]
            rows.append([method, *(f"{v:.3f}" for v in values), f"{np.mean(values):.3f}"])
        grids.append(Grid(title, ["method", *rules, "mean"], rows))
    grids[-1] = Grid(grids[-1].title, grids[-1].columns, grids[-1].rows, _notes(record))
    return grids


def _bars(record: Mapping[str, Any]) -> Grid:
    rows, reached = [], np.zeros(6, dtype=int)
    for name, rule in record["rules"].items():
        own, two = rule["methods"][DEFAULT], rule["kind"] == "both"
        behind = max(rule["methods"][method]["auc"] for method in SIMPLE) - own["auc"]
        least, agree = min(own["recall"]), (own["agreement"], own.get("agreement_joined"))
        holds = [
            own["auc"] >= (AUC_OF_TWO if two else AUC),
            least >= RECALL,
            own["overlap"] >= OVERLAP,
            behind <= BEHIND,
            *(one is None or one >= AGREEMENT for one in agree),
        ]
        cells = [
            _with_deviation([one["auc"] for one in own["by_seed"]]),
            ", ".join(f"{share:.2f}" for share in own["recall"]),
            f"{own['overlap']:.3f}",
            f"{max(behind, 0):.3f}",
            *("not measured" if one is None else f"{one:.2f}" for one in agree),
        ]
        marked = [text + ("" if held else MISSED) for text, held in zip(cells, holds, strict=True)]
        rows.append([name, f"{np.mean(rule['held_out']):.3f}", *marked, f"{own['atom_auc']:.3f}"])
        reached += np.array(holds)
    counts = [f"{n} of {len(rows)}" for n in reached]
    seeds = len(record["settings"]["seeds"])
    for place, needed in ((-2, 2), (-1, 2 * JOINED)):
        if seeds < needed:
            counts[place] = "not measured"
    rows.append(["rules that reach it", "", *counts, ""])
    columns = [
        "rule", "model", f"ROC-AUC ≥ {AUC}, of two groups ≥ {AUC_OF_TWO}",
        f"recall of each group ≥ {RECALL}", f"overlap ≥ {OVERLAP}",
        f"behind the better simple method ≤ {BEHIND}", f"agreement ≥ {AGREEMENT}",
        f"joined ≥ {AGREEMENT}", "atoms",
    ]  # fmt: skip
    notes = [
        f"{MISSED.strip()} is below the bar. `model` is the ROC-AUC of members on molecules that "
        f"they did not train on; `atoms` is the ROC-AUC by atom. The simple methods are "
        f"{' and '.join(SIMPLE)}, compared by ROC-AUC.",
        f"`joined` is the agreement of the mean of {JOINED} seeds with that of {JOINED} others: "
        f"{JOINED * record['settings']['members']} members on either side, where a seed has "
        f"{record['settings']['members']}; `LGANClassifier` has 10.",
    ]
    return Grid(f"The default, {DEFAULT}, against its bars", columns, rows, notes)


def _notes(record: Mapping[str, Any]) -> list[str]:
    rules, settings, chosen = record["rules"], record["settings"], record["chosen"]
    sizes = sorted({rule["molecules"] for rule in rules.values()})
    others = {n: m for n, m in chosen["without"].items() if m != chosen["all"]}
    lost = (
        f"{name} " + " and ".join(f"{share:.2f}" for share in rule["lost_with_group"])
        for name, rule in rules.items()
    )
    return [
        f"Models are those of `LGANClassifier(members={settings['members']})` with the default "
        f"recipe, trained on {' to '.join(map(str, sizes[:: len(sizes) - 1 or 1]))} molecules of "
        f"every rule; seeds: {', '.join(map(str, settings['seeds']))}. Explained are at most "
        f"{settings['limit']} molecules of a rule that have its groups and are classified right, "
        "for that class.",
        "Recall is taken at the true number of bonds; overlap at half of the largest score; "
        "agreement is the rank correlation of the bonds of a molecule between two seeds.",
        f"`{MEAN}` is the plain mean of {' and '.join(OF)}, the default without a bound on losses.",
        f"By the mean of ROC-AUC, recall and overlap the best of all rules is {chosen['all']}; "
        "leaving one rule out chooses the same"
        + (", but for " + ", ".join(f"{n} ({m})" for n, m in others.items()) if others else "")
        + ".",
        "Fidelity deletes as many of the strongest bonds as the groups have. With the bonds of one "
        f"group the models lose a probability of: {', '.join(lost)}.",
    ]


def _with_deviation(values: Sequence[float]) -> str:
    mean = f"{np.mean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values):.3f}"
