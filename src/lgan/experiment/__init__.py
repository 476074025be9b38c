"""Experiments by name: a model on a data set, with all settings resolved."""

from lgan.experiment.reading import Reading
from lgan.experiment.recipes import LARGER, LARGER_FROM, RECIPES, UNEVEN, UNEVEN_FROM, UNLABELLED
from lgan.experiment.run import (
    as_the_network_needs,
    factory,
    network_spec,
    record_name,
    run_kernel,
    run_network,
    run_side_by_side,
    with_data_options,
)
from lgan.experiment.settings import Settings, default_options, settings_for
from lgan.experiment.source import ReadSource, prepare, stored_model

__all__ = [
    "LARGER",
    "LARGER_FROM",
    "RECIPES",
    "UNEVEN",
    "UNEVEN_FROM",
    "UNLABELLED",
    "ReadSource",
    "Reading",
    "Settings",
    "as_the_network_needs",
    "default_options",
    "factory",
    "network_spec",
    "prepare",
    "record_name",
    "run_kernel",
    "run_network",
    "run_side_by_side",
    "settings_for",
    "stored_model",
    "with_data_options",
]
