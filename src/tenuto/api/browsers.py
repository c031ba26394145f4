"""Checks where requests come from: host, origin, proxies; and makes the CORS headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tenuto.access.origins import is_allowed_host, is_allowed_origin
from tenuto.api.config import ServiceConfig
from tenuto.api.problems import Refusal

_ASKED = (
    "authorization, content-type, idempotency-key, if-match, tenuto-reason, tenuto-reveals, "
    "tenuto-tenant, x-request-id"
)
_SHOWN = "etag, location, retry-after, x-request-id"
_RELAYED = frozenset(
    {
        *("forwarded", "via", "cdn-loop", "x-real-ip", "x-client-ip", "client-ip"),
        *("true-client-ip", "x-cluster-client-ip", "fly-client-ip", "x-amz-cf-id"),
    }
)
"""Headers that proxies add, beside those of `_RELAYED_BEGIN`."""
_RELAYED_BEGIN = ("x-forwarded", "x-original-", "x-envoy-", "x-azure-", "cf-", "fastly-")
_OWN_SITES = ("same-origin", "none")
"""`Sec-Fetch-Site` of the web UI's requests, and of addresses that a person has entered."""


class Browsers:
    """Compares host names and origins with exact lists."""

    def __init__(self, config: ServiceConfig) -> None:
        self._hosts = config.allowed_hosts
        self._origins = config.allowed_origins

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


def refuse_relayed(headers: Mapping[str, str]) -> None:
    """Refuse a request without a credential that did not begin on this machine.

    A proxy hands on requests of other machines, and a browser those of other sites' pages and of
    other ports; the origin of a page, where it is named, was compared with the allowed ones before.
    """
    found = [name for name in headers if name in _RELAYED or name.startswith(_RELAYED_BEGIN)]
    if headers.get("sec-fetch-site", "none") not in _OWN_SITES and "origin" not in headers:
        found.append("sec-fetch-site")
    if found:
        message = f"the request came from elsewhere ({', '.join(found)}), without a credential"
        raise Refusal(403, "TEN-5023", message)
