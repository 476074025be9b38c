import pytest

from lgan import LGANClassifier, LGANRegressor
from small_estimators import NAMES, NUMBERS, SMILES, classifier, regressor


@pytest.fixture(scope="session")
def classes() -> LGANClassifier:
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    return classifier().fit(SMILES, NAMES)


@pytest.fixture(scope="session")
def numbers() -> LGANRegressor:
    pytest.importorskip("rdkit", reason="molecules need rdkit")
    return regressor().fit(SMILES, NUMBERS)
