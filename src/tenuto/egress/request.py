"""Requests and answers as values, and what is refused of a request before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, in order; names of answers are in lower case."""

NoAnswerKind: TypeAlias = Literal[
    "url", "refused", "headers", "redirect", "connection", "certificate", "time", "size", "encoding"
]
"""`url`, `headers`: the request is none; `refused`: its host may not be called; `redirect`: it led
where requests may not go, or too often; `connection`: no name server, host or TLS answers, or the
connection broke; `certificate`: that of the host is not valid; `time`: it took too long; `size`,
`encoding`: the answer is too large, or compressed although that was not asked for."""

LONGEST_URL = 8_000
"""Characters of the URL of a request: more than usual servers take."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OF_THE_CLIENT = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_MOST_HEADERS = 100
_MOST_BYTES = 32_000
"""Of all headers together: more than usual servers take."""


class Request(NamedTuple):
    """A request that is to be sent."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes | None = None


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    url: str
    """The one that answered, after redirects."""
    headers: Headers = ()
    body: bytes = b""
    reason: str = ""

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for each, value in self.headers if each == name), None)


class NoAnswer(NamedTuple):
    """Why a request has no response; the text names no address that the request does not have."""

    kind: NoAnswerKind
    message: str


def headers_problem(headers: Iterable[tuple[str, str]]) -> str | None:
    """Why headers of a user cannot be sent; values may be secrets and are not shown."""
    count = size = 0
    for name, value in headers:
        count += 1
        size += len(name) + len(value.encode("utf-8", "replace")) + 4
        if not _TOKEN.match(name):
            return f"{name!r} is not the name of a header"
        if name.lower() in _OF_THE_CLIENT:
            return f"the header {name} is set by the client alone"
        if _CONTROL.search(value):
            return f"the header {name} has a line break or another control character in it"
        if value != value.strip(" \t"):
            return f"the header {name} begins or ends with a space"
    if count > _MOST_HEADERS:
        return f"{count:,} headers, where {_MOST_HEADERS} are the most"
    return f"headers of {size:,} bytes, of at most {_MOST_BYTES:,}" if size > _MOST_BYTES else None
