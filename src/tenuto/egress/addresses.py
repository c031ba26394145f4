"""URLs and addresses that requests may be sent to: public ones, unless others are allowed."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tenuto.egress.allowances import PUBLIC, Allowance
from tenuto.egress.special_ranges import is_special, plain_address

_LONGEST = 2_000
_SCHEMES = ("http", "https")
_INNER = (".localhost", ".local", ".internal")
_NUMBER = re.compile(r"(?:\d+|0[xX][0-9a-fA-F]*)\Z")
"""A last label like this one makes a whole name a number, to programs that connect."""
_PLAIN = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!\Z)|\Z)){4}\Z")


def address_problem(text: str) -> str | None:
    """Why an address is not public; None if it is public, or not an address."""
    address = plain_address(text)
    if address is None or not is_special(address):
        return None
    return f"{text} is not an address of the public network"


def url_problem(url: str, longest: int = _LONGEST) -> str | None:
    """Why a text is not a URL that requests can be sent to."""
    if len(url) > longest:
        return f"it has {len(url):,} characters of {longest:,}"
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
    if parts.fragment:
        return "it has a fragment, which is never sent"
    return host_problem(parts.hostname)


def host_problem(host: str) -> str | None:
    """Why the host of a URL is none, or is written so that programs read it differently."""
    if "%" in host:
        return f"{host} is not the name or the address of a host"
    if ":" in host or not _NUMBER.match(host.rstrip(".").rpartition(".")[2]):
        return None
    return None if _PLAIN.match(host) else f"{host} is not an address as it is usually written"


def private_problem(url: str, allowance: Allowance = PUBLIC) -> str | None:
    """Why the host of a URL may not be called, judged by its text alone."""
    return host_refusal(urlsplit(url).hostname or "", allowance)


def host_refusal(host: str, allowance: Allowance) -> str | None:
    """Why a host may not be called, judged by its name alone."""
    if allowance.names(host):
        return None
    host = host.rstrip(".").lower()
    if plain_address(host) is not None:
        return None if allowance.admits(host) else address_problem(host)
    # With a network that may be called, the address of an inner name decides.
    if not allowance.networks and (host == "localhost" or host.endswith(_INNER)):
        return f"{host} is not a name of the public network"
    return None
