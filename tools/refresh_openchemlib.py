"""Fetch the structure editor that `lgan app` ships with: one pinned version from npm, checked.

To move to another version change `VERSION` and `INTEGRITY` (what `npm view openchemlib@VERSION
dist.integrity` says), run this file, and run the tests marked `browser`.
"""

import hashlib
import io
import tarfile
from base64 import b64encode
from pathlib import Path
from urllib.request import urlopen

VERSION = "9.25.0"
INTEGRITY = (
    "sha512-FGTaZLJRTGXNC7khx8QvX/EiQBHpH1ncUbT7YXDJhw/Y/aDUKe5Wr"
    "UIqTguMEtSs3GUHcRUjNUhfkpxulx2UXw=="
)
ADDRESS = f"https://registry.npmjs.org/openchemlib/-/openchemlib-{VERSION}.tgz"
FOLDER = Path(__file__).resolve().parents[1] / "src" / "lgan" / "app" / "static" / "vendor"
# Its tables of resources, 1.3 MB, are for force fields and the like, which the page does not use.
WANTED = {
    "package/dist/openchemlib.js": "openchemlib.js",
    "package/LICENSE": "openchemlib.LICENSE.txt",
}


def main() -> None:
    """Download, check, and put the files where the page has them."""
    with urlopen(ADDRESS, timeout=60) as answer:
        archive = answer.read()
    found = "sha512-" + b64encode(hashlib.sha512(archive).digest()).decode()
    if found != INTEGRITY:
        raise SystemExit(f"{ADDRESS} must have the checksum {INTEGRITY}, got {found}.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for inside, name in WANTED.items():
            file = tar.extractfile(inside)
            assert file is not None
            (FOLDER / name).write_bytes(file.read())
            print(FOLDER / name)


if __name__ == "__main__":
    main()
