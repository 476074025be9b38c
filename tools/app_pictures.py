"""Take the pictures of docs/app.md: the page of `lgan app`, driven in Chromium.

    PYTHONPATH=tests python tools/app_pictures.py MODEL TABLE

MODEL is a model of molecules, TABLE a CSV file with a column `smiles`.
"""

import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from PIL import Image

from page_driver import Page, chrome

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
MOLECULE = "CC(=O)Oc1ccccc1C(=O)O"
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1.5, "mobile": True}


def shoot(page: Page, name: str) -> None:
    """Save what is seen, in few enough colours to be small."""
    path = FOLDER / f"app-{name}.png"
    time.sleep(0.8)
    page.driver.save_screenshot(str(path))
    with Image.open(path) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.relative_to(ROOT), f"{path.stat().st_size / 1024:.0f} kB")


def flow(page: Page, table: Path) -> None:
    """Ask, compare, many, the model; an unreadable molecule in the dark; a phone."""
    page.open("?smiles=" + quote(MOLECULE))
    page.answered()
    page.click("Try", ".whatif")
    page.until("return document.querySelector('.changed dd')")
    shoot(page, "ask")
    page.click("Pin to compare")
    page.click("Pin it", ".changed")
    page.find("#tab-compare").click()
    page.until("return document.querySelectorAll('#compare img.picture').length === 2")
    shoot(page, "compare")
    page.find("#tab-many").click()
    page.find("#file").send_keys(str(table.resolve()))
    page.until("return document.querySelectorAll('table.rows img').length > 5")
    shoot(page, "many")
    page.find("#tab-model").click()
    shoot(page, "model")
    page.find("#theme").click()
    page.open("?smiles=" + quote(MOLECULE))
    page.answered()
    page.type("#smiles", MOLECULE[:-1] + "(")
    page.until("return document.querySelector('.ask .message:not([hidden])')")
    shoot(page, "dark")
    page.find("#theme").click()
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    page.open("?smiles=" + quote(MOLECULE))
    page.answered()
    page.driver.execute_script("document.querySelector('.answer').scrollIntoView()")
    shoot(page, "phone")


def main() -> None:
    """Start the page, and look at it."""
    model, table = sys.argv[1:3]
    FOLDER.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "lgan", "app", model, "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None
        browser = "/usr/bin/chromium"
        with TemporaryDirectory() as folder, chrome(browser, Path(folder), 1366, 960) as driver:
            flow(Page(driver, address[0]), Path(table))
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
