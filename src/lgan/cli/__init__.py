"""The command `lgan`: thin functions over the library."""

import signal
import sys
from types import FrameType

__all__ = ["main"]


def main() -> None:
    """Run the command line; 0 for success, 1 for failure, 2 for bad usage, 130 for Ctrl-C."""
    args, interrupts = sys.argv[1:], []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a program in the background may ignore Ctrl-C
        signal.signal(signal.SIGINT, interrupt)
    try:
        try:
            from lgan.cli.app import run

            code = run(args)
        except Exception as error:
            if interrupts:  # what is interrupted while it loads may call that an error of its own
                raise KeyboardInterrupt from error
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
