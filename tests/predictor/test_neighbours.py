from dataclasses import replace

import numpy as np
import pytest
import torch

from lgan.data import load_raw
from lgan.predictor import Predictor, load_model
from lgan.predictor.neighbours import fingerprints, nearest_of, training_molecules, unpacked
from lgan.train.checkpoint import Checkpoint

pytest.importorskip("rdkit", reason="molecules need rdkit")
SOME = ["CCO", "CCN", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "CCCCCl", "c1ccccc1", "CCOC"]


def tanimoto(first: str, second: str) -> float:
    from rdkit import Chem, DataStructs
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    morgan = GetMorganGenerator(radius=2, fpSize=1024)
    a, b = (morgan.GetFingerprint(Chem.MolFromSmiles(text)) for text in (first, second))
    return float(DataStructs.TanimotoSimilarity(a, b))


def test_similarities_are_those_of_rdkit():
    known = ["CCO", "c1ccccc1C", "CCCCBr", "CC(=O)O"]
    near, place = nearest_of(
        fingerprints(load_raw(SOME)), unpacked(fingerprints(load_raw(known))), 9
    )
    assert near.shape == (len(SOME), len(known))
    for i, text in enumerate(SOME):
        expected = [tanimoto(text, other) for other in known]
        assert near[i].tolist() == pytest.approx(sorted(expected, reverse=True))
        assert [expected[k] for k in place[i].tolist()] == pytest.approx(near[i].tolist())


def test_threshold_is_the_fifth_percentile_of_nearest_others():
    raw = load_raw(SOME)
    expected = [max(tanimoto(a, b) for b in SOME if b != a) for a in SOME]
    kept = training_molecules(raw, torch.zeros(len(SOME)).long())
    assert kept.unlike_below == pytest.approx(np.quantile(expected, 0.05))
    assert kept.smiles == raw.ids
    bare = training_molecules(raw, torch.zeros(len(SOME)).long(), named=False)
    assert (bare.smiles, len(bare.y)) == ((), 0)
    assert torch.equal(bare.bits, kept.bits)


def test_a_training_molecule_is_its_own_nearest(binary):
    found = binary.nearest(["NCC", "CCCl"], 2)
    assert [each[0].smiles for each in found] == ["CCN", "CCCl"]
    assert [each[0].similarity for each in found] == [1, 1]
    assert all(set(near.labels) == {"active"} for each in found for near in each)
    assert {near.labels["active"] for each in found for near in each} <= {"yes", "no"}


def test_labels_are_by_target_and_missing_ones_are_none(several, number):
    labels = [near.labels for near in several.nearest(["CCO"], 24)[0]]
    assert {label["a"] for label in labels} == {"0", "1", None}
    assert set(labels[0]) == {"a", "b"}
    assert isinstance(number.nearest(["CCO"], 1)[0][0].labels["logS"], float)


def test_rows_that_cannot_be_read_have_no_neighbours_and_are_unlike(binary):
    with pytest.warns(UserWarning, match="1 of 2 rows"):
        assert binary.nearest(["C(", "CCN"])[0] is None
    with pytest.warns(UserWarning, match="1 of 2 rows"):
        assert binary.unlike(["C(", "CCN"]).tolist() == [True, False]


@pytest.mark.parametrize(("below", "expected"), [(0.42, [False, False]), (0.43, [False, True])])
def test_unlike_is_what_lies_below_the_threshold(below, expected, binary):
    stored = binary.checkpoint
    kept = replace(stored.molecules, unlike_below=below)
    model = replace(binary, checkpoint=replace(stored, molecules=kept))
    assert model.nearest(["CCO"])[0][0].similarity == pytest.approx(3 / 7)  # it was held out
    assert model.unlike(["CCN", "CCO"]).tolist() == expected


def test_without_training_data_similarities_remain(binary_file, binary, tmp_path):
    kept = binary.checkpoint.molecules
    bare = replace(kept, smiles=(), y=kept.y[:0])
    path = tmp_path / "bare.safetensors"
    replace(Checkpoint.load(binary_file), molecules=bare).save(path)
    found = load_model(path).nearest(["CCN"], 1)[0][0]
    assert (found.similarity, found.smiles, found.labels) == (1, None, {})


def test_models_that_keep_nothing_or_something_else_say_so(binary):
    stored, kept = binary.checkpoint, binary.checkpoint.molecules
    with pytest.raises(ValueError, match=r"keeps no molecules .* Train it on molecules"):
        replace(binary, checkpoint=replace(stored, molecules=None)).nearest(["CCO"])
    with pytest.raises(ValueError, match="`count` must be a whole number of 1 or more, got 0"):
        binary.nearest(["CCO"], 0)
    for wrong in (replace(kept, y=kept.y + 5), replace(kept, bits=kept.bits[:, :3])):
        with pytest.raises(ValueError, match="what it keeps of molecules is of another model"):
            Predictor.of(replace(stored, molecules=wrong))
