"""Packages that are loaded when they are used, and the extra that installs them."""

from importlib import import_module
from typing import Any

EXTRAS = {
    "captum": "explain",
    "grakel": "zoo",
    "matplotlib": "plot",
    "optuna": "sweep",
    "ray": "sweep",
    "starlette": "app",
    "uvicorn": "app",
    "pyarrow": "molecules",
    "rdkit": "molecules",
}


def require(module: str) -> Any:
    """Import an optional module, or say which extra brings it.

    Example:
        >>> require("math").floor(2.5)
        2
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        extra = EXTRAS.get(package)
        how = f"pip install 'lgan[{extra}]'" if extra else f"pip install {package}"
        raise ImportError(f"This needs the package {package}. Install it with: {how}") from error
