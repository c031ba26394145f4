"""URLs and addresses that requests may be sent to: public ones, unless others are allowed."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_UNICAST = IPv6Network("2000::/3")
"""The allocated public part of IPv6; addresses outside of it have special purposes."""
_DOCUMENTATION = IPv6Network("3fff::/20")
"""Older versions of Python count it as public."""


def address_problem(text: str) -> str | None:
    """Why an address is not public; None if it is public, or not an address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    for each in _meant(address):
        if not _is_public(each):
            return f"{text} is not an address of the public network"
    return None


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if not address.is_global or address.is_multicast:
        return False
    return isinstance(address, IPv4Address) or (
        address in _UNICAST and address not in _DOCUMENTATION
    )


def _meant(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The addresses to judge: the address itself, or the IPv4 address that is embedded in it."""
    if isinstance(address, IPv4Address):
        return [address]
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address.teredo is not None:
        inner = address.teredo[1]
    if inner is None and any(address in network for network in (_NAT64, _COMPATIBLE)):
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    if inner is None:
        return [address]
    # An IPv4 address in another form: its target counts.
    return [inner]


_LONGEST = 2_000
_SCHEMES = ("http", "https")


def url_problem(url: str) -> str | None:
    """Why a text is not a URL that events can be sent to."""
    if len(url) > _LONGEST:
        return f"it has {len(url):,} characters of {_LONGEST:,}"
    if any(character.isspace() or not character.isprintable() for character in url):
        return "it has white space or control characters in it"
    if "\\" in url:
        return "it has a backslash in it"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"it is not a URL: {error}"
    if parts.scheme not in _SCHEMES:
        return "it does not begin with https:// or http://"
    if not parts.hostname:
        return "it names no host"
    if port == 0:
        return "its port is not a valid one"
    if parts.username is not None or parts.password is not None:
        return "it contains a user or a password, which would be displayed with it"
    return "it has a fragment, which is never sent" if parts.fragment else None


def private_problem(url: str) -> str | None:
    """Why the host of a URL is not public, judged by its text alone."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return f"{host} is not a name of the public network"
    return address_problem(host)
