"""From which pages, and under which names, the service may be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from tenuto.api.config import ServiceConfig
from tenuto.api.problems import Refusal

_ASKED = "authorization, content-type, idempotency-key, if-match, tenuto-tenant, x-request-id"
_SHOWN = "etag, retry-after, x-request-id"


class Origins:
    """Exact lists: a name that is not on them is foreign."""

    def __init__(self, config: ServiceConfig) -> None:
        self._hosts = config.allowed_hosts
        self._origins = config.origins

    def checked(self, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        """What the answer tells a browser; a foreign host or origin is refused."""
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts:
            # Else any page could reach this machine under a name that it lets point here.
            raise Refusal(421, "TEN-5020", f"the service is not called {host!r}")
        origin = headers.get("origin")
        if origin is None:
            return []
        if origin in self._origins:
            return [
                (b"access-control-allow-origin", origin.encode("latin-1")),
                (b"access-control-expose-headers", _SHOWN.encode()),
                (b"vary", b"origin"),
            ]
        if not host or urlsplit(origin).netloc.lower() != host.lower():
            raise Refusal(403, "TEN-5021", f"pages of {origin!r} may not call the service")
        return []

    def preflight(
        self, headers: Mapping[str, str], methods: Sequence[str]
    ) -> list[tuple[bytes, bytes]]:
        """What a browser is told that asks whether it may ask."""
        if headers.get("origin") not in self._origins:
            return [(b"allow", ", ".join(methods).encode())]
        return [
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", _ASKED.encode()),
            (b"access-control-max-age", b"600"),
        ]


def _name(host: str) -> str:
    """A host without its port; IPv6 without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
