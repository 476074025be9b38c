"""Draws the pictures of the pages into docs/pictures/; `make docs` runs this.

One style: mid-tones on no background, so that a picture is readable on white and on black, and
every difference is one of shape or width as well as of colour, so that it is readable in grey.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.record import Record
from paper.expressivity import ExpressivityRecord

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
GREY, BLUE, ORANGE = "#808080", "#3d8bd4", "#d9772b"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "lgan",
    "font.family": "sans-serif",
    "font.size": 11,
    "text.color": GREY,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}

Point = tuple[float, float]

# An ego network: node 0 in the middle, its neighbours around it, two of the possible edges
# between neighbours. Node 5 is no neighbour.
PLACES: dict[int, Point] = {0: (0, 0), 1: (-0.9, 0.6), 2: (0, 1.05), 3: (0.9, 0.6), 4: (0, -1)}
TOUCHING, OPPOSITE = [(0, 1), (0, 2), (0, 3), (0, 4)], [(1, 2), (2, 3)]


def _panel(ax: Axes, title: str = "") -> None:
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(title, fontsize=11, pad=8)


def _node(ax: Axes, at: Point, text: str = "", *, colour: str = GREY, size: float = 0.17) -> None:
    ax.add_patch(plt.Circle(at, size, facecolor="none", edgecolor=colour, linewidth=1.8, zorder=3))
    ax.text(*at, text, ha="center", va="center", color=colour, zorder=4)


def _edge(
    ax: Axes, a: Point, b: Point, *, colour: str = GREY, wide: float = 1.8, dash: str = "-",
    gap: float = 0.17,
) -> None:  # fmt: skip
    start, end = np.array(a), np.array(b)
    step = (end - start) / np.linalg.norm(end - start) * gap
    ax.plot(*zip(start + step, end - step, strict=True), dash, color=colour, linewidth=wide)


def _arrow(ax: Axes, a: Point, b: Point, colour: str = GREY) -> None:
    ax.annotate("", b, a, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.6})


def _ego(ax: Axes) -> None:
    for a, b in TOUCHING:
        _edge(ax, PLACES[a], PLACES[b], colour=BLUE, wide=2.6)
    for a, b in OPPOSITE:
        _edge(ax, PLACES[a], PLACES[b], colour=ORANGE, wide=2.6, dash="--")
    for node, at in PLACES.items():
        _node(ax, at, "t" if node == 0 else "abcd"[node - 1])
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.4, 1.4))


def _middle(edge: tuple[int, int]) -> Point:
    (x, y), (u, v) = PLACES[edge[0]], PLACES[edge[1]]
    return 0.62 * (x + u), 0.62 * (y + v)


def layer() -> None:
    """The ego network of a node, its line graph, and the two sums of the layer."""
    _, (one, two, three) = plt.subplots(1, 3, figsize=(9, 3.2))
    _panel(one, "1  the ego network of t")
    _ego(one)
    _panel(two, "2  its edges become pairs")
    pairs = TOUCHING + OPPOSITE
    for i, first in enumerate(pairs):
        for second in pairs[i + 1 :]:
            if set(first) & set(second):
                _edge(two, _middle(first), _middle(second), wide=0.8, gap=0.24)
    for a, b in pairs:
        name = "tabcd"[a] + "tabcd"[b]
        _node(two, _middle((a, b)), name, colour=ORANGE if a else BLUE, size=0.24)
    two.set(xlim=(-1.3, 1.3), ylim=(-1.4, 1.4))
    _panel(three, "3  two sums, then the new t")
    for x, colour, name, what in (
        (-0.75, BLUE, "T", "pairs that\ntouch t"),
        (0.75, ORANGE, "S", "pairs that close\na triangle"),
    ):
        _node(three, (x, 0.25), name, colour=colour, size=0.3)
        three.text(x, 0.75, what, ha="center", va="bottom", color=colour, fontsize=10)
        _arrow(three, (x * 0.7, 0), (x * 0.25, -0.6))
    _node(three, (0, -0.85), "t′", size=0.3)
    three.set(xlim=(-1.5, 1.5), ylim=(-1.4, 1.4))


def twins() -> None:
    """A graph with twins, and the same with every set of twins as one node."""
    _, (one, two) = plt.subplots(1, 2, figsize=(6.6, 2.8))
    clique = [(-1.3 + 0.6 * np.cos(a), 0.6 * np.sin(a)) for a in np.pi * np.array([0.5, 1, 1.5])]
    hub, rest = (-0.2, 0.0), [(0.9, 0.5), (0.9, -0.5)]
    _panel(one, "three twins: same neighbours, joined")
    for i, a in enumerate(clique):
        for b in [*clique[i + 1 :], hub]:
            _edge(one, a, b)
    for b in rest:
        _edge(one, hub, b)
    for at in clique:
        _node(one, at, colour=ORANGE)
    for at in (hub, *rest):
        _node(one, at)
    _panel(two, "one node that counts three times")
    merged = (-1.3, 0.0)
    _edge(two, merged, hub, wide=4, gap=0.3)
    for b in rest:
        _edge(two, hub, b)
        _node(two, b)
    _node(two, merged, "×3", colour=ORANGE, size=0.3)
    _node(two, hub)
    for ax in (one, two):
        ax.set(xlim=(-2.1, 1.3), ylim=(-0.95, 0.95))


def folds() -> None:
    """Folds one after the other, and side by side."""
    _, (one, two) = plt.subplots(1, 2, figsize=(7.5, 2.6), gridspec_kw={"width_ratios": [3, 2]})
    _panel(one, "one model after the other")
    _panel(two, "all models in every step")
    rows = [(2.6 * k, 0.0) for k in range(4)]
    stack = [(0.0, 1.4 - 0.9 * k) for k in range(4)]
    for ax, places in ((one, rows), (two, stack)):
        for k, (x, y) in enumerate(places):
            for part in range(4):
                colour, hatch = (ORANGE, "////") if part == k else (BLUE, None)
                ax.add_patch(
                    plt.Rectangle((x + 0.5 * part, y), 0.45, 0.6, fill=False, linewidth=1.6,
                                  edgecolor=colour, hatch=hatch)
                )  # fmt: skip
            if ax is one and k:
                _arrow(ax, (x - 0.55, 0.3), (x - 0.1, 0.3))
    one.set(xlim=(-0.2, 10), ylim=(-1.5, 2.1))
    one.text(5, -1.1, "hatched: held out", ha="center", color=ORANGE)
    two.set(xlim=(-0.4, 4.6), ylim=(-1.6, 2.2))
    two.text(2.5, 0.3, "one program,\none pass over\nthe data", va="center")


def hierarchy() -> None:
    """Which test is at least as strong as which, with the pairs of BREC that each separates."""
    separated = _separated()
    boxes = {
        "1-WL": ("1-WL, plain GNNs", (0.0, 0.0)),
        "lgan-res": ("LGAN-res", (0.0, 1.0)),
        "lgan-res + triangles": ("LGAN-res, triangles on pairs", (0.0, 2.0)),
        "3-WL (2-FWL)": ("3-WL", (1.6, 3.0)),
        "lgan-res + full": ("LGAN-res, counts on pairs", (-1.2, 3.0)),
        "lgan-res + folklore": ("LGAN-res, colours on pairs", (-1.2, 4.0)),
    }
    arrows = [
        ("1-WL", "lgan-res"),
        ("lgan-res", "lgan-res + triangles"),
        ("lgan-res + triangles", "3-WL (2-FWL)"),
        ("lgan-res + triangles", "lgan-res + full"),
        ("lgan-res + full", "lgan-res + folklore"),
    ]
    _, ax = plt.subplots(figsize=(6.2, 4.8))
    ax.axis("off")
    for low, high in arrows:
        (x, y), (u, v) = boxes[low][1], boxes[high][1]
        _arrow(ax, (x + 0.3 * (u - x), y + 0.27), (u - 0.3 * (u - x), v - 0.27))
    for row, (name, (x, y)) in boxes.items():
        ours = row.startswith("lgan")
        colour, wide = (BLUE, 1.8) if ours else (GREY, 1)
        box = {"boxstyle": "round,pad=0.4", "facecolor": "none", "edgecolor": colour, "lw": wide}
        text = f"{name}\n{separated[row]} of 400"
        ax.text(x, y, text, ha="center", va="center", color=colour, bbox=box, fontsize=10)
    ax.set(xlim=(-2.6, 2.3), ylim=(-0.4, 4.4))


def _separated() -> dict[str, int]:
    """Pairs of BREC that every refinement separates, from the records."""
    records = map(
        ExpressivityRecord.load, sorted((ROOT / "results" / "expressivity").glob("*.json"))
    )
    return {
        count.row: sum(count.separated.values())
        for record in records
        for count in record.counts
        if count.kind == "refinement"
    }


# Label, benchmark, case and peer of the bars that :func:`speed` draws.
FASTER = [
    ("listing triangles, igraph", "triangles", "power-law", "igraph"),
    ("listing triangles, networkx", "triangles", "power-law", "networkx"),
    ("ten folds of IMDB-BINARY, PyG GIN", "cv", "IMDB-BINARY, 10 models", "PyG"),
    ("ten folds of MUTAG, PyG GIN", "cv", "MUTAG, 10 models", "PyG"),
    ("an epoch of COLLAB, PyG GIN", "epoch", "COLLAB, deepsets", "PyG"),
    ("an explanation, PyG Captum", "explain", "LGAN-res, one by one, 2 threads", "PyG"),
]


def speed() -> None:
    """How many times faster than other libraries, from the records of the benchmarks."""
    found = [(label, times_faster(*where)) for label, *where in FASTER]
    found.sort(key=lambda row: row[1])
    _, ax = plt.subplots(figsize=(7, 2.9))
    for place, (_, times) in enumerate(found):
        ax.barh(place, times, color=BLUE, height=0.55)
        ax.text(times * 1.08, place, shown(times), va="center")
    ax.set_yticks(range(len(found)), [label for label, _ in found])
    ax.set_xscale("log")
    ax.set_xlim(1, 400)
    ax.set_xlabel("times faster, two CPU cores")
    ax.spines[["top", "right"]].set_visible(False)


def shown(times: float) -> str:
    """How often faster, as a bar says it."""
    return f"{times:.1f}×" if times < 10 else f"{times:.0f}×"


def times_faster(benchmark: str, case: str, peer: str) -> float:
    """The time of a peer over ours, from the record."""
    for row in Record.load(ROOT / "results" / "bench" / f"{benchmark}.json").rows:
        if row.name == case and row.peer.startswith(peer) and row.peer_seconds is not None:
            return row.peer_seconds / row.seconds
    raise LookupError(f"No row {case!r} beside {peer!r} in the record of {benchmark!r}.")


def _pair(ax: Axes) -> None:
    _edge(ax, (-0.7, 0), (0.7, 0), colour=BLUE, wide=3)
    _node(ax, (-0.7, 0), "u")
    _node(ax, (0.7, 0), "v")
    ax.text(0, 0.25, "{u, v}", ha="center", color=BLUE)


def _twin(ax: Axes) -> None:
    for side in ((-0.9, 0), (0.9, 0)):
        for twin in ((0, 0.45), (0, -0.45)):
            _edge(ax, side, twin)
        _node(ax, side)
    _edge(ax, (0, 0.45), (0, -0.45))
    _node(ax, (0, 0.45), colour=ORANGE)
    _node(ax, (0, -0.45), colour=ORANGE)


def _code(ax: Axes) -> None:
    for tip in ((0, 0.65), (0, -0.65)):
        for end in ((-0.7, 0), (0.7, 0)):
            _edge(ax, tip, end)
        _node(ax, tip)
    _edge(ax, (-0.7, 0), (0.7, 0), colour=BLUE, wide=3)
    _node(ax, (-0.7, 0))
    _node(ax, (0.7, 0))
    ax.text(1.05, 0, "2 triangles", va="center", color=BLUE)


def _member(ax: Axes) -> None:
    for k in range(3):
        ax.add_patch(
            plt.Rectangle((-1.2, 0.5 * k - 0.7), 0.8, 0.35, fill=False, edgecolor=BLUE, lw=1.8)
        )
        _arrow(ax, (-0.3, 0.5 * k - 0.52), (0.45, 0.1 * k - 0.1))
    _node(ax, (0.85, 0), "mean", size=0.38)


def _rule(ax: Axes) -> None:
    x = np.linspace(0, 1, 40)
    y = 1.1 * np.sqrt(x) - 0.5 * x**3
    best = int(y.argmax())
    ax.plot(2 * x - 1, y - 0.4, color=GREY)
    ax.plot(2 * x[best] - 1, y[best] - 0.4, "o", color=ORANGE)
    ax.text(2 * x[best] - 1, y[best] - 0.25, "this epoch", ha="center", color=ORANGE)


def _source(ax: Axes) -> None:
    for k, name in enumerate(("CSV", "PyG", "networkx")):
        ax.text(-0.5, 0.5 - 0.5 * k, name, ha="right", va="center")
        _arrow(ax, (-0.4, 0.5 - 0.5 * k), (0.3, 0.1 - 0.1 * k))
    ax.text(0.75, 0, "graphs", ha="center", va="center", color=BLUE)


def _encoder(ax: Axes) -> None:
    for k, (name, vector) in enumerate((("C", "1 0 0"), ("N", "0 1 0"), ("O", "0 0 1"))):
        _node(ax, (-0.8, 0.55 - 0.55 * k), name)
        _arrow(ax, (-0.5, 0.55 - 0.55 * k), (0.2, 0.55 - 0.55 * k))
        ax.text(0.65, 0.55 - 0.55 * k, vector, ha="center", va="center", color=BLUE)


GLOSSARY = (_pair, _twin, _code, _member, _rule, _source, _encoder)


def main() -> None:
    """Draw everything."""
    FOLDER.mkdir(exist_ok=True)
    drawings: Iterable[Callable[[], None]] = (layer, twins, folds, hierarchy, speed)
    with mpl.rc_context(STYLE):
        for draw in drawings:
            draw()
            _save(draw.__name__)
        for word in GLOSSARY:
            _, ax = plt.subplots(figsize=(2.2, 1.4))
            _panel(ax)
            ax.set(xlim=(-1.4, 1.4), ylim=(-0.9, 0.9))
            word(ax)
            _save(word.__name__.lstrip("_"))
    (FOLDER / "icon.svg").write_text(ICON)
    nitrophenol()


def nitrophenol() -> None:
    """A molecule explained, by the commands of docs/start-csv.md and docs/explain.md."""
    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/model.safetensors"
        table, target = str(ROOT / "examples" / "molecules.csv"), str(FOLDER / "nitrophenol.svg")
        for words in (
            ["train", table, "--target", "nitro", "--output", folder, "--overwrite"],
            ["explain", model, "--smiles", "O=[N+]([O-])c1ccc(O)cc1", "-o", target],
        ):
            subprocess.run([sys.executable, "-m", "lgan", *words], check=True)


def _save(name: str) -> None:
    plt.savefig(
        FOLDER / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.05
    )
    plt.close()


ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#fff"
 stroke-width="2"><path d="M12 5 5 18h14z"/><circle cx="12" cy="5" r="2.5" fill="#fff"/>
<circle cx="5" cy="18" r="2.5" fill="#fff"/><circle cx="19" cy="18" r="2.5" fill="#fff"/></svg>
"""

if __name__ == "__main__":
    main()
