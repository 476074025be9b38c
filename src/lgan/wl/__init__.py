"""Which graphs can be told apart: Weisfeiler-Leman tests, LGAN's refinements, networks."""

from lgan.wl.check import CheckResult, check
from lgan.wl.compare import Comparison, compare, distinguishes, refine
from lgan.wl.graphs import LabelledGraphs
from lgan.wl.refinement import RefinementResult
from lgan.wl.registry import TESTS, RefinementSpec

__all__ = [
    "TESTS",
    "CheckResult",
    "Comparison",
    "LabelledGraphs",
    "RefinementResult",
    "RefinementSpec",
    "check",
    "compare",
    "distinguishes",
    "refine",
]
