import pytest
import torch

from lgan.data import fit_encoder, load, load_raw
from lgan.graph import concatenate


def test_parts_of_a_set_become_the_set_again():
    whole = load("csl")
    raw = load_raw("csl")
    encoder = fit_encoder(raw)
    parts = [encoder.encode(raw.select(range(a, b))) for a, b in ((0, 1), (1, 70), (70, 150))]
    together, stored = concatenate(parts).tensors(), whole.tensors()
    assert together.keys() == stored.keys()
    assert all(torch.equal(together[name], stored[name]) for name in stored)


def test_unions_of_other_features_are_refused():
    with pytest.raises(ValueError, match="the same features and no cells"):
        concatenate([load("csl"), load("csl", features="degree")])
