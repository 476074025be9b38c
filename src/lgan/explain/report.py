"""Explanations of many graphs as one HTML file that needs nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import torch
from torch import Tensor

from lgan.data import replaced
from lgan.explain.entry import Entry
from lgan.explain.svg import colour_bar_svg

__all__ = ["Report", "choose_for_gallery"]

COLUMNS = ("graph", "class", "predicted", "probability", "explained", "output", "without edges",
           "gap", "steps", "strongest edge", "its score")  # fmt: skip
TOP = 8


@dataclass(frozen=True, eq=False)
class Report:
    """What a report shows.

    Attributes:
        title: Its title.
        lead: What it is about, in a sentence.
        classes: Names of the classes.
        entries: The explained graphs.
        confusions: Tables of true against predicted classes ``[C, C]``, by what they count.
        facts: How it was made, by name.
    """

    title: str
    lead: str
    classes: Sequence[str]
    entries: Sequence[Entry]
    confusions: Mapping[str, Tensor] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    def html(self) -> str:
        """The report as one HTML document: styles, pictures and the script are inside."""
        template = (files("lgan.explain") / "report.html").read_text(encoding="utf-8")
        return Template(template).substitute(
            title=escape(self.title),
            lead=escape(self.lead),
            tiles="".join(
                f'<div class="tile"><dt>{escape(name)}</dt><dd>{escape(figure)} '
                f"<small>{escape(remark)}</small></dd></div>"
                for name, figure, remark in self._tiles()
            ),
            confusions=self._confusions(),
            cards="\n".join(self._cards()),
            columns="".join(f'<th scope="col">{name}</th>' for name in COLUMNS),
            rows="\n".join(self._row(entry) for entry in self.entries),
            facts="".join(
                f"<dt>{escape(name)}</dt><dd>{_code(name, value)}</dd>"
                for name, value in self.facts.items()
            ),
        )

    def save(self, path: Path | str) -> None:
        """Write the report."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            temporary.write_text(self.html(), encoding="utf-8")

    def _tiles(self) -> list[tuple[str, str, str]]:
        """Name, figure and remark of what is told at the top."""
        tiles = [
            (f"accuracy on {name}", f"{float(table.diag().sum() / table.sum()):.1%}",
             f"of {int(table.sum()):,}")
            for name, table in self.confusions.items()
        ]  # fmt: skip
        known = any(entry.truth is not None for entry in self.entries)
        count = sum(entry.mistaken for entry in self.entries)
        wrong = f"{count} mistake{'' if count == 1 else 's'}" if known else ""
        return [*tiles, ("explained here", str(len(self.entries)), wrong)]

    def _class(self, index: int) -> str:
        return escape(self.classes[index])

    def _confusions(self) -> str:
        if not self.confusions:
            return ""
        tables = []
        for name, table in self.confusions.items():
            head = "".join(f'<th scope="col">{self._class(c)}</th>' for c in range(table.size(1)))
            share = table / table.sum(1, keepdim=True).clamp(min=1)
            rows = []
            for c, counts in enumerate(table.tolist()):
                cells = "".join(
                    _cell(count, float(share[c, d]), right=c == d) for d, count in enumerate(counts)
                )
                rows.append(f'<tr><th scope="row">{self._class(c)}</th>{cells}</tr>')
            tables.append(
                f'<div class="panel"><table class="confusion"><caption>{escape(name)}</caption>'
                f'<thead><tr><th class="name">true \\ predicted</th>{head}</tr></thead>'
                f"<tbody>{''.join(rows)}</tbody></table></div>"
            )
        return (
            '<section id="confusion"><h2>Right and wrong</h2>'
            f'<div class="side">{"".join(tables)}</div></section>'
        )

    def _cards(self) -> list[str]:
        """The cards, the most confident first, with their place in every other order."""
        numbers = range(len(self.entries))
        confident = sorted(numbers, key=lambda i: -self.entries[i].probability)
        mistaken = sorted(confident, key=lambda i: not self.entries[i].mistaken)
        place = {i: rank for rank, i in enumerate(mistaken)}
        return [
            self._card(self.entries[i], f'data-confidence="{rank}" data-mistake="{place[i]}" '
                       f'data-number="{i}"')
            for rank, i in enumerate(confident)
        ]  # fmt: skip

    def _card(self, entry: Entry, places: str) -> str:
        scores, picture = entry.attribution, entry.picture
        drawing = picture.svg(360, 280).replace("<svg ", '<svg class="picture" ', 1)
        bar = colour_bar_svg(picture.scale, 196, x=2, y=2, tints=picture.molecule is not None)
        said = f"predicted <b>{self._class(scores.predicted)}</b> ({entry.probability:.1%})"
        if entry.truth is not None:
            word = "wrong" if entry.mistaken else "right"
            mark = "✗" if entry.mistaken else "✓"
            said += (
                f' <span class="mark {word}">{mark} {word}</span>'
                f'<br><span class="soft">true class: {self._class(entry.truth)}</span>'
            )
        held_out = "" if entry.held_out is None else (
            ' <span class="soft">· held out</span>' if entry.held_out
            else ' <span class="soft">· trained on</span>'
        )  # fmt: skip
        rows = "".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{score:+.4f}</td></tr>'
            for name, score in picture.top(TOP)
        )
        many = f"{len(picture.pairs):,} edges"
        told = (
            f"<details><summary>Strongest of {many}</summary><table><tbody>{rows}</tbody></table>"
            "</details>" if rows else '<p class="soft">No edges, hence nothing to score.</p>'
        )  # fmt: skip
        notes = [f"scores for: {self.classes[scores.target]}", *entry.notes]
        note = f'<p class="soft">{escape("; ".join(notes))}</p>'
        return (
            f'<article class="card" {places}><h3>{escape(entry.name)}{held_out}</h3>'
            f'<p>{said}</p><div class="meter" role="presentation">'
            f'<i style="width:{100 * entry.probability:.0f}%"></i></div>{drawing}'
            f'<svg class="bar" viewBox="0 0 200 26" aria-hidden="true">{bar}</svg>'
            f"{note}{told}</article>"
        )

    def _row(self, entry: Entry) -> str:
        scores = entry.attribution
        best = entry.picture.top(1)
        cells = [
            "–" if entry.truth is None else self._class(entry.truth),
            self._class(scores.predicted),
            f"{entry.probability:.1%}",
            self._class(scores.target),
            f"{scores.output:.3f}",
            f"{scores.baseline_output:.3f}",
            f"{scores.relative_gap:.2%}" if scores.relative_gap == scores.relative_gap else "–",
            str(scores.steps),
            escape(best[0][0]) if best else "–",
            f"{best[0][1]:+.4f}" if best else "–",
        ]
        return (
            f'<tr><th scope="row">{escape(entry.name)}</th>'
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
        )


