"""Where the archives of data sets come from."""

import os
import zipfile
from pathlib import Path
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from lgan.catalogue import DATASETS, MIRROR_VARIABLE, archives_at_hand, known_dataset
from lgan.data.cache import locked, replaced

TU_URLS: tuple[str, ...] = (
    "https://www.chrsmrrs.com/graphkerneldatasets",
    "https://ls11-www.cs.tu-dortmund.de/people/morris/graphkerneldatasets",
)

_TIMEOUT = 30  # seconds without an answer
_OFFLINE = (
    "To work offline, put the archive into a folder and name it with `--mirror FOLDER` or "
    f"the environment variable {MIRROR_VARIABLE}"
)


def fetch(name: str, *, root: str | Path, mirror: str | Path | None = None) -> Path:
    """The path of the archive ``NAME.zip`` of a data set, downloaded where it must be.

    A mirror that is a folder is used in place. Anything else is downloaded once, into
    ``root/raw``; what lies there already is not downloaded again.

    Args:
        name: A set that is read from files: of the registry, of the TU collection, or one whose
            archive is at hand.
        root: The folder for data.
        mirror: A folder or an address (http, https, file) that holds ``NAME.zip``; by default
            the environment variable ``LGAN_MIRROR``, then the TU Dortmund collection.

    Raises:
        ValueError: Where the name is unknown, or the set cannot be downloaded by that name.
        FileNotFoundError: Where the mirror is a folder without the archive.
        ConnectionError: Where no address gave the archive; every one tried is listed.
    """
    spec = DATASETS.get(known_dataset(name, archives_at_hand(root=root, mirror=mirror)))
    if spec is not None and spec.kind == "synthetic":
        read = ", ".join(known for known, row in DATASETS.items() if row.kind != "synthetic")
        raise ValueError(
            f"Expected a data set that is read from files ({read}), got {name!r}, which is "
            "generated. Load it by name; it needs no archive."
        )
    mirror = mirror or os.environ.get(MIRROR_VARIABLE)
    if mirror is not None and (folder := _local(mirror)) is not None:
        return _in_folder(folder, name)

    archive = Path(root) / "raw" / f"{name}.zip"
    if archive.exists():
        return archive
    if mirror is None and spec is not None and not spec.downloadable:
        raise ValueError(
            f"Expected a mirror for {name} ({spec.description}), which is not in the TU Dortmund "
            f"collection, got none. {_OFFLINE}."
        )
    with locked(archive):
        if not archive.exists():  # another process may have fetched it while we waited
            _download_first(TU_URLS if mirror is None else (str(mirror),), name, archive)
    return archive


def _local(mirror: str | Path) -> Path | None:
    """The folder a mirror names, ``None`` where it is an address on the web."""
    parts = urlsplit(str(mirror))
    if parts.scheme in ("http", "https"):
        return None
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    if "://" in str(mirror):
        raise ValueError(
            f"Expected a mirror that is a folder or an http, https or file address, got "
            f"{str(mirror)!r}. Download the archives and name their folder."
        )
    return Path(mirror)


def _in_folder(folder: Path, name: str) -> Path:
    archive = folder / f"{name}.zip"
    if archive.is_file():
        return archive
    if folder.is_dir():
        got = ", ".join(sorted(path.name for path in folder.glob("*.zip"))) or "no zip file"
    else:
        got = "no such folder"
    raise FileNotFoundError(
        f"Expected {name}.zip in the mirror {folder}, got {got}. Name a folder or address that "
        "holds it with `--mirror`."
    )


def _download(address: str, archive: Path) -> None:
    """Download a zip file; a ``ValueError`` says why none came."""
    import pooch
    import requests

    downloader = pooch.HTTPDownloader(chunk_size=1 << 20, timeout=_TIMEOUT)
    with replaced(archive) as temporary:
        try:
            downloader(address, str(temporary), None)
        except requests.RequestException as error:
            raise ValueError(str(error)) from error
        if not zipfile.is_zipfile(temporary):
            raise ValueError("what came is no complete zip archive")


def _download_first(urls: tuple[str, ...], name: str, archive: Path) -> None:
    """Download ``NAME.zip`` from the first address that has it."""
    tried = []
    for url in urls:
        address = f"{url.rstrip('/')}/{quote(name)}.zip"
        try:
            _download(address, archive)
        except ValueError as problem:
            tried.append(f"  {address}: {problem}\n")
        else:
            return
    raise ConnectionError(
        f"Expected to download {name}.zip, got nothing from\n{''.join(tried)}"
        f"Check the connection. {_OFFLINE}."
    )
