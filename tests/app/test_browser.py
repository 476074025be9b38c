"""The page as a person uses it, in Chromium, with the mouse or with keys alone."""

import csv
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import networkx as nx
import pytest

pytest.importorskip("selenium")
pytest.importorskip("uvicorn")

import uvicorn
from selenium.webdriver.common.keys import Keys

from lgan.app import build_app, listen
from page_driver import Page, chrome
from tu_archive import tu_archive

pytestmark = pytest.mark.browser

# In the editor's pixels: its tools, and where the first atom of a ring goes.
BENZENE, FIRST, OPPOSITE = (33, 201), (300, 180), (342, 180)
FILE = "smiles,name\nCCO,ethanol\nnot a molecule,<b>bad</b>\nc1ccccc1,benzene\nCCN,=1+1\n"


@contextmanager
def served(predictor) -> Iterator[str]:
    """The address of the page over a model, on a port of its own."""
    socket = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(build_app(predictor), log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(10)
        socket.close()


@pytest.fixture(scope="module")
def address(predictor) -> Iterator[str]:
    with served(predictor) as found:
        yield found


@pytest.fixture(scope="module")
def window(browser, address, tmp_path_factory) -> Iterator[Page]:
    if shutil.which("chromedriver") is None:
        pytest.skip("needs chromedriver (apt-get install chromium-driver)")
    folder = tmp_path_factory.mktemp("saved")
    with chrome(browser, folder) as driver:
        page = Page(driver, address)
        page.folder = folder
        yield page


@pytest.fixture
def page(window) -> Page:
    window.driver.set_window_size(1366, 860)
    window.complaints()
    window.open()
    return window


def test_a_molecule_is_drawn_with_the_mouse_and_changes_its_prediction(page):
    page.requests()
    page.draw(*BENZENE)
    page.draw(*FIRST)
    page.answered("c1ccccc1")
    page.type_over(*OPPOSITE, "NO2", Keys.ENTER)
    page.until("return document.getElementById('smiles').value.includes('N+')")
    page.until("return document.querySelector('.headline').textContent.startsWith('nitro yes')")
    page.answered()
    assert "smiles=" in page.driver.current_url
    assert page.all(".near img.thumb")
    assert page.find(".explained img.picture").get_attribute("alt").startswith("Scores for yes")
    assert page.complaints() == []
    asked = [url for url in page.requests() if not url.startswith("data:")]
    assert asked
    assert all(url.startswith(page.address) for url in asked)


def test_a_text_that_is_no_molecule_is_told_beside_the_field(page):
    page.type("#smiles", "c1ccccc")
    page.until("return document.querySelector('.ask .message:not([hidden])')")
    assert "cannot be read" in page.text(".ask .message")
    page.type("#smiles", "CCO")
    page.answered("CCO")
    assert not page.find(".ask .message").is_displayed()


@pytest.mark.slow
def test_a_link_carries_the_molecule(page):
    page.open("?smiles=" + quote("c1ccncc1"))
    page.answered("c1ccncc1")
    page.driver.get(page.address + "?smiles=" + quote('"><img src=x onerror=alert(1)>'))
    page.until("return document.querySelector('.ask .message:not([hidden])')")
    assert page.all("img[src=x]") == []


@pytest.mark.slow
def test_the_class_of_the_colours_can_be_switched_and_numbers_shown(page):
    page.open("?smiles=" + quote("c1ccccc1[N+](=O)[O-]"))
    page.answered()
    assert "red: for yes" in page.text(".legend")
    page.choose("#class", "no")
    page.until("return document.querySelector('.legend').textContent.includes('red: for no')")
    page.answered()
    before = page.find(".explained img.picture").get_attribute("src")
    page.find(".reason input[type=checkbox]").click()
    page.until(f"return document.querySelector('.explained img.picture').src !== {before!r}")
    assert "note" in page.find(".explained img.picture").get_attribute("src")


@pytest.mark.slow
def test_what_if_and_pins_compare(page):
    page.open("?smiles=CCO")
    page.answered("CCO")
    page.click("Try", ".whatif")
    page.until("return document.querySelector('.changed dd')")
    assert "in fact" in page.text(".changed")
    page.click("Pin it", ".changed")
    page.driver.execute_script(
        "for (const _ of [1, 2]) [...document.querySelectorAll('button')]"
        ".find((each) => each.textContent === 'Pin to compare').click()"
    )
    page.find("#tab-compare").click()
    page.until("return document.querySelectorAll('#compare img.picture').length === 2")
    assert "points for yes" in page.text("#compare")
    limits = {each.text.splitlines()[0] for each in page.all("#compare .legend")}
    assert len(limits) == 1, "one scale of colours for all"
    assert len(page.all("#compare article")) == 2, "clicked twice, pinned once"
    page.click("Remove", "#compare")
    page.until("return document.querySelectorAll('#compare article').length === 1")


@pytest.mark.slow
def test_a_file_is_dropped_sorted_filtered_and_saved(page):
    path = page.folder / "mine.csv"
    path.write_text(FILE)
    page.drop(path, "#ask")
    page.until("return document.querySelectorAll('table.rows tbody tr').length === 4")
    assert "1 of them unreadable" in page.text("#many")
    assert page.all("#many b") == [], "cells are text"
    page.until("return document.querySelectorAll('table.rows img').length === 3")

    def column(number):
        return [cell.text for cell in page.all(f"table.rows tbody tr td:nth-child({number})")]

    page.click("name", "table.rows thead")
    assert column(4) == ["<b>bad</b>", "=1+1", "benzene", "ethanol"]
    page.click("name", "table.rows thead")
    assert column(4) == ["ethanol", "benzene", "=1+1", "<b>bad</b>"]
    page.choose("#which", "that could not be read")
    assert column(4) == ["<b>bad</b>"]
    page.choose("#which", "all rows")
    page.type("#filter", "benz")
    page.until("return document.querySelectorAll('table.rows tbody tr').length === 1")
    for words, name in (("CSV", "mine-predicted.csv"), ("report", "mine-report.html")):
        page.click(f"Download {words}")
        saved = page.folder / name
        for _ in range(100):
            if saved.exists():
                break
            time.sleep(0.1)
    with (page.folder / "mine-predicted.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["ethanol", "<b>bad</b>", "benzene", "'=1+1"]
    assert rows[1]["error"]
    assert rows[0]["nitro_predicted"] in ("no", "yes")
    assert "&lt;b&gt;bad" in (page.folder / "mine-report.html").read_text()
    page.find("button[aria-label='Ask about row 3']").click()
    page.answered("c1ccccc1")
    assert page.complaints() == []


@pytest.mark.slow
def test_rows_of_an_sdf_have_pictures_and_can_be_asked_about(page):
    chem = pytest.importorskip("rdkit.Chem")
    path = page.folder / "mine.sdf"
    path.write_text(chem.MolToMolBlock(chem.MolFromSmiles("OCC")) + "$$$$\n")
    page.find("#tab-many").click()
    page.find("#file").send_keys(str(path))
    page.until("return document.querySelectorAll('table.rows img').length === 1")
    assert "V2000" not in page.text("#many")
    page.find("button[aria-label='Ask about row 1']").click()
    page.answered()
    assert sorted(page.find("#smiles").get_attribute("value")) == ["C", "C", "O"]


@pytest.mark.slow
def test_a_large_file_shows_its_progress_and_can_be_cancelled(page):
    path = page.folder / "large.csv"
    path.write_text("smiles\n" + "CCCCCCCCCCO\n" * 20_000)
    page.find("#tab-many").click()
    page.find("#file").send_keys(str(path))
    page.until("return document.querySelector('progress')?.value > 0")
    page.click("Cancel", ".progress")
    page.until("return document.querySelector('.result:not([hidden])')")
    assert "cancelled: " in page.text(".result")
    assert "20,000" not in page.text(".result")


@pytest.mark.slow
def test_a_table_that_is_none_is_refused_in_words(page):
    path = page.folder / "none.csv"
    path.write_text("a,b\n1,2\n")
    page.find("#tab-many").click()
    page.find("#file").send_keys(str(path))
    page.until("return document.querySelector('#many .message:not([hidden])')")
    assert "column of SMILES" in page.text("#many .message")


@pytest.mark.slow
@pytest.mark.parametrize("tab", ["ask", "compare", "many", "model"])
def test_a_narrow_page_does_not_scroll_sideways(page, tab):
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 375, "height": 740, "deviceScaleFactor": 1, "mobile": True},
    )
    try:
        page.open("?smiles=" + quote("c1ccccc1[N+](=O)[O-]"))
        page.answered()
        page.click("Pin to compare")
        page.find(f"#tab-{tab}").click()
        page.until("return !document.querySelector('[aria-busy=true]')")
        wide = page.driver.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide[0] <= wide[1] == 375
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_dark_and_light_follow_the_system_and_the_button(page):
    def ground():
        return page.driver.execute_script("return getComputedStyle(document.body).backgroundColor")

    for scheme, other in (("dark", "Light"), ("light", "Dark")):
        feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
        page.until(f"return document.documentElement.dataset.theme === '{scheme}'")
        assert page.text("#theme") == other
    light = ground()
    page.find("#theme").click()
    assert ground() != light
    page.find("#theme").click()
    assert ground() == light


