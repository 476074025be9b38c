"""What is to be predicted: outputs, loss, link, metrics and strata of a task."""

from lgan.task.metrics import METRICS, Metric
from lgan.task.scale import TargetScale
from lgan.task.task import KINDS, Kind, Task

__all__ = ["KINDS", "METRICS", "Kind", "Metric", "TargetScale", "Task"]
