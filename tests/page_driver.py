"""The page of `lgan app` in headless Chromium, driven by selenium."""

import json
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

# Everything but this machine is unreachable for the browser.
OFFLINE = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
PATIENCE = 60
TRIES = 5
KEY_PAUSE = 0.2  # seconds


@contextmanager
def chrome(browser: str, folder: Path, width: int = 1366, height: int = 860) -> Iterator[Any]:
    """A window of that size; files it saves go to the folder."""
    options = Options()
    options.binary_location = browser
    for word in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--hide-scrollbars", f"--window-size={width},{height}", f"--host-resolver-rules={OFFLINE}",
    ):  # fmt: skip
        options.add_argument(word)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """What a person does on the page."""

    def __init__(self, driver: Any, address: str):
        self.driver, self.address = driver, address

    def open(self, query: str = "") -> None:
        self.driver.get(self.address + query)
        self.until("return document.getElementById('editor')?.dataset.ready === 'yes'")

    def until(self, script: str, seconds: float = PATIENCE) -> Any:
        wait = WebDriverWait(self.driver, seconds, poll_frequency=0.1)
        return wait.until(lambda driver: driver.execute_script(script), script)

    def find(self, css: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, css))

    def text(self, css: str) -> str:
        return str(self.find(css).text)

    def click(self, words: str, within: str = "body") -> None:
        """Press the button that says so."""
        path = (
            f".//button[normalize-space()='{words}' or starts-with(normalize-space(), '{words}')]"
        )
        self.find(within).find_element(By.XPATH, path).click()

    def choose(self, css: str, words: str) -> None:
        Select(self.find(css)).select_by_visible_text(words)

    def type(self, css: str, words: str) -> None:
        field = self.find(css)
        field.clear()
        field.send_keys(words)

    def drop(self, path: Path, css: str) -> None:
        """Let a file fall on a part of the page."""
        script = """
            const [name, text, css] = arguments, carried = new DataTransfer();
            const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
            carried.items.add(new File([bytes], name));
            for (const kind of ["dragover", "drop"]) {
              const how = { bubbles: true, cancelable: true, dataTransfer: carried };
              document.querySelector(css).dispatchEvent(new DragEvent(kind, how));
            }"""
        text = b64encode(path.read_bytes()).decode()
        self.driver.execute_script(script, path.name, text, css)

    def draw(self, x: int, y: int, *, click: bool = True) -> None:
        """Go to a place of the editor, in pixels from its corner, and click there."""
        editor = self.find("#editor")
        left, top = x - editor.size["width"] // 2, y - editor.size["height"] // 2
        actions = ActionChains(self.driver).move_to_element_with_offset(editor, left, top)
        (actions.click() if click else actions).perform()

    def keys(self, *keys: str) -> None:
        """Press keys one after another, wherever the focus or the mouse is.

        The editor takes each key a moment later: keys pressed at once are lost.
        """
        for key in (letter for word in keys for letter in word):
            ActionChains(self.driver).send_keys(key).pause(KEY_PAUSE).perform()

    def type_over(self, x: int, y: int, *keys: str) -> None:
        """Point at a place of the editor and press keys, again where they were lost."""
        before = self.find("#smiles").get_attribute("value")
        changed = f"return document.getElementById('smiles').value !== {before!r}"
        for _ in range(TRIES):
            self.draw(x, y, click=False)
            self.keys(*keys)
            with suppress(TimeoutException):
                self.until(changed, PATIENCE / 10)
                return
        raise AssertionError(f"the drawing stayed {before!r}, typed over {TRIES} times")

    def answered(self, smiles: str | None = None) -> str:
        """The headline of the prediction, once prediction and explanation are there."""
        self.until(
            "return document.querySelector('.headline') && document.querySelector('.explained') "
            "&& !document.querySelector('[aria-busy=true]')"
            + (
                ""
                if smiles is None
                else f" && document.getElementById('smiles').value === {smiles!r}"
            )
        )
        return self.text(".headline")

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        sent = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                sent.append(message["params"]["request"]["url"])
        return sent

    def complaints(self) -> list[str]:
        """What the browser complains about: errors of scripts, refused content."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]
