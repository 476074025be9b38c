"""Pure functions on the tensors of a graph: edges, triangles, twins, ego line graphs, unions."""

from lgan.graph.batch import GraphBatch, graph_ptr
from lgan.graph.cells import Cells
from lgan.graph.concatenate import concatenate
from lgan.graph.edge_features import EdgeFeatures
from lgan.graph.edges import undirected_pairs, validate_edge_index
from lgan.graph.ego_lines import EgoLines
from lgan.graph.triangles import triangles
from lgan.graph.twins import twin_classes
from lgan.graph.union import GraphUnion, Lift

__all__ = [
    "Cells",
    "EdgeFeatures",
    "EgoLines",
    "GraphBatch",
    "GraphUnion",
    "Lift",
    "concatenate",
    "graph_ptr",
    "triangles",
    "twin_classes",
    "undirected_pairs",
    "validate_edge_index",
]
