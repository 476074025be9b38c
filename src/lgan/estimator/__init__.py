"""The predictor in scikit-learn's words."""

from lgan.estimator.estimators import LGANClassifier, LGANRegressor
from lgan.estimator.side_by_side import cross_validate

__all__ = ["LGANClassifier", "LGANRegressor", "cross_validate"]
