"""What can be asked for by name. No torch here, so that a mistyped name is answered at once."""

from lgan.catalogue.datasets import DATASETS, FEATURES, DatasetSpec, dataset_spec
from lgan.catalogue.names import MODELS, PAIR_CODES, known

__all__ = [
    "DATASETS",
    "FEATURES",
    "MODELS",
    "PAIR_CODES",
    "DatasetSpec",
    "dataset_spec",
    "known",
]
