"""The version of the package, read by the build and by every record and cache key."""

__version__ = "0.1.0"
