"""Tables rendered from records: nothing is trained or drawn to show one."""

from lgan.tables.classification import Classification
from lgan.tables.records import read_runs
from lgan.tables.render import Grid, render

__all__ = ["Classification", "Grid", "read_runs", "render"]
