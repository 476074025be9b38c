"""Experiments by name: a model on a data set, with all settings resolved."""

from lgan.experiment.run import (
    factory,
    feature_names,
    network_spec,
    prepare,
    record_name,
    run_kernel,
    run_network,
    variant,
    with_data_options,
)
from lgan.experiment.settings import BASE, Settings, default_options, settings_for

__all__ = [
    "BASE",
    "Settings",
    "default_options",
    "factory",
    "feature_names",
    "network_spec",
    "prepare",
    "record_name",
    "run_kernel",
    "run_network",
    "settings_for",
    "variant",
    "with_data_options",
]
