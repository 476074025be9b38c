"""Settings that won a search, by model and data set; see docs/reproduction.md."""

from typing import Any

__all__ = ["TUNED"]

TUNED: dict[str, dict[str, dict[str, Any]]] = {}
