"""Parts of a graph that are explained as a whole: groups of molecules, communities, triangles."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from lgan._optional import require
from lgan.catalogue import known
from lgan.graph import triangles
from lgan.graph.twins import twin_classes

Nodes = tuple[int, ...]


@dataclass(frozen=True)
class Fragment:
    """A part of a graph, and what goes when it is taken away.

    Attributes:
        name: What to call it: SMILES for a part of a molecule.
        nodes: Its nodes, which go with all edges at them.
        edges: Its edges, ``u < v``, where only edges go and their nodes stay.
    """

    name: str
    nodes: Nodes = ()
    edges: tuple[tuple[int, int], ...] = ()


def graph_fragments(pair_index: Tensor, num_nodes: int, kind: str) -> tuple[Fragment, ...]:
    """The fragments of any graph.

    Args:
        pair_index: Every edge once ``[2, P]``.
        num_nodes: Number of nodes.
        kind: A name of :data:`FRAGMENTS`: ``edges``, ``triangles`` (their edges), ``twins``
            (classes of true twins) or ``communities`` (of greatest modularity).

    Example:
        >>> import torch
        >>> paw = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 3]])
        >>> [part.name for part in graph_fragments(paw, 4, "twins")]
        ['0-1', '2', '3']
    """
    find = FRAGMENTS[known(kind, FRAGMENTS, "kind of fragments")]
    return find(pair_index.long().cpu(), num_nodes)


def molecule_fragments(mol: Any, kind: str = "groups") -> tuple[Fragment, ...]:
    """The fragments of a molecule of RDKit; nodes are its atoms.

    Args:
        mol: The molecule.
        kind: A name of :data:`MOLECULE_FRAGMENTS`: ``rings``, ``ring-systems`` (rings that share
            an atom), ``groups`` (functional groups, ring systems and chains, which together are
            all atoms) or ``brics`` (the pieces between the bonds that BRICS cuts).

    Example:
        >>> from rdkit import Chem
        >>> [part.name for part in molecule_fragments(Chem.MolFromSmiles("CCc1ccccc1C(=O)O"))]
        ['O=CO', 'c1ccccc1', 'CC']
    """
    find = MOLECULE_FRAGMENTS[known(kind, MOLECULE_FRAGMENTS, "kind of fragments")]
    smiles = require("rdkit.Chem").MolFragmentToSmiles
    return tuple(Fragment(smiles(mol, list(part)), tuple(sorted(part))) for part in find(mol))


def _edges(pair_index: Tensor, num_nodes: int) -> tuple[Fragment, ...]:
    return tuple(Fragment(f"{u}-{v}", edges=((u, v),)) for u, v in pair_index.t().tolist())


def _triangles(pair_index: Tensor, num_nodes: int) -> tuple[Fragment, ...]:
    found = triangles(pair_index, num_nodes).t().tolist()
    return tuple(
        Fragment(joined_nodes(t), edges=((t[0], t[1]), (t[0], t[2]), (t[1], t[2]))) for t in found
    )


def _twins(pair_index: Tensor, num_nodes: int) -> tuple[Fragment, ...]:
    classes: dict[int, list[int]] = {}
    for node, number in enumerate(twin_classes(pair_index, num_nodes).tolist()):
        classes.setdefault(number, []).append(node)
    return tuple(Fragment(joined_nodes(nodes), tuple(nodes)) for nodes in classes.values())


def _communities(pair_index: Tensor, num_nodes: int) -> tuple[Fragment, ...]:
    import networkx as nx

    graph = nx.empty_graph(num_nodes)
    graph.add_edges_from(pair_index.t().tolist())
    found = nx.community.louvain_communities(graph, seed=0) if num_nodes else []
    parts = sorted(sorted(part) for part in found)
    return tuple(Fragment(joined_nodes(part), tuple(part)) for part in parts)


def joined_nodes(nodes: Sequence[int]) -> str:
    """The name of some nodes: their numbers with ``-`` between them."""
    return "-".join(map(str, nodes))


def _rings(mol: Any) -> list[Nodes]:
    return [tuple(ring) for ring in mol.GetRingInfo().AtomRings()]


def _ring_systems(mol: Any) -> list[Nodes]:
    in_rings = [pair for ring in _rings(mol) for pair in itertools.pairwise(ring)]
    return _components([], in_rings)


def _groups(mol: Any) -> list[Nodes]:
    """Functional groups as Ertl finds them (J. Cheminform. 9:36, 2017), then ring systems without
    their atoms, then what is left.
    """
    marked = {atom.GetIdx() for atom in mol.GetAtoms() if _is_functional(atom)}
    bonds = bond_ends(mol)
    groups = _components(marked, [b for b in bonds if marked.issuperset(b)])
    rings = [tuple(a for a in ring if a not in marked) for ring in _ring_systems(mol)]
    rings = [ring for ring in rings if ring]
    used = marked.union(*rings)
    rest = set(range(mol.GetNumAtoms())) - used
    return [*groups, *rings, *_components(rest, [b for b in bonds if rest.issuperset(b)])]


def _is_functional(atom: Any) -> bool:
    """Hetero atoms outside aromatic rings, and carbons with a multiple bond or two hetero atoms."""
    if atom.GetIsAromatic() or atom.GetAtomicNum() == 1:
        return False
    if atom.GetAtomicNum() != 6:
        return True
    multiple = any(
        bond.GetBondTypeAsDouble() >= 2 and not bond.GetIsAromatic() for bond in atom.GetBonds()
    )
    hetero = [n for n in atom.GetNeighbors() if n.GetAtomicNum() in (7, 8, 16)]
    return multiple or len(hetero) >= 2


def _brics(mol: Any) -> list[Nodes]:
    cut = {tuple(sorted(ends)) for ends, _ in require("rdkit.Chem.BRICS").FindBRICSBonds(mol)}
    return _components(range(mol.GetNumAtoms()), [b for b in bond_ends(mol) if b not in cut])


def bond_ends(mol: Any) -> list[tuple[int, int]]:
    """The ends of every bond of a molecule of RDKit, the smaller first."""
    ends = ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds())
    return [(min(pair), max(pair)) for pair in ends]


def _components(nodes: Iterable[int], edges: Iterable[Iterable[int]]) -> list[Nodes]:
    import networkx as nx

    graph = nx.empty_graph(nodes)
    graph.add_edges_from(edges)
    return sorted(tuple(sorted(part)) for part in nx.connected_components(graph))


FRAGMENTS: dict[str, Callable[[Tensor, int], tuple[Fragment, ...]]] = {
    "edges": _edges,
    "triangles": _triangles,
    "twins": _twins,
    "communities": _communities,
}
MOLECULE_FRAGMENTS: dict[str, Callable[[Any], list[Nodes]]] = {
    "rings": _rings,
    "ring-systems": _ring_systems,
    "groups": _groups,
    "brics": _brics,
}
