"""Explanations: scores of edges, how good they are, pictures and reports."""

from lgan.explain.atoms import MOLECULES
from lgan.explain.attribute import attribute, attribute_all
from lgan.explain.attribution import Attribution
from lgan.explain.draw import plot, save
from lgan.explain.evaluate import Evaluation, evaluate
from lgan.explain.explainer import Explainer
from lgan.explain.gallery import GalleryItem
from lgan.explain.methods import METHODS
from lgan.explain.molecule import Molecule, molecule_from_graph, molecule_from_smiles
from lgan.explain.path import Path
from lgan.explain.picture import Picture
from lgan.explain.report import Report
from lgan.explain.scale import Scale

__all__ = [
    "METHODS",
    "MOLECULES",
    "Attribution",
    "Evaluation",
    "Explainer",
    "GalleryItem",
    "Molecule",
    "Path",
    "Picture",
    "Report",
    "Scale",
    "attribute",
    "attribute_all",
    "evaluate",
    "molecule_from_graph",
    "molecule_from_smiles",
    "plot",
    "save",
]
