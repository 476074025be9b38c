"""The version of the package, read by the build and by every record and cache key."""

__version__ = "0.2.0"
