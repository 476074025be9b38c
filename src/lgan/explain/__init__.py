"""Explanations: scores of edges, how good they are, pictures and reports."""

from lgan.explain.atoms import MOLECULES
from lgan.explain.attribute import attribute, attribute_all
from lgan.explain.attribution import Attribution
from lgan.explain.draw import save
from lgan.explain.entry import Entry
from lgan.explain.evaluate import Evaluation, evaluate
from lgan.explain.ground_truth import nitro_and_amino
from lgan.explain.methods import METHODS
from lgan.explain.molecule import Molecule, molecule_from_graph, molecule_from_smiles
from lgan.explain.path import Path
from lgan.explain.picture import Picture, graph_picture, molecule_picture
from lgan.explain.report import Report
from lgan.explain.scale import Scale

__all__ = [
    "METHODS",
    "MOLECULES",
    "Attribution",
    "Entry",
    "Evaluation",
    "Molecule",
    "Path",
    "Picture",
    "Report",
    "Scale",
    "attribute",
    "attribute_all",
    "evaluate",
    "graph_picture",
    "molecule_from_graph",
    "molecule_from_smiles",
    "molecule_picture",
    "nitro_and_amino",
    "save",
]
