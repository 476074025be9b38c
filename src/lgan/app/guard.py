"""What every request passes: who may ask, and what every answer says about itself."""

import ipaddress
import logging
from collections.abc import Collection
from secrets import compare_digest
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from lgan.app.limits import RefusedError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Middleware that refuses strangers and turns every failure into JSON.

    The `Host` of a request must be one of ours, so that no foreign name can be made to point here
    (DNS rebinding); its `Origin`, where there is one, must be the page itself; and where a token is
    set, questions must carry it.
    """

    def __init__(self, app: Any, *, hosts: Collection[str], token: str | None = None):
        self.app, self.hosts, self.token = app, frozenset(hosts), token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def with_headers(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, receive, with_headers)
        except Exception as error:
            refusal = error
            if not isinstance(refusal, RefusedError):
                logging.getLogger("lgan.app").exception("%s %s", scope["method"], scope["path"])
                refusal = RefusedError(500, "This went wrong here.")
            if not begun:
                again = {"Retry-After": "2"} if refusal.status == 429 else None
                answer = JSONResponse({"error": refusal.reason}, refusal.status, headers=again)
                await answer(scope, receive, with_headers)

    def _check(self, scope: Any) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(_name(host)):
            raise RefusedError(421, "Expected a request to this page by its own address.")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise RefusedError(403, "Expected a request from this page itself.")
        if self.token is not None and scope["path"].startswith("/api/"):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not compare_digest(given.encode(), self.token.encode()):
                raise RefusedError(
                    401, "Expected the token that was printed at the start. Open the address there."
                )

    def _is_ours(self, name: str) -> bool:
        if name in self.hosts:
            return True
        try:  # an address of numbers asks no name server, and needs the token
            return self.token is not None and bool(ipaddress.ip_address(name))
        except ValueError:
            return False


def _name(host: str) -> str:
    """The host without its port.

    Example:
        >>> _name("localhost:80"), _name("[::1]:80"), _name("")
        ('localhost', '::1', '')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
