"""Which URLs may be named: those that say plainly where they lead."""

from __future__ import annotations

from urllib.parse import urlsplit

from tenuto.egress.addresses import address_problem

_LONGEST = 2_000
_SCHEMES = ("http", "https")


def url_problem(url: str) -> str | None:
    """What keeps a text from being a URL that events can be sent to."""
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
        return f"it is no URL: {error}"
    if parts.scheme not in _SCHEMES:
        return "it does not begin with https:// or http://"
    if not parts.hostname:
        return "it names no host"
    if port == 0:
        return "it names no port that there can be"
    if parts.username is not None or parts.password is not None:
        return "it has a user or a password in it, which would be shown where it is"
    return "it has a fragment, which is never sent" if parts.fragment else None


def private_problem(url: str) -> str | None:
    """Why the host of a URL is one of no public network, as far as its text says."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return f"{host} is a name of no public network"
    return address_problem(host)
