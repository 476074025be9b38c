"""What a user says of a source beyond its name or path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lgan.data import RawGraphs, load_raw
from lgan.data.molecules.features import MoleculeFeatures
from lgan.data.molecules.tables import choose_structures, choose_targets
from lgan.data.readers.graph_files import is_graph_file
from lgan.data.readers.tables import is_table, open_table
from lgan.data.sources import is_path
from lgan.task import Task

# What says where a source is, or what its targets mean, and not how it is read.
ELSEWHERE = ("task", "root", "mirror", "seed")
# What is said of molecules alone, and of graphs with named attributes alone, as users say it.
OF_MOLECULES = {
    "molecules": "`--atoms`, `--bonds`, `--hydrogens` and `--standardise` say",
    "smiles_column": "`--smiles-column` says",
}
OF_ATTRIBUTES = {"node_features": "`--node-attributes`", "edge_features": "`--edge-attributes`"}


@dataclass(frozen=True)
class Reading:
    """What a user says of a source beyond its name or path; see :func:`lgan.data.load_raw`.

    Attributes:
        targets: Columns to predict; by default the only one there is, none for an empty tuple.
        task: Kind of task, where the values would suggest another.
        columns: Further columns, for groups or splits.
        smiles_column: The column that holds molecules.
        molecules: How molecules become graphs.
        node_features: Attributes of nodes to read of networkx graphs; all unless given.
        edge_features: Attributes of their edges, likewise.
        symmetrise: Read directed graphs as undirected ones.
        directed: Keep the direction of their arcs.
        root: Folder for downloads and caches.
        mirror: Folder or address that holds archives.
        seed: Seed of generated sets.
    """

    targets: tuple[str, ...] | None = None
    task: str | None = None
    columns: tuple[str, ...] = ()
    smiles_column: str | None = None
    molecules: MoleculeFeatures | None = None
    node_features: tuple[str, ...] | None = None
    edge_features: tuple[str, ...] | None = None
    symmetrise: bool = False
    directed: bool = False
    root: str | Path = "data"
    mirror: str | Path | None = None
    seed: int = 0

    @property
    def given(self) -> dict[str, Any]:
        """What was said of the source, as options of :func:`lgan.data.load_raw`."""
        said = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        return {
            name: value
            for name, (value, usual) in said.items()
            if value != usual and name not in ELSEWHERE
        }

    def raw(
        self,
        source: str,
        progress: Callable[[float], None] | None = None,
        *,
        unread: Sequence[str] = (),
    ) -> RawGraphs:
        """The graphs of a source; targets that no task can be made of are refused at once.

        A flaw in what is ``unread``, ``node_features`` or ``edge_features``, costs no row.
        """
        if is_path(source) and is_table(Path(source)) and self.targets != ():
            self._check_targets(Path(source))
        raw = load_raw(
            source, root=self.root, mirror=self.mirror, seed=self.seed, progress=progress,
            **(dict.fromkeys(unread, ()) | self.given),
        )  # fmt: skip
        self._check_heard(raw, attributes=is_path(source) and is_graph_file(Path(source)))
        return raw

    def _check_heard(self, raw: RawGraphs, *, attributes: bool) -> None:
        """Refuse what would change nothing: what is said of graphs of another kind."""
        molecules = raw.featuriser is not None
        for name in self.given:
            if name in OF_MOLECULES and not molecules:
                raise ValueError(
                    f"{OF_MOLECULES[name]} how molecules are read, and {raw.name} holds other "
                    "graphs. Leave this out."
                )
            if name in OF_ATTRIBUTES and not attributes:
                instead = "`--atoms` and `--bonds`" if molecules else "`--features`"
                raise ValueError(
                    f"{OF_ATTRIBUTES[name]} names attributes of graphs in GraphML or JSON lines, "
                    f"and {raw.name} is neither. Choose features by {instead}."
                )

    def _check_targets(self, path: Path) -> None:
        """Look at the targets of a table before its molecules are read."""
        table = open_table(path)
        structures = choose_structures(table.names, self.smiles_column)
        chosen = choose_targets(table.names, structures, self.targets)
        cells: dict[str, list[Any]] = {name: [] for name in chosen}
        for block in table.blocks():
            for name, column in cells.items():
                column += block.columns[name]
        Task.infer(cells, self.task)
