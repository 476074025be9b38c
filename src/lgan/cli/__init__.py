"""The command `lgan`: thin functions over the library."""

from lgan.cli.app import main

__all__ = ["main"]
