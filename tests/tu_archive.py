"""Graphs in the layout of the TU collection."""

import io
import zipfile

import networkx as nx


def tu_archive(graphs: list[nx.Graph], folder: str = "SET", **other: str) -> bytes:
    """A zip archive of graphs with one label for all nodes; ``other`` are files instead."""
    first, edges, owner = 1, [], []
    for number, graph in enumerate(graphs, 1):
        edges += [f"{u + first}, {v + first}\n{v + first}, {u + first}" for u, v in graph.edges]
        owner += [str(number)] * len(graph)
        first += len(graph)
    parts = {
        "A": edges,
        "graph_indicator": owner,
        "graph_labels": [str(i % 2) for i in range(len(graphs))],
        "node_labels": ["0"] * len(owner),
    }
    texts = {f"SET_{part}.txt": "\n".join(lines) for part, lines in parts.items()} | other
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in texts.items():
            file.writestr(f"{folder}/{name}", text)
    return out.getvalue()
