"""`lgan wl`: which tests tell two graphs apart, and the tables of the hierarchy."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lgan import wl as laboratory
from lgan._optional import require
from lgan.cli import options
from lgan.cli.options import check_file
from lgan.cli.screen import activity, console, print_json, table
from lgan.data.pairs import BREC, load_brec
from lgan.data.readers.graph_files import is_graph_file, read_graph_file
from lgan.graph.named import NAMES, named_graph
from lgan.wl.compare import USUAL_TESTS
from lgan.wl.hierarchy import BREC_TESTS, brec_rows, small_graphs_rows

if TYPE_CHECKING:
    import networkx as nx


def wl(
    graphs: Annotated[
        list[str],
        typer.Argument(
            help="Two graphs, or `hierarchy`. A graph is a name (rook4x4, csl(41,9), cfi(k4)), "
            "a graph6 string, a file with an edge `u v` or `u v label` a line, a file of one "
            "graph in GraphML or as a line of JSON (attributes named `label` are read), or a "
            "molecule in SMILES (smiles:… where that could be a graph6 string too), read as the "
            "elements of its atoms and the orders of its bonds."
        ),
    ],
    test: Annotated[
        list[str] | None,
        options.name(
            help="Test to run; repeatable.",
            show_default="all but those on triples",
            **options.one_of(laboratory.TESTS, "test"),
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw both graphs with their stable colours (PNG or SVG)."
        ),
    ] = None,
    colours: Annotated[
        str,
        options.name(
            help="Test whose colours to draw.", **options.one_of(laboratory.TESTS, "test")
        ),
    ] = "1-wl",
    max_nodes: Annotated[
        int,
        options.number(min=3, max=9, help="Hierarchy: all connected graphs up to this order."),
    ] = 7,
    brec: Annotated[
        Path | None, options.folder(help="Hierarchy: folder with the raw graphs of BREC.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Say which tests tell two graphs apart, and in which round.

    \b
    Examples:
      lgan wl hexagon two-triangles --plot pair.png
      lgan wl rook4x4 shrikhande
      lgan wl CC=CCC CCCC=C
      lgan wl hierarchy --max-nodes 7 --brec FOLDER
    """
    if graphs == ["hierarchy"]:
        if plot is not None:
            raise typer.BadParameter("`--plot` draws two graphs, and `hierarchy` has none to draw.")
        _hierarchy(max_nodes, brec, test, as_json=as_json)
        return
    if brec is not None:
        raise typer.BadParameter("`--brec` is for `lgan wl hierarchy`.")
    if len(graphs) != 2:
        raise typer.BadParameter(f"give two graphs, or `hierarchy`; got {len(graphs)}.")
    if plot is not None:
        check_file("--plot", plot, (".png", ".svg"))
        require("matplotlib")  # asked for before anything is computed
    a, b = (_graph(text) for text in graphs)
    rows = []
    with activity(at_once=False) as tell:
        for name in test or USUAL_TESTS:
            tell(f"refining by {name}")
            rows += laboratory.compare(a, b, tests=[name])
    if plot is not None:
        from lgan.wl.draw import draw_pair

        draw_pair(a, b, plot, test=colours, names=graphs)
    if as_json:
        print_json([vars(row) for row in rows])
        return
    table(
        f"{graphs[0]} ({_size(a)}) and {graphs[1]} ({_size(b)})",
        ["test", "separates", "round", "what it is"],
        [
            [r.test, "yes" if r.separates else "no", "" if r.round is None else str(r.round),
             laboratory.TESTS[r.test].place]
            for r in rows
        ],
        "Round 0 is the colours before refinement; all tests run until nothing changes. "
        + " ".join(dict.fromkeys(g.graph["read"] for g in (a, b) if "read" in g.graph)),
    )  # fmt: skip
    if plot is not None:
        console.print(f"picture: {plot}", soft_wrap=True)


def _size(graph: "nx.Graph") -> str:
    """How many nodes and edges the tests see."""
    edges = {frozenset(edge[:2]) for edge in graph.edges if edge[0] != edge[1]}
    loops = " without loops" if any(edge[0] == edge[1] for edge in graph.edges) else ""
    return f"{len(graph)} nodes, {len(edges)} edges{loops}"


