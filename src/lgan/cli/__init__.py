"""The command `lgan`: thin functions over the library."""

import os
import signal
import sys
from types import FrameType

__all__ = ["main"]


def main() -> None:
    """Run the command line; 0 for success, 1 for failure, 2 for bad usage, 130 for Ctrl-C."""
    args, before = sys.argv[1:], signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a program in the background may ignore Ctrl-C
        signal.signal(signal.SIGINT, _interrupt)
    try:
        try:
            from lgan.cli.app import run

            code = run(args)
        except Exception as error:
            from lgan.cli.failure import report

            code = report(error, as_json="--json" in args, debug="--debug" in args)
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        code = 130
    finally:
        signal.signal(signal.SIGINT, before)
    if code == 130 and "--json" in args:
        sys.stdout.write('{"error": "Stopped."}\n')
    sys.exit(code)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End at once while a library loads, which may make an error of its own of an interrupt, or
    swallow it; elsewhere raise it as ever.
    """
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            os.write(2, b"Stopped.\n")
            if "--json" in sys.argv:
                os.write(1, b'{"error": "Stopped."}\n')
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt
