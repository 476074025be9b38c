"""Training, cross-validation and the records of both."""

from lgan.train.config import TrainConfig
from lgan.train.evaluate import predict
from lgan.train.folds import cross_validate
from lgan.train.result import CVResult
from lgan.train.single import Trained, train_one

__all__ = ["CVResult", "TrainConfig", "Trained", "cross_validate", "predict", "train_one"]
