import pytest
import torch

from lgan.train.training_molecules import TrainingMolecules

KEPT = TrainingMolecules(
    torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8), 0.25, ("CCO", "C[N+]"), torch.tensor([0, 1])
)


@pytest.mark.parametrize("named", [True, False])
def test_fields_come_back(named):
    kept = KEPT if named else TrainingMolecules(KEPT.bits, 0.25, (), KEPT.y[:0])
    back = TrainingMolecules.from_tensors(kept.tensors())
    assert (back.smiles, back.unlike_below) == (kept.smiles, 0.25)
    assert torch.equal(back.bits, kept.bits)
    assert torch.equal(back.y, kept.y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mol_bits", torch.zeros(2, 2)),
        ("mol_bits", torch.zeros(2, dtype=torch.uint8)),
        ("mol_unlike_below", torch.tensor([torch.nan])),
        ("mol_unlike_below", torch.tensor([0.1, 0.2])),
        ("mol_smiles", torch.tensor([255], dtype=torch.uint8)),
        ("mol_smiles", torch.tensor([67], dtype=torch.uint8)),
        ("mol_y", torch.zeros(3)),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(name, value):
    with pytest.raises(ValueError, match="keeps of molecules does not fit together"):
        TrainingMolecules.from_tensors(KEPT.tensors() | {name: value})


def test_a_part_that_is_missing_is_refused():
    stored = KEPT.tensors()
    del stored["mol_y"]
    with pytest.raises(ValueError, match="not complete"):
        TrainingMolecules.from_tensors(stored)
