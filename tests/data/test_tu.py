import zipfile
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lgan.data.readers.tu_files
from lgan.data import DATASETS, RawGraphs, load_raw, read_tu

Pack = Callable[..., Path]
PLAIN = {
    "node_labels": None,
    "node_attributes": None,
    "edge_labels": None,
    "edge_attributes": None,
}
EDGES = {"edge_labels": None, "edge_attributes": None}

# name: graphs, classes, average nodes, edges, triangles, largest degree, node labels
KNOWN = {
    "MUTAG": (188, 2, 17.93, 3_721, 0, 4, 7),
    "PTC_MR": (344, 2, 14.29, 5_054, 15, 4, 18),
    "PTC_GIN": (344, 2, 25.56, 8_931, 15, 4, 19),
    "PROTEINS": (1113, 2, 39.06, 81_044, 30_501, 25, 3),
    "IMDB-BINARY": (1000, 2, 19.77, 96_531, 391_991, 135, 0),
    "IMDB-MULTI": (1500, 3, 13.00, 98_903, 458_850, 88, 0),
    "COLLAB": (5000, 3, 74.49, 12_286_079, None, 491, 0),
    "Mutagenicity": (4337, 2, 30.32, 133_447, 295, 4, 14),
}


def test_tiny_set_is_read_value_by_value(pack: Pack) -> None:
    raw = read_tu(pack(), "TINY")
    assert raw.name == "TINY"
    assert raw.node_ptr.tolist() == [0, 3, 5]
    assert raw.pair_index.tolist() == [[0, 0, 1, 3], [1, 2, 2, 4]]
    assert raw.classes == ("-1", "1")
    assert raw.y.tolist() == [1, 0]
    assert raw.node_labels is not None
    assert raw.node_labels.tolist() == [1, 0, 0, 3, 0]
    assert raw.nodes.vocabularies == (("2", "3", "4", "5"),)  # gaps keep their places
    assert raw.pair_labels is not None
    assert raw.pair_labels.tolist() == [0, 2, 1, 1]
    assert raw.node_attributes is not None
    expected = torch.tensor([[0.5, 10], [-1.25, 2], [0, 0], [0.5, 3], [0.15, 4]])
    assert torch.equal(raw.node_attributes, expected)
    assert raw.nodes.number_names == ("attribute_1", "attribute_2")
    assert raw.pairs.numbers.tolist() == [[0.5, 1], [4, 5], [2, 3], [6, 7]]
    assert raw.targets == {"class": [1, -1]}
    assert raw.ground_truth is None


def test_files_of_one_user_agree_in_what_a_label_is(pack: Pack) -> None:
    columns = [
        read_tu(pack(name, node_labels=labels), name).nodes
        for name, labels in (("ONE", "0\n1\n0\n0\n1\n"), ("TWO", "2\n1\n2\n2\n1\n"))
    ]
    spelled = [[c.vocabularies[0][i] for i in c.categories[:, 0]] for c in columns]
    assert spelled == [["0", "1", "0", "0", "1"], ["2", "1", "2", "2", "1"]]


def test_labels_far_apart_do_not_make_a_column_for_every_number_between(pack: Pack) -> None:
    raw = read_tu(pack(node_labels="0\n7\n1000000000\n7\n7\n"), "TINY")
    assert raw.nodes.vocabularies == (("0", "7", "1000000000"),)
    assert raw.nodes.categories[:, 0].tolist() == [0, 1, 2, 1, 1]


def test_labels_may_have_several_columns(pack: Pack) -> None:
    raw = read_tu(pack(node_labels="3, 0\n2, 0\n2, 1\n5, 1\n2, 1\n"), "TINY")
    assert raw.nodes.names == ("label_1", "label_2")
    assert raw.nodes.categories.tolist() == [[1, 0], [0, 0], [0, 1], [3, 1], [0, 1]]


def test_graph_attributes_without_labels_are_a_regression(pack: Pack) -> None:
    raw = read_tu(pack(graph_labels=None, graph_attributes="0.5, 1\n-2, 3\n"), "TINY")
    assert raw.known_task.kind == "regression"
    assert raw.targets == {"target_1": [0.5, -2], "target_2": [1, 3]}
    assert raw.y.tolist() == [[0.5, 1], [-2, 3]]


