"""Explanations of many graphs as one HTML file that needs nothing else."""

from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import torch
from torch import Tensor

from lgan.data import replaced
from lgan.explain.draw import picture_svg
from lgan.explain.fragment_table import COLUMNS as FRAGMENTS
from lgan.explain.fragment_table import FragmentRow
from lgan.explain.gallery import GalleryItem
from lgan.explain.picture import Picture
from lgan.explain.scale import Scale

COLUMNS = ("graph", "class", "predicted", "probability", "explained", "output", "without edges",
           "gap", "steps", "strongest edge", "its score")  # fmt: skip
# Edges in the list of a card.
TOP = 60


@dataclass(frozen=True, eq=False)
class Report:
    """What a report shows.

    Attributes:
        title: Its title.
        lead: What it is about, in a sentence.
        items: The explained graphs; their pictures share one scale.
        confusions: Tables of true against predicted classes ``[C, C]``, by what they count.
        facts: How it was made, by name.
        fragments: Fragments of all graphs that were explained, by what they speak for.
    """

    title: str
    lead: str
    items: Sequence[GalleryItem]
    confusions: Mapping[str, Tensor] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    fragments: Mapping[str, Sequence[FragmentRow]] = field(default_factory=dict)

    def html(self) -> str:
        """The report as one HTML document: styles, pictures and the script are inside."""
        return page_html(
            "lgan.explain",
            "report.html",
            title=escape(self.title),
            lead=escape(self.lead),
            meaning=escape(self._meaning()),
            tiles=tiles_html(self._tiles()),
            confusions=self._confusions() + fragments_html(self.fragments),
            cards="\n".join(self._cards()),
            columns=head_html(COLUMNS),
            rows="\n".join(row_html(_cells(item)) for item in self.items),
            facts=facts_html(self.facts),
        )

    def save(self, path: Path | str) -> None:
        """Write the report."""
        with replaced(Path(path)) as temporary:
            temporary.write_text(self.html(), encoding="utf-8")

    def _tiles(self) -> list[tuple[str, str, str]]:
        """Name, figure and remark of what is told at the top."""
        tiles = [
            (f"accuracy on {name}", f"{float(table.diag().sum() / table.sum()):.1%}",
             f"of {int(table.sum()):,}")
            for name, table in self.confusions.items()
        ]  # fmt: skip
        known = any(item.truth is not None for item in self.items)
        count = sum(item.mistaken for item in self.items)
        wrong = f"{count} mistake{'' if count == 1 else 's'}" if known else ""
        return [*tiles, ("explained here", str(len(self.items)), wrong)]

    def _confusions(self) -> str:
        if not self.confusions or not self.items:
            return ""
        classes = self.items[0].classes
        tables = [confusion_html(name, table, classes) for name, table in self.confusions.items()]
        return (
            '<section id="confusion"><h2>Right and wrong</h2>'
            f'<div class="side">{"".join(tables)}</div></section>'
        )

    def _cards(self) -> list[str]:
        """The cards, the most confident first, with their place in every other order."""
        numbers = range(len(self.items))
        confident = sorted(numbers, key=lambda i: -self.items[i].probability)
        mistaken = sorted(confident, key=lambda i: not self.items[i].mistaken)
        place = {i: rank for rank, i in enumerate(mistaken)}
        scale = Scale.joint(item.picture.scale for item in self.items)
        return [
            self._card(self.items[i], self.items[i].picture.on_scale(scale),
                       f'data-confidence="{rank}" data-mistake="{place[i]}" data-number="{i}"')
            for rank, i in enumerate(confident)
        ]  # fmt: skip

    def _meaning(self) -> str:
        """What the colours mean on this page, in words."""
        words = {(item.picture.red, item.picture.blue) for item in self.items}
        red, blue = words.pop() if len(words) == 1 else ("for the class named below it", "against")
        number = any(item.is_number for item in self.items)
        said = f"Red: {red}; blue: {blue}" if number else f"Red edges speak {red}, blue ones {blue}"
        said += "; the stronger the colour, the more."
        if all(item.attribution.complete for item in self.items):
            of = {item.attribution.of for item in self.items}
            said += (
                f" The scores of a graph add up to the change of the {' and '.join(sorted(of))} "
                "from the graph without edges to the graph."
            )
        return said

    def _card(self, item: GalleryItem, picture: Picture, places: str) -> str:
        said = f"predicted <b>{escape(item.said)}</b>"
        if item.truth is not None:
            word, mark = ("wrong", "✗") if item.mistaken else ("right", "✓")
            said += (
                f' <span class="mark {word}">{mark} {word}</span>'
                f'<br><span class="soft">true class: {escape(item.classes[item.truth])}</span>'
            )
        known = {None: "", True: "· held out", False: "· trained on"}[item.held_out]
        rows = "".join(row_html((name, f"{score:+.4f}")) for name, score in picture.top(TOP))
        count = len(picture.pairs)
        many = f"all {count}" if count <= TOP else f"the strongest {TOP} of {count:,}"
        told = '<p class="soft">No edges, hence nothing to score.</p>'
        if rows:
            told = (
                f"<details><summary>Scores of {many} edges</summary>"
                f"<table><tbody>{rows}</tbody></table></details>"
            )
        share = f'<i style="width:{100 * item.probability:.0f}%"></i>'
        meter = "" if item.is_number else f'<div class="meter" role="presentation">{share}</div>'
        remarks = "; ".join(filter(None, [item.change, *item.notes, picture.remark]))
        note = f'<p class="soft">{escape(remarks)}</p>'
        return (
            f'<article class="card" {places}>'
            f'<h3>{escape(item.name)} <span class="soft">{known}</span></h3>'
            f"<p>{said}</p>{meter}"
            f"{picture_html(picture, item.name)}{note}{told}</article>"
        )


