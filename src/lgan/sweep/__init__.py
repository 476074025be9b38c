"""Searches for settings: spaces as data, trials side by side, on one machine or many."""

from lgan.sweep.evaluate import Batch, evaluate
from lgan.sweep.record import Head, SweepRecord
from lgan.sweep.space import SPACES, Space, all_fixed, check_space, read_space
from lgan.sweep.study import Study
from lgan.sweep.trial import Outcome, Trial
from lgan.sweep.tune import tune
from lgan.sweep.workers import Here, Processes, RayCluster, Workers

__all__ = [
    "SPACES",
    "Batch",
    "Head",
    "Here",
    "Outcome",
    "Processes",
    "RayCluster",
    "Space",
    "Study",
    "SweepRecord",
    "Trial",
    "Workers",
    "all_fixed",
    "check_space",
    "evaluate",
    "read_space",
    "tune",
]
