import errno
import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import Tensor

from lgan.data import cache_key, load_tensors, locked, replaced, save_tensors

TENSORS = {"a": torch.arange(5), "b": torch.eye(3), "none": torch.zeros(0, 2, dtype=torch.bool)}


def _run(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
    )


def _same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(
        torch.equal(a[k], b[k]) and a[k].dtype == b[k].dtype for k in a
    )


def test_tensors_and_metadata_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "set.safetensors"
    save_tensors(path, TENSORS, {"name": "MUTAG"})
    tensors, metadata = load_tensors(path)
    assert _same(tensors, TENSORS)
    assert metadata == {"name": "MUTAG"}


def test_views_and_transposes_can_be_saved(tmp_path: Path) -> None:
    x = torch.arange(12).reshape(3, 4)
    views = {"row": x[1], "rest": x[1:], "transposed": x.t()}
    save_tensors(tmp_path / "x", views, {})
    assert _same(load_tensors(tmp_path / "x")[0], views)


def test_saving_again_replaces_the_file_but_not_what_was_loaded(tmp_path: Path) -> None:
    path = tmp_path / "x"
    save_tensors(path, {"a": torch.zeros(4)}, {})
    old, _ = load_tensors(path)
    save_tensors(path, {"a": torch.ones(4)}, {})
    assert old["a"].sum() == 0
    assert load_tensors(path)[0]["a"].sum() == 4


def test_key_depends_on_every_option_and_the_code() -> None:
    key = cache_key("MUTAG", {"a": 1, "b": [2]}, "1")
    assert key.startswith("MUTAG-")
    assert key == cache_key("MUTAG", {"b": [2], "a": 1}, "1")
    others = {
        cache_key("PTC_MR", {"a": 1, "b": [2]}, "1"),
        cache_key("MUTAG", {"a": 2, "b": [2]}, "1"),
        cache_key("MUTAG", {"a": 1}, "1"),
        cache_key("MUTAG", {"a": 1, "b": [2]}, "2"),
    }
    assert len(others | {key}) == 5
    assert "/" not in cache_key("../x", {}, "1")


@pytest.mark.parametrize("content", [b"", b"not tensors at all", None])
def test_damaged_cache_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x"
    save_tensors(path, TENSORS, {})
    path.write_bytes(path.read_bytes()[:-4] if content is None else content)
    with pytest.raises(ValueError, match=r"Expected a cache of tensors .*Delete the file"):
        load_tensors(path)


def test_missing_cache_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing"):
        load_tensors(tmp_path / "nothing")


def test_failed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def fail() -> None:
        with replaced(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_lock_can_be_taken_inside_itself(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with locked(path):
        with locked(path):
            pass
        save_tensors(path, TENSORS, {})
    assert _same(load_tensors(path)[0], TENSORS)


def test_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "set.safetensors"
    with pytest.raises(
        OSError, match=r"Could not write .*set.safetensors: .*choose another folder"
    ):
        save_tensors(path, TENSORS, {})


def test_message_shows_no_temporary_name_and_no_option_of_another_command(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Could not write") as caught, replaced(tmp_path / "file/x"):
        raise AssertionError("nothing can be written here")
    assert not re.search(r"\.tmp|--root", str(caught.value))


@pytest.mark.skipif(os.name == "nt", reason="modes of this kind are POSIX's")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664)])
def test_files_may_be_read_by_whom_the_umask_says(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        save_tensors(tmp_path / "tensors", TENSORS, {})
        with replaced(tmp_path / "text") as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    for name in ("tensors", "text"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode


@pytest.mark.skipif(os.name == "nt", reason="modes of this kind are POSIX's")
def test_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    save_tensors(tmp_path / "x", TENSORS, {})
    (tmp_path / "x").chmod(0o640)
    save_tensors(tmp_path / "x", TENSORS, {})
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_what_is_being_written_is_not_taken_for_abandoned(tmp_path: Path) -> None:
    abandoned = tmp_path / ".x.0123.tmp"
    abandoned.write_text("half")
    with replaced(tmp_path / "x") as first:
        assert not abandoned.exists()
        first.write_text("first")
        with replaced(tmp_path / "x") as second:
            second.write_text("second")
        assert (tmp_path / "x").read_text() == "second"
    assert (tmp_path / "x").read_text() == "first"
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="Could not write"):
        save_tensors(tmp_path / "x", TENSORS, {})


def test_full_disk_is_explained_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"x: No space left on device.*Free some space") as caught:
        save_tensors(tmp_path / "x", TENSORS, {})
    assert caught.value.errno == errno.ENOSPC
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


@pytest.mark.skipif(os.name == "nt", reason="limits of this kind are POSIX's")
def test_write_cut_short_by_the_system_is_an_os_error(tmp_path: Path) -> None:
    process = _run(
        """
        import resource, sys, torch
        from pathlib import Path
        from lgan.data import save_tensors
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            save_tensors(Path(sys.argv[1]), {"a": torch.zeros(100_000)}, {})
        except OSError as error:
            assert "x: File too large. Expected" in str(error), error
            sys.exit(7)
        """,
        tmp_path / "x",
    )
    errors = process.communicate()[1]
    assert process.returncode == 7, errors
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


def test_two_processes_prepare_a_set_once(tmp_path: Path) -> None:
    code = """
        import sys, time, torch
        from pathlib import Path
        from lgan.data import load_tensors, locked, save_tensors
        folder, me = Path(sys.argv[1]), sys.argv[2]
        (folder / f"ready-{me}").touch()
        while not (folder / f"ready-{1 - int(me)}").exists():
            time.sleep(0.01)
        path = folder / "x"
        with locked(path):
            if not path.exists():
                (folder / f"prepared-{me}").touch()
                time.sleep(0.3)
                save_tensors(path, {"a": torch.ones(1000)}, {})
        assert load_tensors(path)[0]["a"].sum() == 1000
        """
    processes = [_run(code, tmp_path, me) for me in range(2)]
    for process in processes:
        errors = process.communicate()[1]
        assert process.returncode == 0, errors
    assert len(list(tmp_path.glob("prepared-*"))) == 1
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_next_run_recovers_from_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "x"
    process = _run(
        """
        import os, signal, sys
        from pathlib import Path
        from lgan.data import locked, replaced
        with locked(Path(sys.argv[1])), replaced(Path(sys.argv[1])) as temporary:
            temporary.write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        path,
    )
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".x.*.tmp"))) == 1
    assert not path.exists()
    save_tensors(path, TENSORS, {})
    assert not list(tmp_path.glob(".x.*.tmp"))
    assert _same(load_tensors(path)[0], TENSORS)
