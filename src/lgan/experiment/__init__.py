"""Experiments by name: a model on a data set, with all settings resolved."""

from lgan.experiment.run import (
    factory,
    network_spec,
    prepare,
    record_name,
    run_kernel,
    run_network,
    with_data_options,
)
from lgan.experiment.settings import BASE, Settings, default_options, settings_for

__all__ = [
    "BASE",
    "Settings",
    "default_options",
    "factory",
    "network_spec",
    "prepare",
    "record_name",
    "run_kernel",
    "run_network",
    "settings_for",
    "with_data_options",
]
