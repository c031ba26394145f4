"""Errors of PostgreSQL, translated to errors with advice for operators."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import cast

from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import DataRefused
from tenuto.store.postgres.address import Address
from tenuto.store.postgres.driver import (
    BROKEN,
    ConfigurationError,
    DataError,
    PostgresError,
    ServerError,
)
from tenuto.store.postgres.grants import grants_for_work
from tenuto.store.postgres.tls import without_tls

CONTENDED = "TEN01"
"""Raised by the turn's own statement: a write does not go through."""

READ_ONLY = "25006"

_NOT_IN_STATE = "55000"
"""Of a connection: the database accepts no connections."""

PROTOCOL_VIOLATION = "08P01"
"""Of a connection: the code that poolers send for any error."""

DENIED = "42501"
LOCKED = "55P03"
NOT_THERE = frozenset({"3F000", "42P01"})
"""No such schema, no such table."""
_NOT_AUTHORISED = "28000"
_UNKNOWN_SETTING = "42704"
_BAD_SETTING = "22023"
_QUOTED = re.compile(r'"(\w[\w.]*)"')

_AGAIN = frozenset({"40001", "40P01"})
"""The transaction was rolled back because of a conflict, and may succeed if repeated."""

_REFUSED_CLASSES = frozenset({"22", "23", "54"})
_WORK_GOES_ON = "Processes at work go on when it is back."

_OUTAGES: dict[str, tuple[str, str, str]] = {
    # One state, or a class of them by its first two characters; the longer one first.
    "28P01": (
        "TEN-4009",
        "refuses the password",
        "Correct the user or the password in the URL.",
    ),
    "28": (
        "TEN-4009",
        "refuses the user",
        "Correct the user in the URL, or let it in with a line of pg_hba.conf.",
    ),
    "3D000": (
        "TEN-4009",
        "has no such database",
        "Correct the name in the URL, or create the database: createdb NAME.",
    ),
    DENIED: (
        "TEN-4004",
        "denies this user what it needs",
        (
            "As an owner of the database run: GRANT CREATE ON DATABASE {database} TO {user}; or "
            "let the owner of the schema migrate, and run as that role: {grants}."
        ),
    ),
    READ_ONLY: (
        "TEN-4004",
        "is read-only",
        "Name the primary server, not a standby, and look at default_transaction_read_only.",
    ),
    "53100": (
        "TEN-4003",
        "cannot write: the server's disk is full",
        "Free some space on the server; processes at work go on. Nothing was lost.",
    ),
    "53200": ("TEN-4001", "has no memory left", f"Free some memory. {_WORK_GOES_ON}"),
    "53300": (
        "TEN-4010",
        "takes no more connections",
        (
            "Raise max_connections, close other programs, or put PgBouncer in between. A process "
            "of Tenuto takes up to eight."
        ),
    ),
    "53": ("TEN-4001", "lacks resources", _WORK_GOES_ON),
    LOCKED: (
        "TEN-4011",
        "has its rows locked by another program",
        "Look for long transactions in pg_stat_activity, and end them. Processes at work go on.",
    ),
    "57014": (
        "TEN-4011",
        "did not answer in time and gave up",
        "Look at pg_stat_activity for what it is busy with. Processes at work go on.",
    ),
    "57P03": ("TEN-4001", "is starting up or shutting down", _WORK_GOES_ON),
    "57": ("TEN-4001", "is shutting down", _WORK_GOES_ON),
    "25P03": ("TEN-4001", "ended a transaction that stood still for too long", _WORK_GOES_ON),
    "40": (
        "TEN-4011",
        "had to roll back again and again because others were in the way",
        "Look for programs that lock Tenuto's tables. Processes at work go on.",
    ),
    "3F000": ("TEN-4006", "has lost the schema of the store", "Restore a backup."),
    "42P01": (
        "TEN-4006",
        "has lost a table of the store",
        "Run `tenuto migrate`, which says all that is missing; and restore a backup.",
    ),
    "42": (
        "TEN-4006",
        "has other tables than this program expects",
        "Run `tenuto migrate`: it updates them, or says which are missing and what helps.",
    ),
    "58": ("TEN-4001", "reports a fault of its disk", "Look at the server's log."),
    "XX": ("TEN-4001", "reports a fault of its own", "Look at the server's log."),
    "08": ("TEN-4001", "has ended the connection", _WORK_GOES_ON),
    "0A": (
        "TEN-4001",
        "lacks something that is needed",
        "Tenuto needs PostgreSQL 14 or newer.",
    ),
}


def sqlstate(error: BaseException) -> str:
    """The server's code for an error; empty if the error is not from the server."""
    return cast("ServerError", error).sqlstate or "" if isinstance(error, PostgresError) else ""


def is_fatal(error: BaseException) -> bool:
    """Whether the server ended the connection with this error."""
    if not isinstance(error, PostgresError):
        return False
    severity = getattr(error, "severity_en", None) or getattr(error, "severity", None)
    return severity in ("FATAL", "PANIC")


