"""Allowed host names and origins.

Any web page can send requests to this machine, under a name that its owner points here (DNS
rebinding). So names and origins are compared whole with exact lists, never by parts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import NamedTuple
from urllib.parse import urlsplit

_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?\Z")
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#@\\\s]+)\Z", re.IGNORECASE)
USUAL_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65_535

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""Names of the loopback interface."""


class Host(NamedTuple):
    """What a Host header says: a name in small letters, IPv6 in brackets, and a port."""

    name: str
    port: int | None


class Origin(NamedTuple):
    """What an Origin header says."""

    scheme: str
    name: str
    port: int


@lru_cache(maxsize=256)
def read_host(text: str) -> Host | None:
    """A host and perhaps its port; None for anything else."""
    found = _HOST.match(text)
    if found is None:
        return None
    name = _read_name(found["name"])
    port = None if found["port"] is None else int(found["port"])
    if name is None or (port is not None and not 0 < port <= _HIGHEST_PORT):
        return None
    return Host(name, port)


@lru_cache(maxsize=256)
def read_origin(text: str) -> Origin | None:
    """`https://example.com` with perhaps a port, and nothing else; None for `null` too."""
    found = _ORIGIN.match(text)
    host = None if found is None else read_host(found["host"])
    if found is None or host is None:
        return None
    scheme = found["scheme"].lower()
    return Origin(scheme, host.name, host.port or USUAL_PORTS[scheme])


def origin_of(url: str) -> str | None:
    """The origin of a URL, as a header may name it; None where it has none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    origin = f"{parts.scheme}://{parts.netloc}"
    return None if read_origin(origin) is None else origin


def is_allowed_host(header: str | None, allowed: Collection[str]) -> bool:
    """Whether a request may call the service by this name.

    An allowed name without a port may be called with any; one with a port with that alone.
    """
    host = None if header is None else read_host(header)
    if host is None:
        return False
    return any(
        each is not None and each.name == host.name and each.port in (None, host.port)
        for each in map(read_host, allowed)
    )


def is_allowed_origin(
    header: str | None, *, scheme: str, host: str | None, allowed: Collection[str] = ()
) -> bool:
    """Whether a page of this origin may call the service; only browsers name an origin.

    `scheme` and `host` are those that the request came by: its own pages may. `host` must have been
    allowed before, or a foreign name would allow itself.
    """
    if header is None:
        return True
    origin = read_origin(header)
    if origin is None:
        return False
    usual = {"http": "http", "https": "https", "ws": "http", "wss": "https"}.get(scheme)
    own = None if usual is None or host is None else read_origin(f"{usual}://{host}")
    return origin == own or any(origin == read_origin(each) for each in allowed)


def _read_name(text: str) -> str | None:
    if text.startswith("["):
        try:
            return f"[{IPv6Address(text[1:-1]).compressed}]"
        except AddressValueError:
            return None
    name = text.lower()
    # A dot at the end is another name to a browser, and the same to a resolver.
    return None if name.startswith(".") or name.endswith(".") or ".." in name else name