def _cells(item: GalleryItem) -> list[str]:
    """The row of a graph in the table with the columns ``COLUMNS``."""
    scores = item.attribution
    best = [(edge, f"{score:+.4f}") for edge, score in item.picture.top(1)] or [("–", "–")]
    return [
        item.name,
        "–" if item.truth is None else item.classes[item.truth],
        item.said if item.is_number else item.predicted,
        "–" if item.is_number else f"{item.probability:.1%}",
        item.classes[scores.target],
        f"{scores.output:.3f}",
        f"{scores.baseline_output:.3f}",
        f"{scores.relative_gap:.2%}" if scores.relative_gap == scores.relative_gap else "–",
        str(scores.steps),
        *best[0],
    ]


def fragments_html(fragments: Mapping[str, Sequence[FragmentRow]]) -> str:
    """The fragments that speak for and against something, as a section of a page."""
    if not fragments:
        return ""
    tables = [
        table_html(f"{name}: above 0 for it, below against it", FRAGMENTS, (r.cells for r in rows))
        for name, rows in fragments.items()
    ]
    return (
        '<section id="fragments"><h2>Fragments</h2><p class="soft">Those of two graphs or more, of '
        "all that were explained. Same sign: the share of the occurrences whose score has the sign "
        f"of the mean.</p>{''.join(tables)}</section>"
    )


def confusion_tables(
    probability: Tensor, y: Tensor, name: str, held_out: Collection[int] | None
) -> dict[str, Tensor]:
    """Counts of true against predicted classes, of the held-out graphs and of all ``[C, C]``."""
    everything = {f"all graphs of {name}": confusion_table(probability, y)}
    if held_out is None:
        return everything
    ids = torch.tensor(sorted(held_out))
    return {"held-out graphs": confusion_table(probability[ids], y[ids])} | everything


def confusion_table(probability: Tensor, y: Tensor) -> Tensor:
    """Counts of true against predicted classes ``[C, C]``."""
    classes = probability.size(1)
    cells = y * classes + probability.argmax(1)
    return torch.bincount(cells, minlength=classes**2).view(classes, classes)


def page_html(package: str, name: str, **parts: str) -> str:
    """A page that needs nothing else: a template of a package with its parts and the style."""
    template = Template((files(package) / name).read_text(encoding="utf-8"))
    style = (files("lgan.explain") / "report.css").read_text(encoding="utf-8")
    return template.substitute(parts, style=style)


def image_html(svg: str, alt: str) -> str:
    """A drawing that is inside the page."""
    source = b64encode(svg.encode()).decode()
    return f'<img class="picture" alt="{escape(alt)}" src="data:image/svg+xml;base64,{source}">'


def table_html(caption: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table on a ground of its own; the first cell of a row names it."""
    return (
        f'<div class="panel"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head_html(columns)}</tr></thead>"
        f"<tbody>{''.join(map(row_html, rows))}</tbody></table></div>"
    )


def head_html(columns: Iterable[str]) -> str:
    """The names of the columns of a table."""
    return "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)


def row_html(cells: Sequence[str]) -> str:
    """A row of a table, whose first cell names it."""
    name, *rest = map(escape, cells)
    return f'<tr><th scope="row">{name}</th>{"".join(f"<td>{c}</td>" for c in rest)}</tr>'


def tiles_html(tiles: Iterable[tuple[str, str, str]]) -> str:
    """Figures at the top of a page, each with its name and a remark."""
    return "".join(
        f'<div class="tile"><dt>{escape(name)}</dt><dd>{escape(figure)} '
        f"<small>{escape(remark)}</small></dd></div>"
        for name, figure, remark in tiles
    )


def facts_html(facts: Mapping[str, str]) -> str:
    """Facts by name, as the entries of a list."""
    return "".join(
        f"<dt>{escape(name)}</dt><dd>{_code(name, value)}</dd>" for name, value in facts.items()
    )


def confusion_html(name: str, table: Tensor, classes: Sequence[str]) -> str:
    """A table of true against predicted classes ``[C, C]`` that says what it counts."""
    share = table / table.sum(1, keepdim=True).clamp(min=1)
    rows = []
    for c, counts in enumerate(table.tolist()):
        cells = "".join(
            _cell(count, float(share[c, d]), right=c == d) for d, count in enumerate(counts)
        )
        rows.append(f'<tr><th scope="row">{escape(classes[c])}</th>{cells}</tr>')
    return (
        f'<div class="panel"><table class="confusion"><caption>{escape(name)}</caption>'
        f'<thead><tr><th class="name">true \\ predicted</th>{head_html(classes)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def picture_html(picture: Picture, name: str) -> str:
    """A picture, and its colours with their scores and what they mean."""
    alt = f"{name}, edges in red speak {picture.red}, in blue {picture.blue}"
    image, limit = image_html(picture_svg(picture), alt), picture.scale.limit
    if limit == 0:
        return image
    shades = ",".join(picture.scale.colour(score) for score in (-limit, 0, limit))
    return (
        f'{image}<div class="legend"><i style="background:linear-gradient(90deg,{shades})"></i>'
        f"<span>−{limit:.3g}<br>{escape(picture.blue)}</span><span>0</span>"
        f"<span>+{limit:.3g}<br>{escape(picture.red)}</span></div>"
    )


def _cell(count: int, share: float, *, right: bool) -> str:
    """A count on a ground as dark as its share of the row; text stays readable on all of them."""
    base = (34, 120, 74) if right else (190, 92, 20)
    tone = ",".join(str(round(255 + (part - 255) * 0.55 * share)) for part in base)
    return f'<td style="background:rgb({tone})">{count:,}</td>'


def _code(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name == "command" else escape(value)
