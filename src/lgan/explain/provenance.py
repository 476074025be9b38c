"""How a result was made, in words that hold on every machine."""

import shlex
import sys
from pathlib import Path

__all__ = ["typed_command"]


def typed_command() -> str:
    """The command as it was typed; of an absolute path only the name is kept."""
    words = [Path(sys.argv[0]).name or "python", *sys.argv[1:]]
    return shlex.join(Path(word).name if word.startswith("/") else word for word in words)
