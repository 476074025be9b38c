"""Tables rendered from records: nothing is trained or drawn to show one."""

from paper.classification import Classification
from paper.records import read_runs
from paper.render import Grid, render

__all__ = ["Classification", "Grid", "read_runs", "render"]
