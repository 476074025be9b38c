import json
import sys

import networkx as nx
import pytest


def test_two_graphs_are_compared_by_name(lgan) -> None:
    ran = lgan("wl", "hexagon", "two-triangles", "--json")
    rows = {row["test"]: row for row in ran.json}
    assert not rows["1-wl"]["separates"]
    assert rows["lgan"] == {"test": "lgan", "separates": True, "round": 1}


def test_files_of_edges_and_graph6_are_read(lgan, tmp_path) -> None:
    path = tmp_path / "triangle.txt"
    path.write_text("a b  # an edge\nb c\nc,a\n")
    ran = lgan("wl", str(path), "Bw", "--test", "2-fwl", "--json")
    assert ran.json == [{"test": "2-fwl", "separates": False, "round": None}]


def test_a_file_of_one_graph_is_read_with_its_labels(lgan, tmp_path) -> None:
    square = nx.cycle_graph(4)
    nx.write_graphml(square, tmp_path / "square.graphml")
    nx.set_edge_attributes(square, {(0, 1): "double"}, "label")
    (tmp_path / "bond.jsonl").write_text(json.dumps(nx.node_link_data(square, edges="edges")))
    files = [str(tmp_path / name) for name in ("square.graphml", "bond.jsonl")]
    rows = [lgan("wl", file, "c4", "--test", "1-wl", "--json").json[0] for file in files]
    assert [row["separates"] for row in rows] == [False, True]
    (tmp_path / "two.jsonl").write_text(
        (tmp_path / "bond.jsonl").read_text() + "\n" + '{"nodes": [{"id": 0}], "edges": []}'
    )
    told = lgan("wl", str(tmp_path / "two.jsonl"), "c4")
    assert told.code == 2
    assert "must hold one graph, got 2" in told.err


def test_molecules_are_read_from_smiles(lgan) -> None:
    pytest.importorskip("rdkit")
    # Decalin and bicyclopentyl: 1-WL and LGAN take them for one molecule, 2-FWL does not.
    ran = lgan("wl", "C1CCC2CCCCC2C1", "smiles:C1CCC(C1)C1CCCC1", "--json")
    separates = {row["test"]: row["separates"] for row in ran.json}
    assert not separates["1-wl"]
    assert not separates["lgan-res"]
    assert separates["2-fwl"]
    for text, message in {"C1CC(": "no SMILES either", "smiles:C1CC(": "RDKit can read"}.items():
        told = lgan("wl", text, "hexagon").err.replace("│", " ")
        assert message in " ".join(told.split())


def test_the_place_of_a_double_bond_is_seen_and_told(lgan) -> None:
    pytest.importorskip("rdkit")
    # 2-pentene and 1-pentene: the same atoms, the same graph, one bond elsewhere.
    ran = lgan("wl", "CC=CCC", "CCCC=C")
    assert " no " not in ran.out
    assert "read with the elements of atoms and the orders of bonds" in " ".join(ran.out.split())
    assert all(row["separates"] for row in lgan("wl", "CC=CCC", "CCCC=C", "--json").json)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("C/C=C/C", "C/C=C\\C"),  # trans and cis
        ("C[C@H](O)N", "C[C@@H](O)N"),  # mirror images
        ("C1=CC=CC=C1", "C1C=CC=CC=1"),  # one ring, its bonds shifted by one
    ],
)
def test_stereochemistry_is_not_read_and_aromatic_rings_are_one(lgan, a, b) -> None:
    pytest.importorskip("rdkit")
    assert not any(row["separates"] for row in lgan("wl", a, b, "--json").json)


def test_edges_of_a_file_can_have_labels(lgan, tmp_path) -> None:
    for name, kinds in {"a": "1122", "b": "1212"}.items():
        square = zip("wxyz", "xyzw", kinds, strict=True)
        (tmp_path / name).write_text("".join(f"{u} {v} {kind}\n" for u, v, kind in square))
    ran = lgan("wl", str(tmp_path / "a"), str(tmp_path / "b"), "--test", "1-wl")
    assert "yes" in ran.out
    assert "Edges were read with their labels." in ran.out


