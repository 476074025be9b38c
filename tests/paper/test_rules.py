"""Rules: what is positive, what is true of it, and how scores are judged by that."""

import pytest

from lgan import load_model
from paper.rule_scores import agreement, choose, score_rules, scores_of_rule
from paper.rule_table import rule_grids
from paper.rule_units import COMPARED, unit
from paper.rules import RULES, LabelledMolecule, Rule, draw_molecules

pytest.importorskip("rdkit")


@pytest.mark.parametrize(
    ("rule", "counts", "unwanted", "said"),
    [
        (RULES["nitro"], [1], 0, True),
        (RULES["nitro"], [0], 0, False),
        (RULES["nitro"], [2], 0, None),  # either would do, and the truth is unknown
        (RULES["acid and methoxy"], [1, 1], 0, True),
        (RULES["acid and methoxy"], [1, 0], 0, False),
        (RULES["amine without chlorine"], [1], 2, False),
        (RULES["two chlorines"], [1], 0, False),
        (RULES["two chlorines"], [3], 0, True),
    ],
)
def test_a_rule_says_which_molecules_are_positive(rule: Rule, counts, unwanted, said):
    assert rule.says(counts, unwanted) is said


def test_molecules_are_drawn_with_their_groups(tmp_path):
    table = tmp_path / "own.csv"
    smiles = ["COc1ccccc1C(=O)O", "COc1ccccc1CC", "CCCCCCCCC", "not a molecule", "CCO"]
    table.write_text("smiles\n" + "\n".join(smiles) + "\n")
    drawn = draw_molecules(["acid and methoxy"], [table])["acid and methoxy"]
    assert {m.smiles: m.positive for m in drawn} == {smiles[0]: True, smiles[1]: False,
                                                     smiles[2]: False}  # fmt: skip
    positive = next(m for m in drawn if m.positive)
    assert positive.bonds() == [{(8, 9), (8, 10)}, {(0, 1), (1, 2)}]


def test_scores_are_judged_by_the_bonds_of_the_groups():
    # C0-O1, O1-C2, C2-C3; the first bond is the group.
    molecule = LabelledMolecule("COCC", True, ((0, 1),))
    pairs = [[[0, 1], [1, 2], [2, 3]]]
    right = scores_of_rule([molecule], pairs, [[4.0, 1.0, 0.5]], [0.5])
    assert (right.auc, right.atom_auc, right.overlap, right.recall) == (1.0, 1.0, 1.0, (1.0,))
    assert right.fidelity == 0.5
    wrong = scores_of_rule([molecule], pairs, [[1.0, 4.0, 2.0]], [0.0])
    assert (wrong.auc, wrong.overlap, wrong.recall) == (0.0, 0.0, (0.0,))


def test_the_method_for_a_rule_is_chosen_by_the_others():
    good, fair, poor = ({"auc": x, "recall": [x], "overlap": x} for x in (1.0, 0.9, 0.5))
    found = choose({"a": {"x": poor, "y": fair}, "b": {"x": good, "y": fair},
                    "c": {"x": good, "y": fair}})  # fmt: skip
    assert found == {"all": "y", "without": {"a": "x", "b": "y", "c": "y"}}


def test_models_are_trained_once_and_explained_by_every_method(tmp_path):
    table = tmp_path / "own.csv"
    with_group = [f"{'C' * n}c1ccccc1[N+](=O)[O-]" for n in range(1, 7)]
    table.write_text("\n".join(["smiles", *with_group, *(f"{'C' * n}c1ccccc1C" for n in range(9))]))
    molecules = draw_molecules(["nitro"], [table])["nitro"]
    asked = {"limit": 1, "training": {"members": 2, "epochs": 40}}
    found = [unit(molecules, tmp_path / f"nitro-{s}", s, **asked) for s in (0, 1)]
    files = sorted(tmp_path.glob("nitro-*"))
    assert [file.name for file in files] == [f"nitro-{seed}.{kind}" for seed in (0, 1)
                                             for kind in ("json", "safetensors")]  # fmt: skip
    [text], [scores] = found[0]["smiles"], found[0]["methods"]["consensus"]["scores"]
    assert text in with_group
    [own] = load_model(files[1]).explain([text], target="1")  # what a user gets
    assert scores == pytest.approx(own.undirected()[1].tolist())

    written = [file.stat().st_mtime_ns for file in files]
    record = score_rules({"nitro": molecules}, tmp_path, seeds=(0, 1), **asked)
    assert [file.stat().st_mtime_ns for file in files] == written
    rule = record["rules"]["nitro"]
    assert list(rule["methods"]) == list(COMPARED)
    assert rule["held_out"] == [one["held_out"] for one in found]
    bars, area, *_, fidelity = rule_grids(record)
    assert bars.rows[0][0] == "nitro"
    assert area.rows[0][1] == f"{rule['methods']['consensus']['auc']:.3f}"
    assert any("members=2" in note for note in fidelity.notes)


def test_a_bar_that_is_missed_is_marked():
    def scores(auc):
        by_seed = [{"auc": auc - 0.01}, {"auc": auc + 0.01}]
        return {"auc": auc, "recall": [0.9, 0.7], "overlap": 0.8, "fidelity": 0.3,
                "agreement": 0.81, "atom_auc": 0.9, "by_seed": by_seed}  # fmt: skip

    methods = {"consensus": scores(0.92), "leave-one-out": scores(0.95),
               "absolute-gradient": scores(0.5)}  # fmt: skip
    rule = {"kind": "both", "methods": methods, "held_out": [1.0], "lost_with_group": [0.9],
            "molecules": 30}  # fmt: skip
    record = {
        "rules": {"nitro and chlorine": rule, "nitro": {**rule, "kind": "single"}},
        "chosen": {"all": "consensus", "without": {"nitro": "leave-one-out"}},
        "settings": {"members": 5, "seeds": [0, 1], "limit": 30},
    }
    both, single, reached = rule_grids(record)[0].rows
    assert both[2:7] == ["0.920 ± 0.010", "0.90, 0.70 ▼", "0.800", "0.030 ▼", "0.81"]
    assert single[2] == "0.920 ± 0.010 ▼"  # one group alone has the higher bar
    assert reached[2:7] == ["1 of 2", "0 of 2", "2 of 2", "0 of 2", "2 of 2"]
    for each in methods.values():
        each["agreement"] = None
    alone = rule_grids({**record, "settings": {**record["settings"], "seeds": [0]}})
    assert [row[6] for row in alone[0].rows] == ["not measured"] * 3  # one seed has no other
    assert not any(grid.title.startswith("Agreement") for grid in alone)


def test_ensembles_are_joined_before_they_are_compared():
    def seed(*scores, smiles=("CCO", "CCN")):
        return {"smiles": smiles, "methods": {"consensus": {"scores": scores}}}

    up, down = [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]
    strong = [10 * value for value in up]
    units = [seed(strong, up), seed(down, up), seed(strong, up), seed(down, up)]
    # Of the six pairs two have a molecule in the same order, four in orders that are opposite.
    assert agreement(units, "consensus") == pytest.approx((2 * 1 + 4 * 0) / 6)
    assert agreement(units, "consensus", joined=2) == pytest.approx((0 + 1 + 1) / 3)
    assert agreement(units[:3], "consensus", joined=2) is None
    one, other = seed(up, up), seed(up, up, smiles=("CCO", "CCC"))
    assert agreement([one, other], "consensus") == 1  # on the molecule that both explained
