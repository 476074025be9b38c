import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import lgan.data.readers.mirror
from lgan.data import fetch

Pack = Callable[..., Path]


@pytest.fixture(autouse=True)
def _no_outside_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LGAN_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.requests.append(self.path)  # type: ignore[attr-defined]
        super().do_GET()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """A web server: its address, the folder it shows, and what it was asked for."""
    folder = tmp_path / "site"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=folder)) as server:
        server.requests = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder, server.requests  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


def test_folder_is_used_in_place(pack: Pack, tmp_path: Path) -> None:
    archive = pack("MUTAG", folder=tmp_path / "mirror")
    root = tmp_path / "root"
    assert fetch("MUTAG", root=root, mirror=tmp_path / "mirror") == archive
    assert fetch("MUTAG", root=root, mirror=str(tmp_path / "mirror")) == archive
    assert fetch("MUTAG", root=root, mirror=(tmp_path / "mirror").as_uri()) == archive
    assert not root.exists()


def test_environment_names_the_mirror(
    pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack("MUTAG", folder=tmp_path / "mirror")
    monkeypatch.setenv("LGAN_MIRROR", str(tmp_path / "mirror"))
    assert fetch("MUTAG", root=tmp_path) == archive
    with pytest.raises(FileNotFoundError, match="no such folder"):
        fetch("MUTAG", root=tmp_path, mirror=tmp_path / "argument-wins")


def test_download_happens_once(
    pack: Pack, tmp_path: Path, site: tuple[str, Path, list[str]]
) -> None:
    url, folder, requests = site
    expected = pack("MUTAG", folder=folder).read_bytes()
    for mirror in (url, f"{url}/"):
        archive = fetch("MUTAG", root=tmp_path / "root", mirror=mirror)
        assert archive == tmp_path / "root" / "raw" / "MUTAG.zip"
        assert archive.read_bytes() == expected
    assert requests == ["/MUTAG.zip"]
    assert not list((tmp_path / "root" / "raw").glob("*.tmp"))


def test_next_address_is_tried(
    pack: Pack, tmp_path: Path, site: tuple[str, Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder, requests = site
    pack("MUTAG", folder=folder / "new")
    (folder / "page").mkdir()
    (folder / "page" / "MUTAG.zip").write_text("<html>moved</html>")
    monkeypatch.setattr(
        lgan.data.readers.mirror, "TU_URLS", (f"{url}/old", f"{url}/page", f"{url}/new")
    )
    fetch("MUTAG", root=tmp_path)
    assert requests == ["/old/MUTAG.zip", "/page/MUTAG.zip", "/new/MUTAG.zip"]


def test_failure_lists_what_was_tried_and_how_to_work_offline(
    tmp_path: Path, site: tuple[str, Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder, _ = site
    (folder / "MUTAG.zip").write_text("no zip")
    monkeypatch.setattr(lgan.data.readers.mirror, "TU_URLS", (f"{url}/gone", url))
    with pytest.raises(ConnectionError) as caught:
        fetch("MUTAG", root=tmp_path / "root")
    message = str(caught.value)
    assert f"{url}/gone/MUTAG.zip: 404" in message
    assert f"{url}/MUTAG.zip: what came is no complete zip archive" in message
    assert "--mirror" in message
    assert "LGAN_MIRROR" in message
    assert not list((tmp_path / "root" / "raw").glob("*.zip"))


def test_nobody_listening_is_a_connection_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="got nothing from"):
        fetch("MUTAG", root=tmp_path, mirror="http://127.0.0.1:9")


def test_mirror_without_the_set_lists_what_it_has(pack: Pack, tmp_path: Path) -> None:
    pack("PTC_MR")
    with pytest.raises(FileNotFoundError, match=r"Expected MUTAG.zip in .*got PTC_MR.zip"):
        fetch("MUTAG", root=tmp_path, mirror=tmp_path)


def test_set_that_cannot_be_downloaded_asks_for_a_mirror(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not in the TU Dortmund collection, got none"):
        fetch("PTC_GIN", root=tmp_path)


def test_bad_names_and_addresses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Did you mean PROTEINS"):
        fetch("PROTEIN", root=tmp_path)
    with pytest.raises(ValueError, match="'csl', which is generated"):
        fetch("csl", root=tmp_path)
    with pytest.raises(ValueError, match="http, https or file address, got 'ftp://x'"):
        fetch("MUTAG", root=tmp_path, mirror="ftp://x")
    assert not list(tmp_path.iterdir())
