"""What can be asked for by name. No torch here, so that a mistyped name is answered at once."""

from lgan.catalogue.collection import (
    MIRROR_VARIABLE,
    archives_at_hand,
    known_dataset,
    tu_names,
)
from lgan.catalogue.datasets import DATASETS, EDGE_FEATURES, FEATURES, DatasetSpec, dataset_spec
from lgan.catalogue.names import METRICS, MODELS, PAIR_CODES, TASKS, known, shown

__all__ = [
    "DATASETS",
    "EDGE_FEATURES",
    "FEATURES",
    "METRICS",
    "MIRROR_VARIABLE",
    "MODELS",
    "PAIR_CODES",
    "TASKS",
    "DatasetSpec",
    "archives_at_hand",
    "dataset_spec",
    "known",
    "known_dataset",
    "shown",
    "tu_names",
]
