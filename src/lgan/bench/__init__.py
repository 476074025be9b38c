"""Speed and memory, measured beside the peers; see ``benchmarks/README.md``."""

from lgan.bench.config import BenchConfig
from lgan.bench.record import Record
from lgan.bench.registry import BENCHMARKS, BenchmarkSpec
from lgan.bench.row import Bar, Row

__all__ = ["BENCHMARKS", "Bar", "BenchConfig", "BenchmarkSpec", "Record", "Row"]
