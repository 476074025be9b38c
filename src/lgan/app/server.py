"""The page on a port of this machine."""

import errno
import socket
from typing import Any

import uvicorn

# Ports that are tried after a busy one.
TRIED = 50


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        OSError: Where the port is busy, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except BaseException:
        found.close()
        raise
    return found


def next_free(host: str, port: int) -> int | None:
    """The next port that nobody listens on."""
    for other in range(port + 1, min(port + 1 + TRIED, 65536)):
        try:
            listen(host, other).close()
            return other
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return None
    return None


def serve(app: Any, found: socket.socket) -> None:
    """Answer requests until Ctrl-C, which ends it within seconds."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=2, proxy_headers=False, ws="none",
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[found])
