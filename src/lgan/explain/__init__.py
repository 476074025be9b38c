"""Explanations: scores of edges, how good they are, pictures and reports."""

from lgan.explain.atoms import MOLECULES
from lgan.explain.attribute import attribute
from lgan.explain.attribution import Attribution
from lgan.explain.draw import plot, save
from lgan.explain.fragments import (
    FRAGMENTS,
    MOLECULE_FRAGMENTS,
    Fragment,
    graph_fragments,
    molecule_fragments,
)
from lgan.explain.gallery import GalleryItem
from lgan.explain.methods import METHODS
from lgan.explain.molecule import Molecule, molecule_from_graph, molecule_from_smiles
from lgan.explain.path import Path
from lgan.explain.picture import Picture
from lgan.explain.report import Report
from lgan.explain.scale import Scale

__all__ = [
    "FRAGMENTS",
    "METHODS",
    "MOLECULES",
    "MOLECULE_FRAGMENTS",
    "Attribution",
    "Fragment",
    "GalleryItem",
    "Molecule",
    "Path",
    "Picture",
    "Report",
    "Scale",
    "attribute",
    "graph_fragments",
    "molecule_fragments",
    "molecule_from_graph",
    "molecule_from_smiles",
    "plot",
    "save",
]