def is_broken(error: BaseException) -> bool:
    """Whether the connection is gone; the statement under way may or may not have been done."""
    if isinstance(error, DataError):
        return False
    return isinstance(error, (*BROKEN, asyncio.TimeoutError)) or is_fatal(error)


def may_go_again(error: BaseException) -> bool:
    return sqlstate(error) in _AGAIN


def was_rolled_back(error: StoreUnavailable) -> bool:
    """Whether a conflict with other transactions is the cause, so that a retry may succeed."""
    return error.__cause__ is not None and may_go_again(error.__cause__)


def is_refused(error: BaseException) -> bool:
    """Whether the data are the cause, and not an outage."""
    return isinstance(error, DataError) or sqlstate(error)[:2] in _REFUSED_CLASSES


def first_line(error: BaseException | None) -> str:
    """The message in one line, without details, which may quote rows, and hints about SQL."""
    return str(error).partition("\n")[0]


def _filled(advice: str, address: Address) -> str:
    return advice.format(
        database=address.database,
        user=address.user,
        grants=grants_for_work(address.schema, address.user),
    )


def translated(error: Exception, address: Address) -> Exception:
    """The store protocol's error for an error of the driver; else the error itself."""
    if is_refused(error):
        return DataRefused(first_line(error))
    state = sqlstate(error)
    if state:
        code, what, advice = _OUTAGES.get(state) or _OUTAGES.get(
            state[:2], ("TEN-4001", "cannot do it", "Look at the server's log.")
        )
        return StoreUnavailable(
            f"{address.shown} {what} ({first_line(error)})",
            code=code,
            advice=_filled(advice, address),
        )
    if is_broken(error):
        return StoreUnavailable(
            f"the connection to {address.shown} broke "
            f"({first_line(error) or type(error).__name__})",
            advice=f"Look at the network and at the server's log. {_WORK_GOES_ON}",
        )
    return error


def translated_connect(error: Exception, address: Address) -> Exception:
    """The store protocol's error for a failed connection."""
    if sqlstate(error) == _NOT_IN_STATE:
        return StoreUnavailable(
            f"{address.shown} refuses connections ({first_line(error)})",
            code="TEN-4009",
            advice="Correct the name in the URL, or let programs in: "
            f"ALTER DATABASE {address.database} WITH ALLOW_CONNECTIONS true.",
        )
    if sqlstate(error) == DENIED:
        return StoreUnavailable(
            f"{address.shown} does not let this user in ({first_line(error)})",
            code="TEN-4009",
            advice="As an owner of the database run: "
            f"GRANT CONNECT ON DATABASE {address.database} TO {address.user}.",
        )
    if sqlstate(error) == _NOT_AUTHORISED and "not permitted to log in" in first_line(error):
        return StoreUnavailable(
            f"{address.shown} refuses the user ({first_line(error)})",
            code="TEN-4009",
            advice=f"Correct the user in the URL, or run: ALTER ROLE {address.user} LOGIN.",
        )
    if (insecure := without_tls(error, address)) is not None:
        return insecure
    if sqlstate(error) in (_UNKNOWN_SETTING, _BAD_SETTING):
        return _wrong_setting(error, address)
    if sqlstate(error) == PROTOCOL_VIOLATION:
        return StoreUnavailable(
            f"{address.shown} refuses: {first_line(error)}",
            code="TEN-4009",
            advice="Correct the URL, or look at the log and the settings of the pooler.",
        )
    if sqlstate(error) and not sqlstate(error).startswith("08"):
        return translated(error, address)
    if isinstance(error, socket.gaierror):
        return StoreUnavailable(
            f"{address.shown}: the name of the host is not known",
            code="TEN-4008",
            advice="Correct the host in the URL, or look at the name service.",
        )
    if isinstance(error, asyncio.TimeoutError):
        return StoreUnavailable(
            f"{address.shown} does not answer",
            code="TEN-4008",
            advice=f"Look at the network, and at firewalls on the way. {_WORK_GOES_ON}",
        )
    if isinstance(error, OSError):
        return StoreUnavailable(
            f"{address.shown} cannot be reached ({error.strerror or error})",
            code="TEN-4008",
            advice=f"Start the server, or correct host and port in the URL. {_WORK_GOES_ON}",
        )
    if isinstance(error, ConfigurationError | ValueError):
        # The driver's words may quote the URL.
        return StoreUnavailable(
            f"the URL of {address.shown} says something that cannot be used",
            code="TEN-4008",
            advice="Correct what stands behind the question mark of the URL.",
        )
    return translated(error, address)


def _wrong_setting(error: Exception, address: Address) -> StoreUnavailable:
    # The server names the setting first; its value is not repeated.
    named = _QUOTED.search(str(error))
    name = named[1] if named else "something"
    is_unknown = sqlstate(error) == _UNKNOWN_SETTING
    what = "which the server does not know" if is_unknown else "to what the server does not take"
    return StoreUnavailable(
        f"the URL of {address.shown} sets {name}{',' if is_unknown else ''} {what}",
        code="TEN-4008",
        advice="Correct what stands behind the question mark of the URL.",
    )
