"""Training, cross-validation and the records of both."""

from lgan.data.splits import OUTSIDE
from lgan.train.config import TrainConfig
from lgan.train.curves import Curves
from lgan.train.ensemble import TrainedEnsemble, train_ensemble, train_ensembles
from lgan.train.evaluate import predict
from lgan.train.folds import cross_validate, cross_validate_variants
from lgan.train.jobs import Variant
from lgan.train.loop import OnEpoch
from lgan.train.result import CVResult, over_seeds

__all__ = [
    "OUTSIDE",
    "CVResult",
    "Curves",
    "OnEpoch",
    "TrainConfig",
    "TrainedEnsemble",
    "Variant",
    "cross_validate",
    "cross_validate_variants",
    "over_seeds",
    "predict",
    "train_ensemble",
    "train_ensembles",
]
