"""Numba's `njit` with a cache that notices every change of a loop."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from lgan._sources import source_digest

# The files that hold compiled loops, by their names.
LOOPS = "**/*numba*.py"


class _LoopCache(FunctionCache):  # type: ignore[misc]
    """Compiled code on disk, as numba keeps it, but thrown away when any file of loops changes.

    Numba looks at the time and size of the file a loop stands in. The code of the loops it calls
    is compiled into it, so that a change in another file would go unnoticed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=source_digest(LOOPS),
        )


def njit(*, cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, whose cache on disk never gives code older than the files of loops.

    A file of loops has ``numba`` in its name and reads no constants from other files.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            with suppress(RuntimeError):  # no folder may be written to: compile in every process
                dispatcher._cache = _LoopCache(function)
        return dispatcher

    return compiled
