"""Settings that won a search, by model and data set: ``tuned.json``, from ``results/sweep``.

A winner takes the place of the settings before it where it is ahead with fresh seeds as well, three
for LGAN and GIN, one for the others; ``docs/history.md`` names those that were not. ``gin``
was not searched for on COLLAB: it has the steps of ``lgan-code`` there and the width of its own
paper.
"""

import json
from importlib.resources import files
from typing import Any

TUNED: dict[str, dict[str, dict[str, Any]]] = json.loads(
    (files(__package__) / "tuned.json").read_text()
)
for _by_set in TUNED.values():
    if "PTC_GIN" in _by_set:
        _by_set["PTC_MR"] = _by_set["PTC_GIN"]  # the same molecules, without their hydrogens
