"""The body of a request, refused where it is too large, too slow, or not what it should be."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import ClientDisconnect, Request

from lgan.app.limits import Limits, RefusedError


async def read_json(request: Request, limits: Limits) -> Any:
    """The body as JSON."""
    # A form of another site cannot send this type without being asked first.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise RefusedError(415, "Expected JSON: set `Content-Type: application/json`.")
    parts = [part async for part in body_parts(request, limits.json_bytes, limits.body_seconds)]
    try:
        found = json.loads(b"".join(parts))
        json.dumps(found, ensure_ascii=False).encode()  # half a character cannot be sent back
        return found
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"Expected JSON, got {str(error)[:120]}.") from error


async def body_parts(request: Request, most: int, seconds: float) -> AsyncIterator[bytes]:
    """The body piece by piece, of so many bytes at most that arrive within some seconds."""
    length = request.headers.get("content-length", "0")
    too_large = RefusedError(413, f"Expected {most:,} bytes at most. Send less at once.")
    if not length.isdecimal() or int(length) > most:
        raise too_large
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise too_large
                yield part
    except TimeoutError:
        raise RefusedError(408, "The rest of the request did not arrive in time.") from None
    except ClientDisconnect:
        raise RefusedError(400, "The request broke off.") from None
