from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from lgan.data.pairs import BREC, load_brec


@pytest.fixture
def tiny_brec(tmp_path: Path) -> Path:
    """The files of BREC with the same two graphs in every pair."""
    pair = [
        nx.to_graph6_bytes(g, header=False).strip() for g in (nx.path_graph(4), nx.star_graph(3))
    ]
    for i, (name, count) in enumerate(BREC.items()):
        strings = np.array(pair * count, dtype="S" if i % 2 else "U9")
        np.save(tmp_path / f"{name}.npy", strings.reshape(-1, 2) if i % 3 else strings)
    return tmp_path


def test_brec_has_400_pairs_in_every_layout(tiny_brec: Path) -> None:
    pairs = load_brec(tiny_brec)
    assert {name: len(some) for name, some in pairs.items()} == BREC
    assert sum(BREC.values()) == 400
    for some in pairs.values():
        for a, b in some:
            assert sorted(d for _, d in a.degree) == [1, 1, 2, 2]
            assert sorted(d for _, d in b.degree) == [1, 1, 1, 3]


def test_missing_files_are_named(tiny_brec: Path) -> None:
    (tiny_brec / "dr.npy").unlink()
    (tiny_brec / "cfi.npy").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"missing: dr\.npy, cfi\.npy.*https://github\.com/GraphPKU/BREC"
    ):
        load_brec(tiny_brec)


def test_another_number_of_graphs_is_refused(tiny_brec: Path) -> None:
    np.save(tiny_brec / "dr.npy", np.array([b"C~"] * 6))
    with pytest.raises(ValueError, match=r"dr\.npy must hold 40 graph6 strings, got 6"):
        load_brec(tiny_brec)


def test_pickled_files_are_refused(tiny_brec: Path) -> None:
    np.save(tiny_brec / "dr.npy", np.array([object()] * 40), allow_pickle=True)
    with pytest.raises(ValueError, match="pickle"):
        load_brec(tiny_brec)


def test_strings_that_are_not_graph6_are_refused(tiny_brec: Path) -> None:
    np.save(tiny_brec / "dr.npy", np.array([b"no graph"] * 40))
    with pytest.raises(ValueError, match="must hold graph6 strings, got b'no graph'"):
        load_brec(tiny_brec)


@pytest.mark.data
def test_real_brec_holds_the_known_pairs(brec_folder: Path) -> None:
    pairs = load_brec(brec_folder)
    assert {name: len(some) for name, some in pairs.items()} == BREC
    largest = {name: max(len(g) for pair in some for g in pair) for name, some in pairs.items()}
    assert largest == {
        "basic": 10,
        "regular": 10,
        "str": 35,
        "4vtx": 63,
        "dr": 63,
        "extension": 19,
        "cfi": 198,
    }
    for some in pairs.values():
        for a, b in some:
            assert sorted(d for _, d in a.degree) == sorted(d for _, d in b.degree)
    assert all(map(nx.is_strongly_regular, pairs["str"][0]))
