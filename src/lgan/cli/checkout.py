"""Commands whose code is in the repository and not in the installed package.

`lgan table` reads `paper/` and `lgan bench` reads `benchmarks/`, which stand beside `src/` in a
checkout.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def find_checkout(name: str, module: str) -> None:
    """Make the code of a command importable, or say where it is.

    Args:
        name: Name of the command.
        module: Its module in the root of the repository.
    """
    package = module.partition(".")[0]
    if not (ROOT / package / "__init__.py").is_file():
        raise ImportError(
            f"`lgan {name}` belongs to a checkout of the repository of lgan, whose folder "
            f"`{package}` it runs; this is an installed package. Clone the repository and run it "
            "there (`make demo` sets it up)."
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