def _graph(text: str) -> "nx.Graph":
    if not text.removeprefix("smiles:").strip():
        raise typer.BadParameter("a graph is a name, a graph6 string, a file or SMILES, got none.")
    if text.startswith("smiles:"):
        smiles = text.removeprefix("smiles:")
        molecule = _molecule(smiles)
        if molecule is None:
            raise typer.BadParameter(f"{smiles!r} is not a SMILES string that RDKit can read.")
        return molecule
    if Path(text).is_file():
        return (_graph_file if is_graph_file(Path(text)) else _edge_list)(Path(text))
    try:
        return named_graph(text)
    except ValueError as error:
        if find_spec("rdkit") is None:
            raise typer.BadParameter(
                f"{error} It is no file either. To read molecules from SMILES, install RDKit: "
                "pip install 'lgan[molecules]'"
            ) from error
        molecule = _molecule(text)
        if molecule is None:
            raise typer.BadParameter(f"{error} It is no file and no SMILES either.") from error
        return molecule


def _graph_file(path: Path) -> "nx.Graph":
    graphs = read_graph_file(path)
    if len(graphs) > 1:
        raise typer.BadParameter(f"{path} must hold one graph, got {len(graphs)}. Split the file.")
    return graphs[0]


def _edge_list(path: Path) -> "nx.Graph":
    networkx = require("networkx")
    graph = networkx.MultiGraph()  # labels that disagree are refused, not replaced
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text with an edge `u v` a line, got {error}.") from error
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].replace(",", " ").split()
        if len(words) == 1:
            graph.add_node(words[0])
        elif len(words) == 2:
            graph.add_edge(*words)
        elif len(words) == 3:
            graph.add_edge(*words[:2], label=words[2])
            graph.graph["read"] = "Edges were read with their labels."
        elif words:
            raise ValueError(
                f"{path}, line {number}: expected an edge `u v` or `u v label`, or a node `u`, "
                f"got {line!r}."
            )
    return graph


def _molecule(smiles: str) -> "nx.Graph | None":
    networkx, chemistry = require("networkx"), require("rdkit.Chem")
    with require("rdkit.rdBase").BlockLogs():  # a string that is no SMILES is told by us
        molecule: Any = chemistry.MolFromSmiles(smiles)
    if molecule is None:
        return None
    graph = networkx.Graph(
        read="Molecules were read with the elements of atoms and the orders of bonds (single, "
        "double, triple, aromatic), without charges and stereochemistry."
    )
    for atom in molecule.GetAtoms():
        graph.add_node(atom.GetIdx(), label=atom.GetSymbol())
    for bond in molecule.GetBonds():
        order = bond.GetBondType().name.lower()
        graph.add_edge(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), label=order)
    return graph


def _hierarchy(
    max_nodes: int, brec: Path | None, tests: list[str] | None, *, as_json: bool
) -> None:
    chosen = {} if tests is None else {"tests": tests}
    pairs = {} if brec is None else load_brec(brec)
    small, large = [], []
    with activity() as tell:
        for n in range(3, max_nodes + 1):
            tell(f"refining all connected graphs of {n} nodes")
            small += list(small_graphs_rows([n], **chosen))
        for number, name in enumerate((tests or BREC_TESTS) if pairs else (), 1):
            tell(f"BREC: {name} ({number} of {len(tests or BREC_TESTS)})")
            large += list(brec_rows(pairs, tests=[name]))
    if as_json:
        print_json({"small": [vars(r) for r in small], "brec": [vars(r) for r in large]})
        return
    names = list(small[0].unseparated)
    table(
        "Pairs of connected graphs that a test does not tell apart",
        ["test", *(f"of {r.n} nodes" for r in small)],
        [
            ["graphs", *(f"{r.graphs:,}" for r in small)],
            *([name, *(f"{r.unseparated[name]:,}" for r in small)] for name in names),
        ],
    )
    if large:
        table(
            "BREC: pairs told apart, of 400",
            ["test", *BREC, "total", "seconds"],
            [
                [r.test, *(str(r.separated[c]) for c in BREC), str(r.total), f"{r.seconds:.1f}"]
                for r in large
            ],
        )


# Names a person may want to see are part of the help.
wl.__doc__ = f"{wl.__doc__}\n\n    Names: {', '.join(NAMES)}.\n    "
