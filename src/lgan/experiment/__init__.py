"""Experiments by name: a model on a data set, with all settings resolved."""

from lgan.experiment.reading import Reading
from lgan.experiment.recipes import LARGER, LARGER_FROM, RECIPES, UNLABELLED
from lgan.experiment.run import (
    factory,
    network_spec,
    record_name,
    run_kernel,
    run_network,
    variant,
    with_data_options,
)
from lgan.experiment.settings import Settings, default_options, settings_for
from lgan.experiment.source import ReadSource, prepare, stored_model

__all__ = [
    "LARGER",
    "LARGER_FROM",
    "RECIPES",
    "UNLABELLED",
    "ReadSource",
    "Reading",
    "Settings",
    "default_options",
    "factory",
    "network_spec",
    "prepare",
    "record_name",
    "run_kernel",
    "run_network",
    "settings_for",
    "stored_model",
    "variant",
    "with_data_options",
]
