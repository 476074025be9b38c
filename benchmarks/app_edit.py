"""How soon the page of `lgan app` follows an edit of the molecule, in Chromium.

    PYTHONPATH=.:tests python benchmarks/app_edit.py MODEL [--rounds 3]

Opens the page on a model of molecules, pastes SMILES into its field, then draws a ring and makes
its atoms other elements by mouse and keys. The clock of the page itself runs from the last key of
an edit to the last change of the prediction and of the nearest molecules with their pictures
(`answer_ms`), and to the explanation (`why_ms`). Prints the figures as JSON.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from selenium.webdriver.common.keys import Keys

from benchmarks.app_load import started, tell
from page_driver import Page, chrome

PASTED = (
    "CC(=O)Oc1ccccc1C(=O)O", "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21",
    "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O",
    "C[C@]12CC[C@H]3[C@@H](CCC4=CC(=O)CC[C@]34C)[C@@H]1CC[C@@H]2O",
)  # fmt: skip
# In the editor's pixels: the tool for benzene, a free place, and an atom of the ring put there.
BENZENE, FREE, ATOM = (33, 201), (300, 180), (342, 180)
ELEMENTS = ("N", "C") * 3
CLOCK = """
window.clock = {};
addEventListener("keydown", (event) => { clock = { begun: event.timeStamp }; }, true);
for (const name of ["answer", "near", "reason"]) {
  new MutationObserver(() => { clock[name] = performance.now(); })
    .observe(document.querySelector(`.${name}`), { childList: true, subtree: true });
}
"""
DONE = """
const there = clock.answer && clock.near && clock.reason
  && !document.querySelector("[aria-busy=true]")
  && document.querySelectorAll(".near img.thumb").length === 3;
const last = [Math.max(clock.answer, clock.near), clock.reason];
return there ? last.map((time) => time - clock.begun) : null;
"""


def _edits(page: Page, rounds: int) -> dict[str, list[list[float]]]:
    """Milliseconds to the answer and to the explanation of every edit."""
    found: dict[str, list[list[float]]] = {"pasted": [], "drawn": []}
    for _ in range(rounds):
        for smiles in PASTED:
            page.type("#smiles", smiles)
            found["pasted"].append(page.until(DONE))
    page.open()
    page.driver.execute_script(CLOCK)
    for place in (BENZENE, FREE):
        page.draw(*place)
    page.answered()
    for _ in range(rounds):
        for element in ELEMENTS:
            page.draw(*ATOM, click=False)
            page.keys(element, Keys.ENTER)
            found["drawn"].append(page.until(DONE))
    return found


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    asked = parser.parse_args()
    with (
        started(asked.model) as (address, _),
        tempfile.TemporaryDirectory() as folder,
        chrome(asked.browser, Path(folder)) as driver,
    ):
        page = Page(driver, address)
        page.open("?smiles=CCO")  # loops are compiled on first use
        page.answered()
        driver.execute_script(CLOCK)
        found = _edits(page, asked.rounds)
    told: dict[str, Any] = {}
    for how, times in found.items():
        answers, reasons = ([pair[side] for pair in times] for side in (0, 1))
        told[how] = {
            "edits": len(times),
            "answer_ms": round(statistics.median(answers)),
            "answer_slowest_ms": round(max(answers)),
            "why_ms": round(statistics.median(reasons)),
            "why_slowest_ms": round(max(reasons)),
        }
    tell(told)


if __name__ == "__main__":
    main()
