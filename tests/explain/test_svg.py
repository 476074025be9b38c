import xml.etree.ElementTree as ElementTree

import pytest

from lgan.explain.molecule import molecule_from_smiles
from lgan.explain.picture import graph_picture, molecule_picture
from lgan.explain.scale import Scale
from lgan.explain.svg import sheet_svg
from made_scores import made

SVG = "{http://www.w3.org/2000/svg}"
PAW = [(0, 1), (0, 2), (1, 2), (2, 3)]


def titles(svg: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def paw(**options):
    return graph_picture(made(4, PAW, [2.0, -1.0, 0.0, 1.0]), **options)


def nitrobenzene(**options):
    pytest.importorskip("rdkit")
    molecule = molecule_from_smiles("c1ccccc1[N+](=O)[O-]", "MUTAG")
    pairs = [(u, v) for u, v in molecule.pair_index.t().tolist()]
    scores = [0.1 * i - 0.3 for i in range(len(pairs))]
    return molecule_picture(made(9, pairs, scores), molecule, **options)


def test_scores_of_a_graph_are_told_under_the_pointer():
    told = titles(paw(labels=["a", "b", "<c>", "d"]).svg())
    assert told[:4] == ["b–<c>: +0", "a–<c>: -1", "<c>–d: +1", "a–b: +2"]
    assert told[4:] == ["node a: +0.5", "node b: +1", "node <c>: +0", "node d: +0.5"]


def test_lines_have_the_colours_and_widths_of_the_picture():
    picture = paw()
    lines = list(ElementTree.fromstring(picture.svg()).iter(f"{SVG}line"))
    seen = [(e.get("stroke"), e.get("stroke-width")) for e in lines if not e.get("stroke-opacity")]
    wanted = [(picture.edge_colours[i], f"{picture.edge_widths[i]:.1f}")
              for i in picture.drawing_order]  # fmt: skip
    assert seen == wanted


def test_everything_lies_inside_the_drawing():
    for node in ElementTree.fromstring(paw().svg(200, 100)).iter(f"{SVG}circle"):
        assert 0 < float(node.get("cx")) < 200
        assert 0 < float(node.get("cy")) < 100


def test_molecule_has_bands_with_scores_and_black_lines():
    picture = nitrobenzene(title="nitrobenzene")
    svg = picture.svg()
    assert len(titles(svg)) == 9
    assert "N6–O8: +0.5" in titles(svg)
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == "nitrobenzene"
    assert "stroke:#000000" in svg
    assert "rdkit:" not in svg
    widths = [float(e.get("stroke-width")) for e in root.iter(f"{SVG}line")]
    shown = widths[1::2]
    assert shown == sorted(shown)  # the strongest last and thickest


@pytest.mark.parametrize("pairs", [[], [(0, 1)]])
def test_graphs_with_hardly_anything_are_drawn(pairs):
    picture = graph_picture(made(2, pairs, [0.0] * len(pairs)))
    assert len(titles(picture.svg())) == 2 + len(pairs)
    sheet = sheet_svg([picture])
    ElementTree.fromstring(sheet)


def test_a_sheet_of_one_scale_has_one_colour_bar_and_others_one_each():
    one, other = paw(title="left & right"), paw().with_scale(Scale(5.0))
    assert sheet_svg([one, one]).count('height="8"') == 40
    assert sheet_svg([one, other]).count('height="8"') == 80
    assert "left &amp; right" in sheet_svg([one])


def test_a_sheet_is_a_grid():
    root = ElementTree.fromstring(sheet_svg([paw()] * 5, columns=3))
    places = {(e.get("x"), e.get("y")) for e in root.findall(f"{SVG}svg")}
    assert len(places) == 5
    assert len({x for x, _ in places}) == 3
    assert len({y for _, y in places}) == 2


def test_words_that_are_too_long_are_set_smaller_and_then_cut():
    assert "…" not in sheet_svg([paw(title="w" * 60)])
    assert "…" in sheet_svg([paw(title="w" * 200)])


def test_an_empty_sheet_is_refused():
    with pytest.raises(ValueError, match="needs one picture or more, got none"):
        sheet_svg([])
