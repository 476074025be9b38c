import os
import signal
import subprocess
import sys

import pytest

MAIN = "import sys; from lgan.cli import main; sys.argv = ['lgan', *sys.argv[1:]]; main()"


@pytest.fixture
def broken(monkeypatch):
    """Makes `lgan data list` raise an error."""

    def breaks(error: BaseException) -> None:
        def run(*_: object) -> None:
            raise error

        monkeypatch.setattr("lgan.cli.data.table", run)
        monkeypatch.setattr("lgan.cli.data.print_json", run)

    return breaks


@pytest.mark.parametrize(
    "arguments", [["cv", "NO-SUCH-SET"], ["cv", "MUTAG", "--speed", "9"], ["fly"], ["cv"]]
)
def test_bad_usage_is_json_where_json_is_asked_for(arguments, lgan):
    ran = lgan(*arguments, "--json")
    assert ran.code == 2
    assert list(ran.json) == ["error"]
    assert ran.json["error"] in ran.err


def test_a_failure_is_json_where_json_is_asked_for(lgan, tmp_path):
    ran = lgan("predict", tmp_path / "no.safetensors", "triangles", "--json")
    assert ran.code == 1
    assert ran.json["error"].startswith("There is no checkpoint")


def test_the_stack_is_shown_where_it_is_asked_for(lgan, broken):
    broken(ValueError("out of range"))
    assert lgan("data", "list").err == "Error: out of range\n"
    for arguments in (["--debug", "data", "list"], ["data", "list", "--debug"]):
        ran = lgan(*arguments)
        assert ran.code == 1
        assert "Traceback" in ran.err
        assert ran.err.endswith("Error: out of range\n")


def test_an_error_of_our_own_is_called_one(lgan, broken):
    broken(TypeError("f() got an unexpected argument"))
    ran = lgan("data", "list")
    assert ran.code == 1
    assert ran.err.startswith("Error: This is a mistake in lgan itself: TypeError: f() got")
    assert "--debug" in ran.err
    assert "Traceback" not in ran.err


def test_a_model_too_large_for_the_memory_is_told_as_that(lgan, broken):
    broken(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried 9 bytes.\nstack"))
    assert lgan("data", "list").err.startswith(
        "Error: There is not enough memory. Choose a smaller"
    )


def test_brackets_in_a_message_are_kept(lgan, broken):
    broken(ImportError("Install it with: pip install 'lgan[plot]'"))
    assert "pip install 'lgan[plot]'" in lgan("data", "list").err


def test_ctrl_c_in_a_command_is_one_line_and_130(lgan, broken):
    broken(KeyboardInterrupt())
    ran = lgan("data", "list")
    assert (ran.code, ran.out, ran.err) == (130, "", "Stopped.\n")


def test_ctrl_c_is_json_where_json_is_asked_for(lgan, broken):
    broken(KeyboardInterrupt())
    ran = lgan("data", "list", "--json")
    assert (ran.code, ran.json, ran.err) == (130, {"error": "Stopped."}, "Stopped.\n")


@pytest.mark.parametrize("error", ["KeyboardInterrupt()", "ImportError('initialisation failed')"])
def test_ctrl_c_while_a_library_loads_is_one_line_and_130(error, tmp_path):
    # Stands for torch: it tells that it loads, is interrupted, and may call that by another name.
    (tmp_path / "torch.py").write_text(
        "import time\n"
        "try:\n"
        "    print('loading', flush=True)\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        f"    raise {error} from None\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    child = subprocess.Popen(
        [sys.executable, "-c", MAIN, "cv", "triangles"],
        env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A shell lets what it starts in the background ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "loading\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "Stopped.\n")
