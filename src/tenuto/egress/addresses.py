"""URLs and addresses that requests may be sent to: public ones, unless others are allowed."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from tenuto.egress.special_ranges import is_special


def address_problem(text: str) -> str | None:
    """Why an address is not public; None if it is public, or not an address."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return f"{text} is not an address of the public network" if is_special(address) else None


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
