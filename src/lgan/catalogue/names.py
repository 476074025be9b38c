"""Names of what is computed with torch, for those who only need the names."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# The tests hold these to what they name: `lgan.zoo.MODELS`, `lgan.graph.pair_codes.LEVELS`,
# `lgan.task.KINDS` and `lgan.task.METRICS`.
TASKS = ("binary", "multiclass", "multilabel", "regression")
METRICS = (
    "accuracy", "balanced-accuracy", "roc-auc", "average-precision", "log-loss", "mae", "rmse",
    "r2",
)  # fmt: skip
MODELS = (
    "lgan", "lgan-res", "lgan-code", "gin", "dcnn", "patchy-san", "dgcnn", "ppgn", "rw", "sp",
    "pk", "wl", "2-wl", "delta-2-lwl", "1-2-3-gnn", "cwn",
)  # fmt: skip
PAIR_CODES = ("none", "triangles", "cycles", "full", "claws", "local", "folklore", "rings")


def known(name: str, names: Iterable[str], what: str) -> str:
    """The name, if it is one of these; otherwise an error that names the nearest and all.

    Example:
        >>> known("gin", MODELS, "model")
        'gin'
    """
    names = list(names)
    if name in names:
        return name
    raise ValueError(
        f"Unknown {what} {name!r}.{nearest(name, names)} Choose one of: {', '.join(names)}."
    )


def nearest(name: str, names: Sequence[str]) -> str:
    """Asks whether another name was meant, whatever its case; empty where none is near."""
    by_lower = {each.lower(): each for each in reversed(names)}
    close = get_close_matches(str(name).lower(), by_lower, n=1)
    return f" Did you mean {by_lower[close[0]]}?" if close else ""


def shown(metric: str, value: float) -> str:
    """A metric as people write it: shares in percent, others with four digits.

    Example:
        >>> shown("accuracy", 0.9153), shown("rmse", 0.58712)
        ('91.5%', '0.5871')
    """
    return f"{value:.1%}" if "accuracy" in metric else f"{value:.4g}"