@pytest.mark.slow
def test_keys_alone_reach_everything_that_matters(page):
    """Tab to the field, type, tab to the class and the what-if, and arrows between the tabs."""
    page.driver.execute_script("document.getElementById('smiles').focus()")
    page.keys("CCO")
    page.answered("CCO")
    reached = []
    for _ in range(40):
        page.keys(Keys.TAB)
        reached.append(
            page.driver.execute_script(
                "const e = document.activeElement; return e.id || e.textContent.slice(0, 20)"
            )
        )
    assert {"examples", "Pin to compare", "class", "Try", "theme"} <= set(reached)
    page.find("#tab-ask").send_keys(Keys.ARROW_RIGHT)
    assert page.find("#compare").is_displayed()
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.find("#model").is_displayed()
    assert "Where it was most wrong" in page.text("#model")


@pytest.mark.slow
def test_no_serious_barrier_is_found(page):
    """axe-core, whose file the environment variable LGAN_AXE names."""
    script = os.environ.get("LGAN_AXE")
    if not script:
        pytest.skip("needs axe-core: set LGAN_AXE to its axe.min.js (npm pack axe-core)")
    path = page.folder / "mine.csv"
    path.write_text(FILE)
    page.open("?smiles=" + quote("c1ccccc1[N+](=O)[O-]"))
    page.answered()
    page.click("Pin to compare")
    page.find("#tab-many").click()
    page.find("#file").send_keys(str(path))
    page.until("return document.querySelectorAll('table.rows img').length === 3")
    page.driver.execute_script(Path(script).read_text())
    for theme in ("light", "dark"):
        page.driver.execute_script(f"document.documentElement.dataset.theme = '{theme}'")
        for tab in ("ask", "compare", "many", "model"):
            page.find(f"#tab-{tab}").click()
            time.sleep(0.3)  # colours change gently
            found = page.driver.execute_async_script(
                "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
            )
            serious = [
                f"{theme} {tab}: {one['id']} {one['nodes'][0]['html'][:200]}"
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert serious == []


@pytest.mark.slow
def test_graphs_that_are_no_molecules_are_networks(browser, graph_predictor, tmp_path):
    with served(graph_predictor) as address, chrome(browser, tmp_path) as driver:
        page = Page(driver, address)
        driver.get(address)
        page.until("return document.querySelector('.headline')")
        page.until("return document.querySelector('.explained img.picture')")
        assert page.all("#editor") == []
        assert "example 1" in page.text("#graphs")
        page.click("Try", ".whatif")
        page.until("return document.querySelector('.changed dd')")
        page.choose("#graphs", "example 2")
        page.until("return document.querySelector('.plain img')")
        archive = tmp_path / "mine.zip"
        archive.write_bytes(tu_archive([nx.house_graph(), nx.cycle_graph(6)]))
        page.drop(archive, "#ask")
        page.until("return document.getElementById('graphs').options.length === 2")
        assert "mine.zip: 2 graphs" in page.text("#ask")
        page.answered()
        page.find("#tab-compare").click()
        page.drop(archive, "#compare")
        page.until("return document.querySelectorAll('table.rows img').length === 2")
        assert page.complaints() == []
