import json

import pytest

from lgan.data import load_raw
from lgan.experiment import Reading
from lgan.explain.molecule import molecule_from_smiles
from paper import figure3 as module
from paper.figure3 import SHOWN, figure3

pytest.importorskip("rdkit")


def test_triangles_come_first_in_the_panel_with_triangles(tmp_path):
    trainer = module._Trainer(Reading(root=tmp_path), 8, 16, "cpu", module._no_bar)
    panels, about = module._graphs(trainer)
    assert about["held_out_accuracy"] == 1.0
    assert about["triangle_edges_on_top"] == 1.0
    assert about["told_apart_by"] == {"1-wl": False, "2-wl-set": False, "2-wl": False, "lgan": True}
    (first, without), (second, with_triangles) = panels
    assert first.scale == second.scale
    assert (without["class"], with_triangles["class"]) == (0, 1)
    assert (without["predicted"], with_triangles["predicted"]) == (0, 1)
    assert without["triangles"] == [[], [], []]
    corners = zip(*with_triangles["triangles"], strict=True)
    sides = {pair for a, b, c in corners for pair in ((a, b), (a, c), (b, c))}
    best = {second.pairs[i] for i in second.drawing_order[::-1][: len(sides)]}
    assert best == sides


@pytest.mark.slow
@pytest.mark.data
def test_figure_shows_four_panels_and_keeps_a_record(mirror, tmp_path):
    made = figure3(root=tmp_path, mirror=mirror, epochs=(2, 1), hidden=(8, 4))
    paths = made.save(tmp_path / "figure3.svg")
    assert [path.suffix for path in paths] == [".svg", ".png", ".json"]
    record = json.loads(paths[-1].read_text())
    assert [panel["name"][:3] for panel in record["panels"]] == ["(a)", "(b)", "(c)", "(d)"]
    assert [panel["class"] for panel in record["panels"]] == [0, 1, 0, 1]
    assert [panel["graph"] for panel in record["panels"][2:]] == [44, 393]
    assert record["panels"][2]["node_labels"].count("H11") == 1
    assert record["panels"][2]["classes"] == ["mutagen", "non-mutagen"]
    assert str(tmp_path) not in paths[-1].read_text() + paths[0].read_text()
    assert str(mirror) not in paths[-1].read_text()


@pytest.mark.data
def test_molecules_of_the_figure_are_found_in_the_set(mirror, tmp_path):
    raw = load_raw("Mutagenicity", root=tmp_path, mirror=mirror)
    for (_, smiles, paper), graph in zip(SHOWN, (44, 393), strict=True):
        found = module._find(raw, molecule_from_smiles(smiles, raw.name))
        assert found == graph
        assert int(raw.y[graph]) == paper
    assert module._find(raw, molecule_from_smiles("CCCCCCCCCCCCCCCCCCCCCCCCCC", raw.name)) is None
