"""A request or socket on its way through the pipeline, with everything known of it so far."""

from __future__ import annotations

import re
from collections.abc import Mapping

from starlette.types import Scope

from tenuto.access.principal import Principal
from tenuto.api.routes import Found
from tenuto.ports import Ids

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_OFFERED = "tenuto.bearer."


class IncomingRequest:
    """The request, and the results of the stages that it has passed."""

    __slots__ = ("found", "headers", "path", "principal", "request_id", "scope")

    def __init__(self, scope: Scope, ids: Ids, path: str) -> None:
        self.scope = scope
        self.path = path
        """Below the path of the service's public URL."""
        self.headers = _headers(scope)
        given = self.headers.get("x-request-id")
        is_good = given is not None and _REQUEST_ID.match(given) is not None
        self.request_id = given if given and is_good else ids.short()
        self.found: Found | None = None
        """The operation; None until it is found, or where there is none at this path."""
        self.principal: Principal | None = None
        """None until it is authenticated, and for a public operation without a credential."""

    @property
    def source(self) -> str | None:
        """The client's address."""
        client = self.scope.get("client")
        return str(client[0]) if client else None


def offered(headers: Mapping[str, str], prefix: str) -> str | None:
    """What a browser, which sets no headers of a socket, offers as a subprotocol after `prefix`."""
    for offer in headers.get("sec-websocket-protocol", "").split(","):
        if offer.strip().startswith(prefix):
            return offer.strip().removeprefix(prefix)
    return None


def with_offered_credential(headers: Mapping[str, str]) -> Mapping[str, str]:
    """A socket's headers; a browser, which sets none, offers its credential as a subprotocol."""
    if "authorization" in headers:
        return headers
    credential = offered(headers, _OFFERED)
    return headers if credential is None else {**headers, "authorization": f"Bearer {credential}"}


def _headers(scope: Scope) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        # Repeated headers are joined, so that no two readers see different ones.
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers
