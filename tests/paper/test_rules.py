"""Rules: what is positive, what is true of it, and how scores are judged by that."""

import pytest

from paper.rule_scores import choose, rule_grids, scores_of_rule
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
    good, fair, poor = ({"auc": x, "recall": [x]} for x in (1.0, 0.9, 0.5))
    found = choose({"a": {"x": poor, "y": fair}, "b": {"x": good, "y": fair},
                    "c": {"x": good, "y": fair}})  # fmt: skip
    assert found == {"all": "y", "without": {"a": "x", "b": "y", "c": "y"}}


def test_a_table_shows_every_method_and_rule():
    scores = {"auc": 0.9, "recall": [0.7, 0.8], "overlap": 0.5, "fidelity": 0.3}
    rule = {"methods": {"gradient": scores}, "held_out": 1.0, "lost_with_group": [0.9]}
    record = {
        "rules": {"nitro": rule},
        "chosen": {"all": "gradient", "without": {"nitro": "gradient"}},
        "settings": {"members": 5, "width": 64, "seeds": [0], "limit": 30},
    }
    area, recall, overlap, fidelity = rule_grids(record)
    assert area.rows == [["gradient", "0.900", "0.900"]]
    assert recall.rows == [["gradient", "0.700", "0.700"]]
    assert overlap.rows[0][1] == "0.500"
    assert fidelity.rows[0][1] == "0.300"
    assert any("nitro 0.90" in note for note in fidelity.notes)
