"""Files of graphs that are not molecules: GraphML, and JSON lines of node-link graphs."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx as nx

GRAPHML, JSON_LINES = (".graphml",), (".jsonl", ".ndjson")
GRAPH_SUFFIXES = GRAPHML + JSON_LINES
HINT = "Write every graph with `json.dumps(networkx.node_link_data(graph))`."


def is_graph_file(path: Path) -> bool:
    """Whether a file's name says that it holds graphs; it may be compressed (``.gz``)."""
    return _suffix(path) in GRAPH_SUFFIXES


def read_graph_file(path: Path) -> "list[nx.Graph]":
    """The graphs of a file: all that a GraphML file holds, or one a line.

    A line is the JSON that `networkx.node_link_data` gives; the target is among the attributes of
    the graph.

    Raises:
        ValueError: Where the file holds something else. The message names the line.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"Expected graphs in {path}, got no such file. Check the path.")
    try:
        graphs = list(_graphml(path) if _suffix(path) in GRAPHML else _json_lines(path))
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{path} must hold text in UTF-8, got {error}. Convert the file, or fetch it again."
        ) from error
    if not graphs:
        raise ValueError(f"{path} must hold at least one graph, got an empty file.")
    return graphs


def _suffix(path: Path) -> str:
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _graphml(path: Path) -> "Iterator[nx.Graph]":
    from xml.etree.ElementTree import ParseError

    import networkx as nx

    with _opened(path) as file:
        # Python's parser expands entities, so that a few lines could fill the memory; in UTF-16
        # every letter has a zero beside it.
        if b"<!ENTITY" in file.read().replace(b"\0", b"").upper():
            raise ValueError(
                f"{path} must define no entities, got some. Remove the `<!ENTITY` lines."
            )
    try:
        with _opened(path) as file:
            reader = nx.readwrite.graphml.GraphMLReader()
            node, parts = f"{{{reader.NS_GRAPHML}}}node", list[Any]()
            for place, graph in enumerate(reader(path=file)):
                parts = parts or reader.xml.findall(f"{{{reader.NS_GRAPHML}}}graph")
                listed = {entry.get("id") for entry in parts[place].iter(node)}
                if strangers := set(graph) - listed:  # networkx makes new nodes of them
                    raise ValueError(
                        f"edges must join nodes that are listed, and {min(strangers)!r} is not"
                    )
                if not graph.is_multigraph():  # an edge's name in the file is no attribute of it
                    for edge in filter(graph.edges.__contains__, reader.edge_ids):
                        graph.edges[edge].pop("id", None)
                reader.edge_ids.clear()
                reader.multigraph = False  # of which it takes all graphs behind one to be
                yield graph
    except (ParseError, nx.NetworkXError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} must hold graphs in GraphML, got {type(error).__name__}: {error}. Write it "
            "with `networkx.write_graphml`."
        ) from error


def _json_lines(path: Path) -> "Iterator[nx.Graph]":
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                plain = json.loads(line)
                if b"\\ud" in line.lower():  # half of a letter cannot be written again
                    json.dumps(plain, ensure_ascii=False).encode()
            except UnicodeDecodeError:
                raise
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{where}: expected one JSON object, got {error}. {HINT}"
                ) from error
            yield node_link_graph(plain, where)


def node_link_graph(plain: Any, where: str) -> "nx.Graph":
    """The graph of what `networkx.node_link_data` gives, or an error that says where it is not."""
    import networkx as nx

    edges = "edges" if isinstance(plain, dict) and "edges" in plain else "links"
    if (
        not isinstance(plain, dict)
        or not isinstance(plain.get("nodes"), list)
        or not isinstance(plain.get(edges), list)
    ):
        got = f"a {type(plain).__name__}"
        if isinstance(plain, dict):
            there = {"nodes", edges} & {*plain}
            got = ", ".join(f"{key!r}: {type(plain[key]).__name__}" for key in sorted(there))
        raise ValueError(
            f"{where}: expected an object with the lists `nodes` and `edges`, got "
            f"{got or 'neither'}. {HINT}"
        )
    if not isinstance(plain.get("graph", {}), dict):
        got = type(plain["graph"]).__name__
        raise ValueError(
            f"{where}: expected an object of attributes under `graph`, got {got}. {HINT}"
        )
    try:
        known = {_hashable(node["id"]) for node in plain["nodes"]}
        ends = {_hashable(e[end]) for e in plain[edges] for end in ("source", "target")}
        graph = nx.node_link_graph(plain, multigraph=False, edges=edges)
    except (nx.NetworkXError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{where}: expected a node-link graph, got {type(error).__name__}: {error}. {HINT}"
        ) from error
    if len(known) < len(plain["nodes"]):  # of which networkx would make one
        raise ValueError(
            f"{where}: expected every node once, got {len(plain['nodes'])} with {len(known)} "
            f"different ids. {HINT}"
        )
    if strangers := ends - known:  # networkx would make new nodes of them
        raise ValueError(
            f"{where}: expected edges between the nodes that are listed, got the node "
            f"{next(iter(strangers))!r}. {HINT}"
        )
    if graph.number_of_edges() < len(plain[edges]):  # of which networkx would keep the last
        raise ValueError(
            f"{where}: expected every edge once, got {len(plain[edges])} that join "
            f"{graph.number_of_edges()} pairs of nodes. Leave out the others, or say "
            '`"multigraph": true` and ask for `symmetrise`.'
        )
    return graph


def _hashable(name: Any) -> Any:
    """The name of a node: a tuple where JSON has a list, as networkx reads it."""
    return tuple(map(_hashable, name)) if isinstance(name, list) else name