def test_graph_attributes_beside_labels_are_kept(pack: Pack) -> None:
    raw = read_tu(pack(graph_attributes="0.5\n-2\n"), "TINY")
    assert raw.known_task.targets == ("class",)
    assert raw.targets["target"] == [0.5, -2]


def test_many_classes_are_no_regression(pack: Pack) -> None:
    raw = read_tu(
        pack(
            graph_indicator="".join(f"{i + 1}\n" for i in range(20)),
            graph_labels="".join(f"{i}\n" for i in range(20)),
            A="",
            **PLAIN,
        ),
        "TINY",
    )
    assert (raw.known_task.kind, raw.num_classes) == ("multiclass", 20)
    assert raw.y.tolist() == list(range(20))


def test_a_folder_is_read_like_an_archive(pack: Pack, tmp_path: Path) -> None:
    archive = pack()
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
    assert read_tu(tmp_path / "TINY").content_sha256() == read_tu(archive, "TINY").content_sha256()


def test_the_only_set_of_an_archive_needs_no_name(pack: Pack) -> None:
    archive = pack("mine")
    moved = archive.rename(archive.with_name("other.zip"))
    assert read_tu(moved).name == "mine"
    with zipfile.ZipFile(moved, "a") as opened:
        opened.writestr("__MACOSX/._mine_A.txt", "x")
    assert read_tu(moved).name == "mine"
    with zipfile.ZipFile(moved, "a") as opened:
        opened.writestr("yours_A.txt", "1, 2")
    with pytest.raises(ValueError, match=r"one TU set in .*got mine_A.txt, yours_A.txt"):
        read_tu(moved)


def test_capitals_in_names_of_files_do_not_matter(pack: Pack) -> None:
    archive = pack(node_labels=None)
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("TINY/TINY_node_labels.TXT", "0\n1\n1\n1\n0\n")
    raw = read_tu(archive, "TINY")
    assert raw.node_labels is not None
    assert raw.node_labels.tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize("path", ["else/TINY_graph_labels.txt", "TINY/TINY_GRAPH_LABELS.txt"])
def test_the_same_file_twice_is_refused(pack: Pack, path: str) -> None:
    archive = pack()
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(path, "1\n1\n")
    with pytest.raises(ValueError, match=r"(?i)every file once, got TINY_graph_labels.txt twice"):
        read_tu(archive, "TINY")


def test_a_file_with_too_many_lines_is_not_read_to_its_end(
    pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lgan.data.readers.tu_files, "CHUNK", 64)
    told: list[float] = []
    with pytest.raises(ValueError, match=r"node_labels.* 5 lines.*nodes, got more"):
        read_tu(pack(node_labels="1\n" * 100_000), "TINY", told.append)
    assert told[-1] < 0.01


def test_directions_that_differ_are_symmetrised_when_asked(pack: Pack) -> None:
    raw = read_tu(
        pack(
            edge_labels="7\n3\n1\n1\n2\n2\n1\n1\n",
            edge_attributes="1\n2\n3\n3\n4\n4\n5\n5\n",
        ),
        "TINY",
        symmetrise=True,
    )
    words = raw.pairs.vocabularies[0]
    assert [words[i] for i in raw.pairs.categories[:, 0]] == ["3", "2", "1", "1"]
    assert raw.pairs.numbers[:, 0].tolist() == [1.5, 4, 3, 5]


def test_only_three_files_are_needed(pack: Pack) -> None:
    raw = read_tu(pack(**PLAIN), "TINY")
    assert raw.node_labels is None
    assert raw.node_attributes is None
    assert raw.pair_labels is None
    assert raw.num_pairs == 4


@pytest.mark.parametrize(
    "compression",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
)
def test_packing_does_not_matter(pack: Pack, compression: int) -> None:
    expected = read_tu(pack(), "TINY").content_sha256()
    assert read_tu(pack(compression=compression), "TINY").content_sha256() == expected


