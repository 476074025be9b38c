"""The predictor in scikit-learn's words."""

from lgan.estimator.estimators import LGANClassifier, LGANRegressor

__all__ = ["LGANClassifier", "LGANRegressor"]
