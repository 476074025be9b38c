"""Draws the four molecules of docs/explanations.md: `python docs/mutagens.py MIRROR`.

A model is trained on 2,000 molecules of the TU set Mutagenicity, written as SMILES, so that
hydrogens are implicit; then `lgan explain` draws. MIRROR is a folder that holds Mutagenicity.zip;
without it the set is downloaded.
"""

import random
import sys
from pathlib import Path

from lgan.cli import main
from lgan.data import load_raw
from lgan.estimator import LGANClassifier
from lgan.explain import MOLECULES, molecule_from_graph

MODEL, PICTURE = Path("runs/mutagens/model.safetensors"), "docs/pictures/mutagens.svg"
DRAWN = {
    "O=[N+]([O-])c1ccccc1": "nitrobenzene",
    "Nc1ccccc1": "aniline",
    "c1ccc2c(c1)cc1ccc3cccc4ccc2c1c34": "benzo[a]pyrene",
    "CCO": "ethanol",
}


def molecules(mirror: str | None) -> list[tuple[str, str]]:
    """SMILES and classes of the set, those that RDKit reads as single molecules."""
    from rdkit import Chem

    raw, found = load_raw("Mutagenicity", mirror=mirror), []
    for graph in range(raw.num_graphs):
        molecule = molecule_from_graph(raw, graph)
        smiles = Chem.MolToSmiles(Chem.RemoveHs(molecule.mol)) if molecule.status == "clean" else ""
        if smiles and "." not in smiles:
            found.append((smiles, MOLECULES["Mutagenicity"].classes[int(raw.y[graph])]))
    return found


def draw(mirror: str | None) -> None:
    """Train the model unless it is there, and draw."""
    if not MODEL.exists():
        rows = molecules(mirror)
        random.Random(0).shuffle(rows)
        smiles, outcome = zip(*rows[:2000], strict=True)
        model = LGANClassifier(members=5, epochs=15, random_state=0).fit(list(smiles), outcome)
        MODEL.parent.mkdir(parents=True, exist_ok=True)
        model.save(MODEL)
    asked = [part for smiles, name in DRAWN.items() for part in ("--smiles", f"{smiles} {name}")]
    sys.argv = ["lgan", "explain", str(MODEL), *asked, "--class", "mutagen", "-o", PICTURE]
    main()


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else None)
