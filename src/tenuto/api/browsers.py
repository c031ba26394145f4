"""Checks host and origin of requests, and makes the CORS headers of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tenuto.access.origins import is_allowed_host, is_allowed_origin
from tenuto.api.config import ServiceConfig
from tenuto.api.problems import Refusal

_ASKED = "authorization, content-type, idempotency-key, if-match, tenuto-tenant, x-request-id"
_SHOWN = "etag, location, retry-after, x-request-id"


class Browsers:
    """Compares host names and origins with exact lists."""

    def __init__(self, config: ServiceConfig) -> None:
        self._hosts = config.allowed_hosts
        self._origins = config.origins

    def checked(self, scheme: str, headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        """The CORS headers of the answer; a foreign host or origin is refused."""
        host, origin = headers.get("host"), headers.get("origin")
        if self._hosts is not None and not is_allowed_host(host, self._hosts):
            # Else any page could reach this machine by DNS rebinding.
            raise Refusal(
                421, "TEN-5020", f"the service does not have the host name {(host or '')[:200]!r}"
            )
        if origin is None:
            return []
        if not is_allowed_origin(origin, scheme=scheme, host=host, allowed=self._origins):
            raise Refusal(403, "TEN-5021", f"pages of {origin[:200]!r} may not call the service")
        if not self._is_listed(scheme, origin):
            return []
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", _SHOWN.encode()),
            (b"vary", b"origin"),
        ]

    def preflight(
        self, scheme: str, headers: Mapping[str, str], methods: Sequence[str]
    ) -> list[tuple[bytes, bytes]]:
        """The CORS headers for a browser's preflight request."""
        if not self._is_listed(scheme, headers.get("origin")):
            return [(b"allow", ", ".join(methods).encode())]
        return [
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", _ASKED.encode()),
            (b"access-control-max-age", b"600"),
        ]

    def _is_listed(self, scheme: str, origin: str | None) -> bool:
        """Whether the origin is configured, and not merely the service's own."""
        if origin is None:
            return False
        return is_allowed_origin(origin, scheme=scheme, host=None, allowed=self._origins)
