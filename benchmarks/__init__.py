"""Speed and memory, measured beside the peers; see ``benchmarks/README.md``."""

from benchmarks.config import BenchConfig
from benchmarks.record import Record
from benchmarks.registry import BENCHMARKS, BenchmarkSpec
from benchmarks.row import Bar, Row

__all__ = ["BENCHMARKS", "Bar", "BenchConfig", "BenchmarkSpec", "Record", "Row"]
