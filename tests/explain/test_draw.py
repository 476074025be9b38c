import pytest

from lgan.explain.draw import figure, save
from lgan.explain.molecule import molecule_from_smiles
from lgan.explain.picture import graph_picture, molecule_picture
from made_scores import made

Figure = pytest.importorskip("matplotlib.figure").Figure
colors = pytest.importorskip("matplotlib.colors")

PAW = [(0, 1), (0, 2), (1, 2), (2, 3)]


def paw(**options):
    return graph_picture(made(4, PAW, [2.0, -1.0, 0.0, 1.0]), title="paw", **options)


def aniline():
    pytest.importorskip("rdkit")
    molecule = molecule_from_smiles("Nc1ccccc1", "MUTAG")
    pairs = [(u, v) for u, v in molecule.pair_index.t().tolist()]
    return molecule_picture(made(7, pairs, [0.5] * len(pairs)), molecule, title="aniline")


def test_plot_draws_what_the_picture_holds():
    picture = paw()
    drawn = Figure()
    ax = picture.plot(drawn.add_subplot())
    lines = ax.collections[0]
    assert len(lines.get_segments()) == 4
    widest = lines.get_linewidths()[-1]
    assert widest == max(lines.get_linewidths())
    assert colors.to_hex(lines.get_colors()[-1]) == picture.edge_colours[0]
    assert ax.get_title() == "paw"
    assert len(drawn.axes) == 2  # the colour bar


def test_a_picture_without_scores_has_no_colour_bar():
    drawn = Figure()
    graph_picture(made(2, [], [])).plot(drawn.add_subplot())
    assert len(drawn.axes) == 1


def test_molecule_is_drawn_on_bands():
    drawn = Figure()
    ax = aniline().plot(drawn.add_subplot())
    assert len(ax.lines) == 7
    assert len(ax.images) == 1


def test_a_grid_leaves_spare_places_empty():
    drawn = figure([paw()] * 3, columns=2)
    shown = [ax for ax in drawn.axes if ax.get_title()]
    assert len(shown) == 3


@pytest.mark.parametrize("ending", ["svg", "png", "SVG"])
def test_the_ending_gives_the_format(ending, tmp_path):
    path = tmp_path / "new" / f"out.{ending}"
    save([paw(), aniline()], path)
    head = path.read_bytes()[:8]
    assert head.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end with .svg or .png, got 'out.gif'"):
        save([paw()], tmp_path / "out.gif")
    with pytest.raises(ValueError, match="needs one or more, got none"):
        save([], tmp_path / "out.svg")