def test_labels_of_one_edge_that_differ_are_refused(lgan, tmp_path) -> None:
    (tmp_path / "a").write_text("0 1 x\n1 0 y\n")
    ran = lgan("wl", str(tmp_path / "a"), "path(2)")
    assert ran.code == 1
    assert "labels of edges must agree" in ran.err


def test_the_hierarchy_counts_small_graphs(lgan) -> None:
    ran = lgan("wl", "hierarchy", "--max-nodes", "6", "--test", "1-wl", "--test", "lgan", "--json")
    last = ran.json["small"][-1]
    assert last == {"n": 6, "graphs": 112, "unseparated": {"1-wl": 3, "lgan": 0}}


def test_the_table_of_the_hierarchy_names_its_tests_where_there_is_little_room(lgan, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = lgan("wl", "hierarchy", "--max-nodes", "5")
    for name in ("1-wl", "lgan-res", "lgan-linear", "2-fwl"):
        assert f"│ {name} " in ran.out
    assert "of 5 nodes" in ran.out


def test_the_folder_of_brec_is_looked_at_before_anything_is_refined(lgan, monkeypatch):
    monkeypatch.setattr("lgan.cli.wl.small_graphs_rows", None)
    ran = lgan("wl", "hierarchy", "--brec", "nowhere")
    assert ran.code == 1
    assert "BREC needs basic.npy" in ran.err


def test_edges_are_counted_as_the_tests_see_them(lgan, tmp_path) -> None:
    (tmp_path / "a").write_text("\ufeff0 1\n1 0\n1 2\n2 2\n")
    ran = lgan("wl", "a", "path(3)", "--test", "1-wl")
    assert "a (3 nodes, 2 edges without loops) and path(3) (3 nodes, 2 edges)" in ran.out
    assert "│ no " in ran.out
    (tmp_path / "a").write_bytes(b"\xff\x00")
    ran = lgan("wl", "a", "path(3)")
    assert ran.code == 1
    assert "a must be text with an edge `u v` a line" in ran.err


def test_long_comparisons_tell_which_test_is_at_work(lgan, monkeypatch) -> None:
    monkeypatch.setattr("lgan.cli.screen.QUIET", 0.0)
    assert "refining by 2-wl" in lgan("wl", "k3", "k4", "--test", "1-wl", "--test", "2-wl").err


def test_a_picture_shows_both_graphs(lgan, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "pair.png"
    lgan("wl", "prism", "k33", "--test", "1-wl", "--plot", str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hexagn", "k3"], "hexagon"),
        (["hexagon"], "two graphs"),
        (["", "k3"], "a name, a graph6 string, a file or SMILES, got none"),
        (["smiles:", "k3"], "got none"),
        (["complete(100000)", "k3"], "complete takes numbers up to 2,000, got 'complete(100000)'"),
        (["hierarchy", "--plot", "a.png"], "`hierarchy` has none to draw"),
        (["hexagon", "k3", "--brec", "brec"], "`--brec` is for `lgan wl hierarchy`"),
        (["hexagon", "k3", "--test", "9-wl"], "Unknown test"),
        (["k3", "k4", "--plot", "a.pdf"], "`--plot` must end in .png or .svg, got a.pdf"),
        (["k3", "k4", "--plot", "b/a.png"], "must be in a folder that exists, and b does not"),
    ],
)
def test_bad_usage_is_explained_and_writes_nothing(lgan, empty, arguments, message) -> None:
    ran = lgan("wl", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert empty()


def test_a_missing_package_is_asked_for_before_anything_is_computed(lgan, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("lgan.wl.compare", None)
    ran = lgan("wl", "prism", "k33", "--plot", tmp_path / "pair.png")
    assert ran.code == 1
    assert "pip install 'lgan[plot]'" in ran.err


def test_without_rdkit_a_molecule_names_the_extra(lgan, monkeypatch):
    monkeypatch.setattr("lgan.cli.wl.find_spec", lambda name: None)
    ran = lgan("wl", "CCCO", "CCCC")
    assert ran.code == 2
    assert "pip install 'lgan[molecules]'" in ran.err
    assert "no SMILES" not in ran.err
