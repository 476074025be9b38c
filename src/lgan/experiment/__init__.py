"""Experiments by name: a model on a data set, with all settings resolved."""

from lgan.experiment.run import (
    factory,
    fitted,
    network_spec,
    prepare,
    record_name,
    run_kernel,
    run_network,
)
from lgan.experiment.settings import BASE, Settings, default_options, settings_for

__all__ = [
    "BASE",
    "Settings",
    "default_options",
    "factory",
    "fitted",
    "network_spec",
    "prepare",
    "record_name",
    "run_kernel",
    "run_network",
    "settings_for",
]
