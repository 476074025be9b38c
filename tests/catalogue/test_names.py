import pytest

from lgan.catalogue import MODELS, PAIR_CODES, known
from lgan.graph.pair_codes import LEVELS
from lgan.zoo import MODELS as REGISTRY


def test_names_are_those_of_the_registries():
    assert tuple(REGISTRY) == MODELS
    assert tuple(LEVELS) == PAIR_CODES


def test_an_unknown_name_is_answered_with_the_nearest_whatever_its_case():
    with pytest.raises(ValueError, match=r"^Unknown model 'GINN'\. Did you mean gin\? .*: lgan, "):
        known("GINN", MODELS, "model")
    with pytest.raises(ValueError, match=r"^Unknown model 'zzz'\. Choose one of: lgan, lgan-res"):
        known("zzz", MODELS, "model")