@pytest.mark.parametrize(
    "edges",
    [
        "1,2\n2,3\n1,3\n4,5\n",  # one direction
        "2,1\n3,2\n3,1\n5,4",  # the other, without a last newline
        "1 2\r\n\t2 , 1\r\n2,3\r\n3,1\r\n5,4\r\n\r\n\n",  # spaces, CRLF, blank lines at the end
        "1,1\n1,2\n1,2\n2,1\n2,3\n1,3\n5,4\n5,5\n",  # loops and duplicates
    ],
)
def test_direction_duplicates_and_loops_do_not_matter(pack: Pack, edges: str) -> None:
    raw = read_tu(pack(A=edges, **EDGES), "TINY")
    assert raw.pair_index.tolist() == [[0, 0, 1, 3], [1, 2, 2, 4]]


def test_set_without_edges(pack: Pack) -> None:
    raw = read_tu(pack(A="", edge_labels="", edge_attributes=""), "TINY")
    assert raw.pair_index.shape == (2, 0)
    assert raw.pair_labels is not None
    assert raw.pair_labels.shape == (0,)


def test_chunks_do_not_matter(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_tu(pack(), "TINY").content_sha256()
    for size in (7, 8, 13, 64):
        monkeypatch.setattr(lgan.data.readers.tu_files, "CHUNK", size)
        assert read_tu(pack(node_attributes=None, edge_attributes=None), "TINY").num_pairs == 4
    monkeypatch.setattr(lgan.data.readers.tu_files, "CHUNK", 16)
    assert read_tu(pack(), "TINY").content_sha256() == expected


def test_progress_rises_to_one(pack: Pack) -> None:
    seen: list[float] = []
    read_tu(pack(), "TINY", seen.append)
    assert seen == sorted(seen)
    assert 0 < seen[0] < 1
    assert seen[-1] == 1


@st.composite
def unions(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Sizes of graphs, and edges within them in any order, direction and number."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    start = np.concatenate([[0], np.cumsum(sizes)])
    edge = st.integers(0, len(sizes) - 1).flatmap(
        lambda g: st.tuples(*[st.integers(int(start[g]), int(start[g + 1]) - 1)] * 2)
    )
    return sizes, draw(st.lists(edge, max_size=30))


@given(unions())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_pairs_are_those_of_networkx(
    pack: Pack, union: tuple[list[int], list[tuple[int, int]]]
) -> None:
    sizes, edges = union
    graph = nx.Graph((u, v) for u, v in edges if u != v)
    archive = pack(
        A="".join(f"{u + 1}, {v + 1}\n" for u, v in edges),
        graph_indicator="".join(f"{g + 1}\n" * n for g, n in enumerate(sizes)),
        graph_labels="7\n" * len(sizes),
        **(PLAIN | {"edge_labels": "".join(f"{u + v}\n" for u, v in edges)}),
    )
    raw = read_tu(archive, "TINY")
    pairs = [tuple(pair) for pair in raw.pair_index.t().tolist()]
    assert pairs == sorted(tuple(sorted(edge)) for edge in graph.edges)
    assert raw.node_ptr.diff().tolist() == sizes
    words = raw.pairs.vocabularies[0]
    assert [words[i] for i in raw.pairs.categories[:, 0]] == [str(u + v) for u, v in pairs]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=5, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
def test_decimals_survive_the_round_trip(pack: Pack, values: list[float]) -> None:
    raw = read_tu(pack(node_attributes="".join(f"{v!r}\n" for v in values)), "TINY")
    assert raw.node_attributes is not None
    assert raw.node_attributes[:, 0].tolist() == values


BAD_LINES = {
    "text for a number": ({"graph_labels": "1\nx\n"}, r"graph_labels.*line 2: .*whole.*'x'"),
    "text after a number": ({"A": "1, 2\n2, 1b\n"}, r"TINY_A.*line 2: .*node id.*'1b'"),
    "text in attributes": ({"node_attributes": "1\n2\nnan\n4\n5\n"}, r"line 3: .*'nan'"),
    "attribute beyond float32": ({"node_attributes": "1\n2\n3\n4\n1e39\n"}, r"line 5: .*'1e39'"),
    "a fraction for a label": ({"node_labels": "1\n2\n0.5\n1\n1\n"}, r"line 3: .*whole.*'0.5'"),
    "half an exponent": ({"node_attributes": "1\n2\n3e\n4\n5\n"}, r"line 3: .*'3e'"),
    "node id 0": ({"A": "1, 2\n0, 1\n"}, r"line 2: .*from 1 to 5, got '0'"),
    "node id too large": ({"A": "1, 2\n1, 6\n"}, r"line 2: .*from 1 to 5, got '6'"),
    "negative node id": ({"A": "-1, 2\n"}, r"line 1: .*from 1 to 5, got '-1'"),
    "three ends": ({"A": "1, 2\n1, 2, 3\n"}, r"line 2: expected 2 values .*got 3 in '1, 2, 3'"),
    "one end": ({"A": "1, 2\n1\n"}, r"line 2: expected 2 values .*got 1 in '1'"),
    "an empty end": ({"A": "1, 2\n1,\n"}, r"line 2: expected 2 values .*an empty one in '1,'"),
    "an empty column": ({"A": "1,, 2\n"}, r"line 1: expected 2 values .*an empty one in '1,, 2'"),
    "a column too few": ({"node_attributes": "1,2\n1, \n"}, r"line 2: .*empty one in '1,'"),
    "an empty first column": ({"node_labels": "1\n,1\n"}, r"line 2: .*empty one in ',1'"),
    "a label that would be rounded": (
        {"graph_labels": "1\n9007199254740993\n"},
        r"line 2: .*whole number, got '9007199254740993'",
    ),
    "ragged attributes": ({"node_attributes": "1,2\n1\n"}, r"line 2: expected 2 values"),
    "a blank line": ({"node_labels": "1\n\n1\n1\n1\n1\n"}, r"line 2: .*blank line"),
    "too many labels": ({"graph_labels": "1\n1\n1\n"}, r"graph_labels.* 2 lines.*graphs, got more"),
    "too few labels": ({"graph_labels": "1\n"}, r"graph_labels.* 2 lines.*got 1"),
    "too many node labels": ({"node_labels": "1\n" * 6}, r"node_labels.* 5 lines.*nodes, got more"),
    "too few attributes": ({"node_attributes": "1\n" * 4}, r"attributes.* 5 lines.*got 4"),
    "too many edge labels": ({"edge_labels": "1\n" * 9}, r"edge_labels.* 8 lines.*A.txt, got more"),
    "edge labels that disagree": (
        {"edge_labels": "0\n3\n1\n1\n2\n2\n1\n1\n"},
        r"edge_labels.*line 2: .*nodes 2 and 1, got another value than in line 1.*symmetrise",
    ),
    "edge attributes that disagree": (
        {"edge_attributes": "1\n1\n1\n1\n2\n3\n4\n4\n"},
        r"edge_attributes.*line 6: .*nodes 3 and 1, got another value than in line 5.*symmetrise",
    ),
    "an edge across graphs": (
        {"A": "1, 2\n3, 4\n", **EDGES},
        r"TINY_A.*line 2: .*one graph, got 3 of graph 1 and 4 of graph 2",
    ),
    "unsorted graphs": ({"graph_indicator": "1\n1\n2\n1\n2\n"}, r"line 4: .*2 or 3.*got 1"),
    "a graph left out": ({"graph_indicator": "1\n1\n1\n3\n3\n"}, r"line 4: .*1 or 2.*got 3"),
    "graphs from 2": ({"graph_indicator": "2\n2\n2\n3\n3\n"}, r"line 1: .*graph 1 .*got 2"),
    "graph 0": ({"graph_indicator": "0\n0\n0\n1\n1\n"}, r"line 1: .*graph id.*'0'"),
    "no nodes": ({"graph_indicator": ""}, r"graph_indicator.*empty file"),
    "no graph labels": ({"graph_labels": None}, r"no targets: .*TINY_graph_labels.txt"),
    "no edges file": ({"A": None}, r"lacks the file TINY_A.txt"),
    "no indicator": ({"graph_indicator": None}, r"lacks the file TINY_graph_indicator.txt"),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_files_are_refused_by_name_and_line(pack: Pack, case: str) -> None:
    changes, message = BAD_LINES[case]
    with pytest.raises(ValueError, match=message):
        read_tu(pack(**changes), "TINY")


def test_line_numbers_count_across_chunks(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lgan.data.readers.tu_files, "CHUNK", 16)
    with pytest.raises(ValueError, match=r"line 7: .*'x'"):
        read_tu(pack(A="1, 2\n" * 6 + "x, 2\n"), "TINY")
    with pytest.raises(ValueError, match=r"line 4: .*blank"):
        read_tu(pack(A="1, 2\n" * 3 + "\n" * 40 + "1, 2\n"), "TINY")
    with pytest.raises(ValueError, match="lines of text, got one of more than 16 bytes"):
        read_tu(pack(A="1" * 100), "TINY")


@pytest.mark.parametrize("keep", [0, 10, 300, -1])
def test_truncated_archive_is_refused(pack: Pack, keep: int) -> None:
    archive = pack()
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(ValueError, match="damaged or truncated"):
        read_tu(archive, "TINY")


@pytest.mark.parametrize(
    "compression",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
)
def test_damaged_member_is_refused(pack: Pack, compression: int) -> None:
    archive = pack(compression=compression)
    content = bytearray(archive.read_bytes())
    content[50:70] = bytes(20)
    archive.write_bytes(content)
    with pytest.raises(ValueError, match=r"TINY.zip is damaged or truncated"):
        read_tu(archive, "TINY")


@pytest.mark.parametrize(
    "path", ["../evil.txt", "/etc/evil", "TINY/../../evil", "C:\\evil", "..\\x"]
)
def test_paths_that_leave_the_folder_are_refused(pack: Pack, path: str) -> None:
    archive = pack()
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr(path, "x")
    with pytest.raises(ValueError, match="unsafe"):
        read_tu(archive, "TINY")


def test_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"archive of TINY at .*TINY.zip"):
        read_tu(tmp_path / "TINY.zip", "TINY")


def _check_known(raw: RawGraphs) -> None:
    graphs, classes, nodes, edges, triangles, degree, labels = KNOWN[raw.name]
    assert (raw.num_graphs, raw.num_classes, raw.num_pairs) == (graphs, classes, edges)
    assert raw.num_nodes / raw.num_graphs == pytest.approx(nodes, abs=0.005)
    assert int(raw.pair_index.reshape(-1).bincount().max()) == degree
    found = 0 if raw.node_labels is None else len(torch.unique(raw.node_labels))
    assert found == labels
    spec = DATASETS[raw.name]
    assert (spec.graphs, spec.classes) == (graphs, classes)
    if triangles is not None:
        u, v = raw.pair_index.numpy()
        shape = (raw.num_nodes, raw.num_nodes)
        upper = scipy.sparse.csr_array((np.ones(len(u), np.int64), (u, v)), shape=shape)
        assert (upper @ upper).multiply(upper).sum() == triangles


def _load(mirror: Path, name: str) -> RawGraphs:
    if not (mirror / f"{name}.zip").is_file():
        pytest.skip(f"needs the offline mirror of real data: {mirror / name}.zip is missing")
    return load_raw(name, mirror=mirror)


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(set(KNOWN) - {"COLLAB"}))
def test_known_sets_have_the_published_counts(mirror: Path, name: str) -> None:
    _check_known(_load(mirror, name))


@pytest.mark.data
@pytest.mark.slow
def test_collab_has_the_published_counts(mirror: Path) -> None:
    _check_known(_load(mirror, "COLLAB"))


@pytest.mark.data
def test_labels_of_mutagenicity_are_the_atoms_of_its_readme(mirror: Path) -> None:
    raw = _load(mirror, "Mutagenicity")
    assert raw.node_labels is not None
    assert raw.pair_labels is not None
    assert raw.node_labels.bincount()[[0, 3, 13]].tolist() == [53_856, 58_205, 2]
    assert len(raw.pair_labels.bincount()) == 3
    hydrogen = raw.node_labels == 3
    degree = raw.pair_index.reshape(-1).bincount(minlength=raw.num_nodes)
    assert int(degree[hydrogen].max()) == 1
