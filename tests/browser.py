"""Pages as headless Chromium shows them."""

import html
import json
import re
import subprocess
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def chromium(browser: str, folder: Path, text: str, *options: str) -> str:
    """Open a page without a network, and give what the browser prints."""
    page = folder / "page.html"
    page.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000",
            "--host-resolver-rules=MAP * ~NOTFOUND", *options, page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def asked(browser: str, folder: Path, page: str, script: str, width: int) -> dict[str, object]:
    """What a script finds in the page, shown in a frame of that width.

    A window of Chromium is never narrower than 500 pixels; a frame is.
    """
    frame = (
        f'<iframe width="{width}" height="900" style="border:0" srcdoc="{html.escape(page)}">'
        '</iframe><pre id="answer"></pre><script>onload = function () {'
        "var w = document.querySelector('iframe').contentWindow, d = w.document;"
        f"var found = (function () {{ {script} }})();"
        "document.getElementById('answer').textContent = JSON.stringify(found);"
        "}</script>"
    )
    printed = chromium(browser, folder, frame, "--hide-scrollbars", "--dump-dom")
    answer = re.search(r'<pre id="answer">(.*?)</pre>', printed, re.S)
    assert answer, printed[-500:]
    return dict(json.loads(html.unescape(answer[1])))
