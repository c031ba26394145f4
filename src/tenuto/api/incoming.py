"""A request or socket on its way through the pipeline, with everything known of it so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from starlette.types import Scope

from tenuto.access.principal import Principal
from tenuto.api.routes import Found
from tenuto.engine.load.pressure import Sheddable
from tenuto.engine.load.starts_under_way import Place
from tenuto.ports import Ids

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")
_OFFERED = "tenuto.bearer."
PASSED = "tenuto.passed"
"""The name of `Passed` in the state of a request."""


class Passed(NamedTuple):
    """It was decided before the pipeline that a request is not refused under load."""

    place: Place | None
    """Of a start, among those under way."""


class IncomingRequest:
    """The request, and the results of the stages that it has passed."""

    __slots__ = (
        *("found", "headers", "is_passed", "is_shed", "path", "place", "principal"),
        *("read", "request_id", "scope"),
    )

    def __init__(self, scope: Scope, ids: Ids, path: str) -> None:
        self.scope = scope
        self.path = path
        """Below the path of the service's public URL."""
        self.headers = _headers(scope)
        self.request_id = read_request_id(self.headers.get("x-request-id"), ids)
        self.found: Found | None = None
        """The operation; None until it is found, or where there is none at this path."""
        self.is_shed: Sheddable | None = None
        """As what it was refused under load: of that the log has one line for all."""
        passed: Passed | None = scope["state"].get(PASSED) if "state" in scope else None
        self.is_passed = passed is not None
        """Whether it was decided before that it is not refused under load."""
        self.place: Place | None = None if passed is None else passed.place
        """Of a start, among those under way."""
        self.read = 0
        """Stands for who reads what; 0: it is no read."""
        self.principal: Principal | None = None
        """None until it is authenticated, and for a public operation without a credential."""

    @property
    def source(self) -> str | None:
        """The client's address."""
        client = self.scope.get("client")
        return str(client[0]) if client else None


def read_request_id(given: str | bytes | None, ids: Ids) -> str:
    """The id that a client gives its request, if it is a good one; else another."""
    text = given.decode("latin-1") if isinstance(given, bytes) else given
    return text if text and _REQUEST_ID.match(text) else ids.short()


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
