"""Data sets that have a name but no row in the registry: those of the TU collection and others
whose archives are at hand.
"""

import os
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

from lgan.catalogue.datasets import DATASETS
from lgan.catalogue.names import nearest

MIRROR_VARIABLE = "LGAN_MIRROR"


@cache
def tu_names() -> tuple[str, ...]:
    """The data sets of the TU Dortmund collection.

    Example:
        >>> "ENZYMES" in tu_names()
        True
    """
    return tuple(files(__package__).joinpath("tu_names.txt").read_text().split())


def archives_at_hand(*, root: str | Path = "data", mirror: str | Path | None = None) -> list[str]:
    """The names of the archives in the mirror, if it is a folder, and in the folder for data."""
    folders = [Path(root) / "raw"]
    mirror = mirror or os.environ.get(MIRROR_VARIABLE)
    if mirror is not None:
        folders.append(Path(str(mirror).removeprefix("file://")))
    return sorted({path.stem for folder in folders for path in folder.glob("*.zip")})


def known_dataset(name: str, archives: Iterable[str] = ()) -> str:
    """The name, if it is that of a data set; otherwise an error with the nearest one.

    Args:
        name: What was asked for.
        archives: Names of archives that are at hand, see `archives_at_hand`.
    """
    names = list(dict.fromkeys([*DATASETS, *archives, *tu_names()]))
    if name in names:
        return name
    raise ValueError(
        f"Unknown data set {name!r}: no such file or folder, and no such name."
        f"{nearest(name, names)} Choose one of: {', '.join(DATASETS)}, another set of the TU "
        "collection (ENZYMES, NCI1, …), or the path of a file."
    )
