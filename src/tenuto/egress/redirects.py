"""Redirects as values: which request follows, and what it must not carry elsewhere."""

from __future__ import annotations

from urllib.parse import urldefrag, urljoin, urlsplit

from tenuto.egress.request import Request

MOST = 5
STATUSES = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER = 303
_MOVED = frozenset({301, 302})
_PORTS = {"http": 80, "https": 443}
_ANYWHERE = frozenset({"accept", "accept-language", "user-agent"})
"""Headers that say nothing about who asks: all others stay with the origin they were for."""
_OF_THE_BODY = frozenset({"content-type", "content-language", "content-encoding"})


def redirected(request: Request, status: int, location: str) -> Request | str:
    """The request that follows a redirect; text: why none does.

    To another origin go no headers that may have credentials in them, and no body.
    """
    try:
        url = urldefrag(urljoin(request.url, location.strip())).url
        is_same = _origin(url) == _origin(request.url)
    except ValueError:
        return "it leads to no URL"
    method, body = request.method, request.body
    if (status == _SEE_OTHER and method != "HEAD") or (status in _MOVED and method == "POST"):
        method, body = "GET", None
    if body is not None and not is_same:
        return "it leads to another host, to which the body is not sent"
    kept = [
        (name, value)
        for name, value in request.headers
        if (is_same or name.lower() in _ANYWHERE)
        and (body is not None or name.lower() not in _OF_THE_BODY)
    ]
    return Request(method, url, tuple(kept), body)


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme)
