"""Where a data source is: read from its URL or its fields. A password is never part of either."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tenuto.data.source import PORTS, DatabaseKind, DataSource, Server, Tls

_SCHEMES: Final[dict[str, DatabaseKind]] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
_TLS: Final[dict[str, Tls]] = {
    "verify": "verify",
    "verify-full": "verify",
    "require": "require",
    "off": "off",
    "disable": "off",
}
_HOST: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252})\Z")
_IPV6: Final = re.compile(r"[0-9A-Fa-f:.]{2,45}\Z")
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\Z")
_LONGEST: Final = 2_000
_LONGEST_NAME: Final = 255
_LAST_PORT: Final = 65_535


class AddressFault(ValueError):
    """Why an address cannot be used."""

    def __init__(self, message: str, *, field: str = "url", has_password: bool = False) -> None:
        super().__init__(message)
        self.field = field
        self.has_password = has_password


class Read(NamedTuple):
    """What a URL says."""

    kind: DatabaseKind
    server: Server | None
    file: str | None


def read_url(url: str) -> Read:
    """What a URL says; AddressFault, whose text has nothing of a URL that cannot be read."""
    if len(url) > _LONGEST:
        raise AddressFault(f"it has {len(url):,} characters of {_LONGEST:,}")
    if any(each.isspace() or not each.isprintable() for each in url) or "\\" in url:
        raise AddressFault("it has white space, control characters or backslashes in it")
    try:
        parts = urlsplit(url)
        port = parts.port
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise AddressFault("it is not a URL") from None
    if parts.password is not None or "@" in parts.path:
        raise AddressFault("it has a password in it", has_password=True)
    kind = _SCHEMES.get(parts.scheme)
    if kind is None:
        raise AddressFault("it does not begin with postgresql://, mysql:// or sqlite:///")
    if parts.fragment:
        raise AddressFault("it has a fragment")
    tls = _options(options, kind)
    path = unquote(parts.path.removeprefix("/"))
    if kind == "sqlite":
        if parts.netloc:
            raise AddressFault("a file is written sqlite:///FILE, with three slashes")
        return Read(kind, None, path)
    return Read(
        kind,
        Server(
            host=parts.hostname or "",
            port=PORTS[kind] if port is None else port,
            database=path,
            user=unquote(parts.username or ""),
            tls=tls,
        ),
        None,
    )


def _options(options: list[tuple[str, str]], kind: DatabaseKind) -> Tls:
    found: Tls = "verify"
    for name, value in options:
        if re.search("pass|pwd|secret|token", name, re.IGNORECASE):
            raise AddressFault("it has a password in it", has_password=True)
        if kind == "sqlite" or name not in ("tls", "sslmode"):
            raise AddressFault(f"{name[:40]!r} is not an option here: only tls is")
        if value not in _TLS:
            raise AddressFault("tls is verify, require or off")
        found = _TLS[value]
    return found


def server_of(source: DataSource) -> Server:
    """The server of a data source that is not a file; AddressFault."""
    if source.url is not None:
        read = read_url(source.url).server
        assert read is not None  # its document was checked
        server = read
    else:
        server = Server(
            host=source.host or "",
            port=source.port or PORTS[source.kind],
            database=source.database or "",
            user=source.user or "",
            tls=source.tls or "verify",
        )
    check_server(server, in_url=source.url is not None)
    return server


def file_of(source: DataSource) -> str:
    """The file of a data source of SQLite, below the folder of its tenant; AddressFault."""
    file = source.file if source.url is None else read_url(source.url).file
    field = "file" if source.url is None else "url"
    if not file:
        raise AddressFault("it names no file", field=field)
    if len(file) > _LONGEST_NAME or not _FILE.match(file):
        message = "a file is named by letters, digits, `_`, `-`, `.`, and `/` between folders"
        raise AddressFault(message, field=field)
    return file


def check_server(server: Server, *, in_url: bool) -> None:
    """AddressFault unless each part of an address can be used."""

    def wrong(field: str, message: str) -> AddressFault:
        return AddressFault(message, field="url" if in_url else field)

    host = server.host
    if not host:
        raise wrong("host", "it names no host")
    if not _HOST.match(host) and not (":" in host and _IPV6.match(host)):
        raise wrong("host", "a host is a name or an address of a network")
    if not 1 <= server.port <= _LAST_PORT:
        raise wrong("port", "its port is not a valid one")
    for field, text in (("database", server.database), ("user", server.user)):
        if not text:
            raise wrong(field, f"it names no {field}")
        if len(text) > _LONGEST_NAME or not text.isprintable():
            raise wrong(field, f"the name of the {field} cannot be used")