def choose_for_gallery(
    probability: Tensor, y: Tensor, count: int, *, among: Tensor | None = None
) -> list[int]:
    """Graphs worth looking at: confident mistakes, then what was right, class by class.

    Up to half of them are mistakes, the most confident first; the others are right, the most
    confident of every class in turn.

    Args:
        probability: Probabilities of the classes ``[G, C]``.
        y: True classes ``[G]``.
        count: How many to choose, if there are as many.
        among: Graphs to choose from, by default all.

    Example:
        >>> p = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
        >>> choose_for_gallery(p, torch.tensor([0, 1, 1, 1]), 3)
        [1, 0, 3]
    """
    ids = torch.arange(y.numel()) if among is None else among
    sure = probability[ids].max(1).values
    ids = ids[torch.argsort(sure, descending=True, stable=True)]
    right = probability[ids].argmax(1) == y[ids]
    wrong = ids[~right].tolist()
    by_class = [ids[right & (y[ids] == c)].tolist() for c in torch.unique(y).tolist()]
    longest = max((len(part) for part in by_class), default=0)
    turns = [part[i] for i in range(longest) for part in by_class if i < len(part)]
    chosen = wrong[: max(count // 2, count - len(turns))]
    return (chosen + turns)[:count]


def _cell(count: int, share: float, *, right: bool) -> str:
    """A count on a ground as dark as its share of the row; text stays readable on all of them."""
    base = (34, 120, 74) if right else (190, 92, 20)
    tone = ",".join(str(round(255 + (part - 255) * 0.55 * share)) for part in base)
    return f'<td style="background:rgb({tone})">{count:,}</td>'


def _code(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name == "command" else escape(value)
