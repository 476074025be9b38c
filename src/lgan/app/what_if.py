"""What the model would say of a molecule or graph that is a little different."""

from dataclasses import replace
from typing import Any

from lgan._optional import require
from lgan.app.answers import explained_value, predicted
from lgan.app.limits import Limits, RefusedError
from lgan.app.subjects import Subjects, read_smiles
from lgan.data import RawGraphs
from lgan.data.molecules.graphs import graph_molecule
from lgan.explain.attribution import plain
from lgan.predictor import Predictor


def changed(
    predictor: Predictor,
    raw: RawGraphs,
    limits: Limits,
    *,
    target: str | int,
    remove: list[int] | None = None,
    atom: int | None = None,
    element: str | None = None,
) -> dict[str, Any]:
    """The prediction after a change, and by how much that moves what explanations explain.

    Args:
        predictor: The model.
        raw: One molecule or graph.
        limits: What may be asked.
        target: The class, or one of several targets.
        remove: The two ends of a bond or edge to take away.
        atom: An atom to make another element.
        element: That element's symbol.
    """
    if (remove is None) == (atom is None or element is None):
        raise RefusedError(422, "Expected `remove`, or `atom` and `element`: one change.")
    if remove is not None:
        pairs = {tuple(pair) for pair in raw.pair_index.t().tolist()}
        if len(remove) != 2 or tuple(sorted(remove)) not in pairs:
            raise RefusedError(
                422, "`remove` must be the two ends of a bond or edge that is there."
            )
    if raw.structures is None or raw.featuriser is None:
        if remove is None:
            raise RefusedError(422, "Expected `remove`: nodes of this graph are no atoms.")
        other, smiles = Subjects(_without(raw, remove), {"graph": [0]}), None
    else:
        smiles = _edited(graph_molecule(raw, 0), remove, atom, element)
        other = read_smiles(predictor, [smiles], limits)
    before = explained_value(predictor, raw, target)
    after = explained_value(predictor, other.only, target)
    [row] = predicted(predictor, other, details=False)["rows"]
    told = {"smiles": smiles, "row": row, "before": before, "after": after}
    return plain(told | {"change": after - before})  # type: ignore[no-any-return]


def _without(raw: RawGraphs, remove: list[int]) -> RawGraphs:
    """A graph without one of its edges."""
    low, high = sorted(remove)
    keep = ~((raw.pair_index[0] == low) & (raw.pair_index[1] == high))
    return replace(
        raw,
        pair_index=raw.pair_index[:, keep],
        pairs=raw.pairs[keep.nonzero()[:, 0]],
        direction=None if raw.direction is None else raw.direction[keep],
        ground_truth=None if raw.ground_truth is None else raw.ground_truth[keep],
    )


def _edited(mol: Any, remove: list[int] | None, atom: int | None, element: str | None) -> str:
    """The SMILES of a molecule after a change; hydrogens fill what is open."""
    chem, base = require("rdkit.Chem"), require("rdkit.rdBase")
    edited = chem.RWMol(mol)
    try:
        with base.BlockLogs():
            chem.Kekulize(edited, clearAromaticFlags=True)
            if remove is not None:
                edited.RemoveBond(*remove)
            else:
                assert atom is not None
                if not 0 <= atom < edited.GetNumAtoms():
                    raise RefusedError(
                        422, f"`atom` must be below {edited.GetNumAtoms()}, got {atom}."
                    )
                edited.ReplaceAtom(atom, chem.Atom(_number(str(element))), preserveProps=True)
            for each in edited.GetAtoms():
                if each.GetFormalCharge() == 0:
                    each.SetNoImplicit(False)
                    each.SetNumRadicalElectrons(0)
            chem.SanitizeMol(edited)
            return str(chem.MolToSmiles(edited))
    except (ValueError, RuntimeError) as error:  # of RDKit: valences
        raise RefusedError(
            422, f"The changed molecule cannot be: {str(error).splitlines()[0]}. Try another."
        ) from error


def _number(element: str) -> int:
    try:
        return int(require("rdkit.Chem").GetPeriodicTable().GetAtomicNumber(element))
    except RuntimeError as error:
        raise RefusedError(
            422, f"`element` must be the symbol of an element, got {element[:20]!r}."
        ) from error
