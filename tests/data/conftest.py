import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

# A triangle and a path of two nodes, with everything the layout knows.
TINY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "3\n2\n2\n5\n2\n",
    "node_attributes": "0.5, 1e1\n-1.25, 2\n0, 0\n.5, +3.\n1.5E-1, 4\n",
    "edge_labels": "0\n0\n1\n1\n2\n2\n1\n1\n",
    "edge_attributes": ".5, 1\n.5, 1\n2, 3\n2, 3\n4, 5\n4, 5\n6, 7\n6, 7\n",
}


@pytest.fixture
def pack(tmp_path: Path) -> Callable[..., Path]:
    """Pack a TU archive ``NAME.zip``: the tiny set, with files changed or (``None``) left out."""

    def pack(
        name: str = "TINY",
        *,
        folder: Path = tmp_path,
        compression: int = zipfile.ZIP_DEFLATED,
        **changes: str | None,
    ) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.zip"
        with zipfile.ZipFile(path, "w", compression) as archive:
            for part, text in (TINY | changes).items():
                if text is not None:
                    archive.writestr(f"{name}/{name}_{part}.txt", text)
        return path

    return pack
