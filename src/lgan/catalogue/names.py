"""Names of what is computed with torch, for those who only need the names."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["MODELS", "PAIR_CODES", "known"]

# The tests hold these to the keys of `lgan.zoo.MODELS` and `lgan.graph.pair_codes.LEVELS`.
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
    by_lower = {each.lower(): each for each in names}
    close = get_close_matches(name.lower(), by_lower, n=1)
    hint = f" Did you mean {by_lower[close[0]]}?" if close else ""
    raise ValueError(f"Unknown {what} {name!r}.{hint} Choose one of: {', '.join(names)}.")
