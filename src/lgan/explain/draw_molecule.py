"""Molecules drawn by RDKit, bonds, and atoms where asked, in the colours of their scores."""

from typing import Any

from lgan._optional import require
from lgan.explain.picture import Picture

# Scores below this share of the limit leave a bond white.
SEEN = 0.04
# RDKit's widths and letters do not all grow with a drawing. So both formats are drawn at one size,
# with so many pixels to each of ours, and shown smaller.
SHARP = 3


def molecule_svg(picture: Picture, width: int, height: int) -> str:
    """The drawing as an SVG document."""
    text = str(_draw(picture, "MolDraw2DSVG", width, height))
    for name, size in (("width", width), ("height", height)):
        text = text.replace(f"{name}='{SHARP * size}px'", f"{name}='{size}px'", 1)
    return text


def molecule_png(picture: Picture, width: int, height: int) -> bytes:
    """The drawing as a PNG file."""
    return bytes(_draw(picture, "MolDraw2DCairo", width, height))


def _draw(picture: Picture, by: str, width: int, height: int) -> Any:
    assert picture.molecule is not None
    chem, tools = require("rdkit.Chem"), require("rdkit.Chem.Draw.rdMolDraw2D")
    drawer = getattr(tools, by)(SHARP * width, SHARP * height)
    options = drawer.drawOptions()
    options.useBWAtomPalette()  # colour is for scores alone
    options.padding = 0.08
    options.bondLineWidth = 1.6 * SHARP
    options.fixedBondLength = 42 * SHARP
    options.maxFontSize = 18 * SHARP
    options.highlightBondWidthMultiplier = 8
    options.annotationFontScale = 0.8
    options.setBondNoteColour((0.0, 0.0, 0.0))
    mol = chem.Mol(picture.molecule.mol)
    if picture.numbers:
        for i, note in picture.notes.items():
            mol.GetBondBetweenAtoms(*picture.pairs[i]).SetProp("bondNote", note)
    try:
        clean = picture.molecule.status == "clean"
        mol = tools.PrepareMolForDrawing(mol, kekulize=clean, addChiralHs=False)
    except (ValueError, RuntimeError):  # drawn as it is rather than not at all
        options.prepareMolsBeforeDrawing = False
    colours = {
        mol.GetBondBetweenAtoms(*pair).GetIdx(): picture.scale.rgb(score)
        for pair, score in zip(picture.pairs, picture.scores, strict=True)
        if picture.scale.weight(score) >= SEEN
    }
    atoms = {
        atom: picture.scale.rgb(score)
        for atom, score in enumerate(picture.node_scores)
        if picture.scale.weight(score) >= SEEN
    }
    drawer.DrawMolecule(
        mol,
        highlightAtoms=list(atoms),
        highlightBonds=list(colours),
        highlightAtomColors=atoms,
        highlightBondColors=colours,
    )
    drawer.FinishDrawing()
    return drawer.GetDrawingText()
