"""Trained models that predict: the model with all that turns a source into its input."""

from lgan.predictor.neighbours import Neighbour
from lgan.predictor.predictor import Predictor, load_model

__all__ = ["Neighbour", "Predictor", "load_model"]
