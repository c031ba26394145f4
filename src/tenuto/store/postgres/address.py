"""Where a database is, and how to speak of it without giving its password away."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from tenuto.model.errors import StoreUnavailable

DEFAULT_SCHEMA = "tenuto"
STORE_URL = "the URL of the PostgreSQL store"
LISTEN_URL = "the URL for listening (listen_url, TENUTO_LISTEN_URL)"

_SCHEMES = ("postgresql", "postgres")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[\w.%-]*)(?::([0-9]+))?")
_DIGITS = re.compile(r"[0-9]{1,5}")
_LAST_PORT = 65_535
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = re.compile(
    "all|analyse|analyze|and|any|array|as|asc|asymmetric|authorization|binary|both|case|cast"
    "|check|collate|collation|column|concurrently|constraint|create|cross|current_catalog"
    "|current_date|current_role|current_schema|current_time|current_timestamp|current_user"
    "|default|deferrable|desc|distinct|do|else|end|except|false|fetch|for|foreign|freeze|from"
    "|full|grant|group|having|ilike|in|initially|inner|intersect|into|is|isnull|join|lateral"
    "|leading|left|like|limit|localtime|localtimestamp|natural|not|notnull|null|offset|on|only"
    "|or|order|outer|overlaps|placing|primary|references|returning|right|select|session_user"
    "|similar|some|symmetric|system_user|table|tablesample|then|to|trailing|true|union|unique"
    "|user|using|variadic|verbose|when|where|window|with"
)
"""Words that SQL takes for its own where they stand without quotes."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,49}")
_SECRET = re.compile(r"pass(?!file)|pwd|secret|token|\.", re.IGNORECASE)
"""Options that may hold a secret; a setting with a dot in its name can hold anything."""


class Address(NamedTuple):
    """A database and the schema in it."""

    dsn: str
    """With the password: for the driver alone."""
    schema: str
    shown: str
    """Without the password: for people."""
    database: str
    """As SQL names it, for advice; like the user, a word in capitals where the URL is silent."""
    user: str

    def __repr__(self) -> str:
        return f"<{self.shown}>"


def read_address(url: str, schema: str | None = None, *, what: str = STORE_URL) -> Address:
    """Parse a URL; `?schema=` names the schema, the other options are for the driver.

    `what` the URL is stands in the refusal of one that cannot be read.
    """
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True)
        login, _, hosts = parts.netloc.rpartition("@")
    except ValueError:
        # Nothing of the text may be shown: what cannot be read may be a password.
        raise _malformed(what) from None
    is_readable = parts.scheme in _SCHEMES and all(map(_is_host, hosts.split(",")))
    # An @ or / of a password that was left as it is has torn the URL apart at the wrong place, or
    # would in the driver, which then asks the name service for a host that is half a password.
    if not is_readable or "@" in login + parts.path or not (hosts or _names_host(options)):
        raise _malformed(what)
    ports = dict(options).get("port", "")
    if ports and not all(map(_is_port, ports.split(","))):
        raise _malformed(what)
    named = schema or dict(options).get("schema") or DEFAULT_SCHEMA
    if not _NAME.fullmatch(named):
        raise StoreUnavailable(
            f"{named!r} cannot be the name of a schema",
            code="TEN-4008",
            advice="Use letters, digits and underscores, at most 50, and no digit first.",
        )
    rest = [(name, value) for name, value in options if name != "schema"]
    dsn = urlunsplit(parts._replace(query=urlencode(rest)))
    user = f"{quote(unquote(parts.username))}@" if parts.username else ""
    shown = f"postgresql://{user}{hosts}{parts.path}"
    if named != DEFAULT_SCHEMA:
        shown += f"?schema={named}"
    given = dict(options)
    role = unquote(parts.username or "") or given.get("user", "")
    database = unquote(parts.path[1:]) or given.get("database") or given.get("dbname") or role
    return Address(
        dsn, named, shown, identifier(database) or "DATABASE", identifier(role) or "USER"
    )


def identifier(name: str) -> str:
    """A name as SQL writes it."""
    if not name or (_PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name)):
        return name
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def literal(text: str) -> str:
    """A text as SQL writes it."""
    quoted = text.replace("'", "''")
    return f"'{quoted}'"


def as_typed(url: str) -> str:
    """A URL with its options and without secrets, for a person who knows the password."""
    bare = read_address(url).shown.partition("?")[0]
    options = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    known = [each for each in options if not _SECRET.search(each[0])]
    return f"{bare}?{urlencode(known, safe='/:,')}" if known else bare


def _is_host(text: str) -> bool:
    found = _HOST.fullmatch(text)
    return found is not None and (found[1] is None or _is_port(found[1]))


def _is_port(text: str) -> bool:
    return _DIGITS.fullmatch(text) is not None and 1 <= int(text) <= _LAST_PORT


def _names_host(options: list[tuple[str, str]]) -> bool:
    return any(name == "host" for name, _ in options)


def _malformed(what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{what} cannot be read",
        code="TEN-4008",
        advice="Write postgresql://user:password@host:5432/database, with % signs for special "
        "characters of the password (@ is %40, / is %2F, : is %3A).",
    )
