import html
import re
from html.parser import HTMLParser

import pytest
import torch

from browser import asked
from lgan.experiment import Reading, ReadSource, factory, settings_for, stored_model
from lgan.experiment.training_report import (
    by_target,
    estimate_words,
    how_wrong,
    training_report,
)
from lgan.task import Task
from lgan.train import train_ensemble
from lgan.train.out_of_fold import OutOfFold

pytest.importorskip("matplotlib")
SMILES = ["CCO", "CCN", "CCC", "c1ccccc1", "c1ccccc1O", "CC(=O)O", "CCCl", "CCBr"] * 3
COLUMNS = {
    "binary": {"active": ["y<es", "no", "no", "y<es"] * 6},
    "several": {"a": ["0", "1", ""] * 8, "b": ["1", "", "0"] * 8},
    "number": {"logS": [f"{i * 0.7 - 20:.2f}" for i in range(24)]},
    "numbers": {
        "logS": [f"{i % 5 - 2.5 + 40 * (i == 3)}" for i in range(24)],
        "mw": [f"{100 * (i % 7) + 9000 * (i == 8)}" for i in range(24)],
    },
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The source, the training and the model of a small table of molecules."""
    pytest.importorskip("rdkit", reason="molecules need rdkit")

    def train(kind: str, members: int = 2, model: str = "lgan-res"):
        folder = tmp_path_factory.mktemp(kind)
        table, columns = folder / f"{kind}.csv", COLUMNS[kind]
        rows = zip(SMILES, *columns.values(), strict=True)
        lines = [",".join(("smiles", *columns)), *(",".join(row) for row in rows)]
        table.write_text("\n".join(lines) + "\n")
        settings = settings_for(model, table.name, hidden=4, epochs=3, batch_size=8, iterations=1)
        source = ReadSource.of(
            settings, str(table), Reading(targets=tuple(columns), root=folder / "data")
        )
        found = train_ensemble(
            factory(settings, source.union), source.union, members=members,
            folds=torch.arange(24) % 4, config=settings.training,
        )  # fmt: skip
        return source, found, stored_model(settings, source, found)

    return train


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures: list[dict[str, str | None]] = []

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.pictures.append(dict(attributes))
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("kind", "figures"),
    [
        ("binary", ["Held-out roc-auc and training loss", "Calibration curve of the predicted"]),
        ("several", ["Held-out roc-auc and training loss", "Calibration curve of the second"]),
        ("number", ["Held-out rmse and training loss", "Out-of-fold predictions against"]),
    ],
)
def test_page_is_well_formed_asks_for_nothing_and_names_its_figures(kind, figures, trained):
    page, parsed = training_report(*trained(kind)), _Tags()
    parsed.feed(page)
    assert parsed.open == []
    named = [str(picture["alt"]) for picture in parsed.pictures]
    assert all(named)
    for words in figures:
        assert sum(name.startswith(words) for name in named) == 1
    without_pictures = re.sub(r'src="data:image/svg\+xml;base64,[^"]*"', "", page)
    assert not re.search(r"https?:|//[a-z]|\bsrc=|<link|<script|@import|url\(", without_pictures)
    sections = re.findall("<h2>(.*?)</h2>", page)
    assert sections[0] == "Learning"
    assert sections[-2:] == ["The data", "How this was made"]


def test_page_tells_the_estimate_the_counts_and_the_settings(trained):
    source, found, stored = trained("binary")
    page = training_report(source, found, stored)
    figure, caveat = estimate_words(found)
    assert figure.partition(" ± ")[0] in page
    assert html.escape(caveat[1:]) in page
    counts = re.findall(r'<td style="background[^>]*>(\d+)</td>', page)
    known = stored.out_of_fold
    assert known is not None
    right = (known.predictions.argmax(1) == known.y).sum()
    assert [int(counts[0]) + int(counts[3]), sum(map(int, counts))] == [right, 12]
    assert "no 12, y&lt;es 12" in page
    assert "y<es" not in page
    assert "epochs 3" in page


def test_worst_mistakes_are_drawn_and_explained(trained):
    page = training_report(*trained("number"))
    assert page.count('<article class="card">') == 6
    assert len(re.findall(r'alt="[^"]*edges in red speak raises logS', page)) == 6


def test_colours_have_a_scale_for_every_target(trained):
    page = training_report(*trained("numbers"))
    ends = re.findall(r"<span>\+([^<]+)<br>raises (\w+)</span>", page)
    assert {target for _, target in ends} == {"logS", "mw"}
    assert len({limit for limit, _ in ends}) == len(set(ends)) == 2 < len(ends)
    assert "one scale holds for each target" in page
    assert "one scale holds for all" in training_report(*trained("binary"))


def test_a_network_that_cannot_be_explained_says_so(trained):
    page = training_report(*trained("number", model="patchy-san"))
    assert page.count('<article class="card">') == 6
    assert "Not explained: The model to explain must be one of lgan, " in page


def test_one_model_speaks_of_its_held_out_part(trained):
    source, found, stored = trained("binary", members=1)
    assert estimate_words(found)[1].startswith("on the held-out part; ")
    assert " over " not in estimate_words(found)[0]
    assert "One model trained on 24 graphs" in training_report(source, found, stored)


def _known(y: list, said: list) -> OutOfFold:
    none = torch.zeros(len(y), dtype=torch.int64)
    return OutOfFold(torch.tensor(y), torch.tensor(said), none, torch.zeros(1).long())


def test_the_surest_wrong_class_is_the_worst_mistake():
    task = Task("multiclass", ("c",), ("a", "b", "c"))
    said = [[0.1, 0.7, 0.2], [0.1, 0.7, 0.2], [0.4, 0.3, 0.3]]
    off, output = how_wrong(_known([1, 0, 2], said), task)
    assert off.tolist() == pytest.approx([0, 0.6, 0.1])
    assert output.tolist() == [1, 1, 0]


def test_every_target_is_told_in_its_own_units():
    y = torch.tensor([[1.0, 100.0], [2.0, torch.nan], [3.0, 300.0]])
    said = y.nan_to_num(0) + torch.tensor([0.5, 20.0])
    known = OutOfFold(y, said, torch.tensor([0, 1, 0]), torch.tensor([0, 1]))
    task = Task("regression", ("logS", "mw"))
    assert by_target(known, task) == "rmse by target: logS 0.5, mw 20"
    assert by_target(known, Task("regression", ("logS",))) == ""


def test_numbers_are_off_in_units_of_the_deviation_of_their_target():
    task = Task("regression", ("small", "large"))
    y = [[-1.0, -100.0], [1.0, 100.0], [torch.nan, 100.0], [torch.nan, -100.0]]
    said = [[0.0, -100.0], [1.0, 250.0], [9.0, 100.0], [0.0, -90.0]]
    off, output = how_wrong(_known(y, said), task)
    assert off.tolist() == pytest.approx([1, 1.5, 0, 0.1])
    assert output.tolist()[:2] == [0, 1]


FITS = """
return {width: d.documentElement.clientWidth, scroll: d.documentElement.scrollWidth,
  drawn: Array.from(d.querySelectorAll('img')).filter(function (e) {
    return e.complete && e.naturalWidth > 0; }).length,
  requests: w.performance.getEntriesByType('resource').length};
"""


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["binary", "number"])
def test_page_fits_the_window_and_asks_for_nothing(kind, browser, trained, tmp_path):
    page = training_report(*trained(kind))
    for width in (1200, 400):
        found = asked(browser, tmp_path, page, FITS, width)
        pictures = page.count("<img ")
        assert found == {"width": width, "scroll": width, "drawn": pictures, "requests": 0}
