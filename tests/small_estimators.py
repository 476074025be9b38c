"""Estimators that fit in a moment, and molecules for them."""

from typing import Any

import numpy as np

from lgan import LGANClassifier, LGANRegressor

SMALL: dict[str, Any] = {
    "members": 2,
    "epochs": 1,
    "random_state": 0,
    "options": {"hidden": 4, "num_layers": 2, "batch_size": 8},
    "device": "cpu",
}
SMILES = ["CCO", "CCN", "CCC", "c1ccccc1", "c1ccccc1O", "CC(=O)O", "CCCl", "CCBr"] * 2
NAMES = ["yes", "no", "no", "yes"] * 4
NUMBERS = np.arange(16) * 0.7 - 20


def classifier(**changed: Any) -> LGANClassifier:
    return LGANClassifier(**{**SMALL, **changed})


def regressor(**changed: Any) -> LGANRegressor:
    return LGANRegressor(**{**SMALL, **changed})
