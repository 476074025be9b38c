"""BREC: pairs of graphs that are hard to tell apart."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import networkx as nx

ADDRESS = "https://github.com/GraphPKU/BREC"

# The categories of BREC and how many pairs each has. Files are `NAME.npy`: graph6 strings, as
# rows of two or with the graphs of a pair one after the other.
BREC: dict[str, int] = {
    "basic": 60,
    "regular": 50,
    "str": 50,
    "4vtx": 20,
    "dr": 20,
    "extension": 100,
    "cfi": 100,
}


def load_brec(folder: str | Path) -> "dict[str, list[tuple[nx.Graph, nx.Graph]]]":
    """The 400 pairs of the benchmark BREC, by category.

    The categories are ``basic``, ``regular``, ``str`` (strongly regular), ``4vtx`` (strongly
    regular and satisfying the 4-vertex condition), ``dr`` (distance regular), ``extension``
    and ``cfi``. No graph has labels; the graphs of a pair are never isomorphic.

    Raises:
        FileNotFoundError: Where a file is missing, with the names of all that are.
        ValueError: Where a file holds another number of pairs than BREC has.
    """
    folder = Path(folder)
    missing = [f"{name}.npy" for name in BREC if not (folder / f"{name}.npy").is_file()]
    if missing:
        raise FileNotFoundError(
            f"BREC needs {', '.join(f'{name}.npy' for name in BREC)} in {folder}, missing: "
            f"{', '.join(missing)}. Fetch the raw graphs from {ADDRESS}."
        )
    return {name: _read_pairs(folder / f"{name}.npy", count) for name, count in BREC.items()}


def _read_pairs(path: Path, count: int) -> "list[tuple[nx.Graph, nx.Graph]]":
    strings = np.load(path, allow_pickle=False)
    if strings.size != 2 * count or strings.dtype.kind not in "SU":
        raise ValueError(
            f"{path} must hold {2 * count} graph6 strings, got {strings.size} entries of type "
            f"{strings.dtype}. Fetch the raw graphs from {ADDRESS}."
        )
    words = [word if isinstance(word, bytes) else word.encode() for word in strings.ravel()]
    graphs = [_parse(word, path) for word in words]
    return list(zip(graphs[::2], graphs[1::2], strict=True))


def _parse(word: bytes, path: str | Path) -> "nx.Graph":
    import networkx as nx

    try:
        return nx.from_graph6_bytes(word)
    except (nx.NetworkXError, IndexError, ValueError) as error:
        raise ValueError(
            f"{path} must hold graph6 strings, got {word[:40]!r}: {error}. "
            "Convert the graphs with `networkx.to_graph6_bytes`."
        ) from error
