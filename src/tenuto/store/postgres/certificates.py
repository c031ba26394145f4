"""Finds the faulty certificate file: the driver's error does not name it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_CHECKING = frozenset({"require", "verify-ca", "verify-full"})
"""Modes in which the driver reads the authorities."""


class Unusable(NamedTuple):
    """A file that a URL names, and why it cannot be used."""

    option: str
    file: str
    why: str


def may_be_of_file(error: Exception) -> bool:
    """Whether it may come from a file: what comes from the network comes when all are read."""
    return isinstance(error, OSError) and not isinstance(
        error, ConnectionError | TimeoutError | socket.gaierror
    )


def unusable_file(options: Mapping[str, str]) -> Unusable | None:
    """The first of the files that the driver would stumble over."""
    named = [option for option in _read_by_driver(options) if options.get(option)]
    for option in named:
        file = options[option]
        try:
            Path(file).read_bytes()
        except OSError as error:
            return Unusable(option, file, error.strerror or type(error).__name__)
        if option != "sslkey" and not _holds_certificates(file):
            return Unusable(option, file, "no certificate is in it")
    if {"sslcert", "sslkey"}.issubset(named) and (why := _mismatch(options)):
        return Unusable("sslkey", options["sslkey"], why)
    return None


def _read_by_driver(options: Mapping[str, str]) -> list[str]:
    mode = options.get("sslmode", "prefer")
    authorities = ["sslrootcert", "sslcrl"] if mode in _CHECKING else []
    return [] if mode == "disable" else [*authorities, "sslcert", "sslkey"]


def _holds_certificates(file: str) -> bool:
    """Or a list of those that were revoked: both are read alike."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
    except OSError:
        return False
    return True


def _mismatch(options: Mapping[str, str]) -> str | None:
    # OpenSSL must not prompt for a password at the terminal.
    password = options.get("sslpassword", "")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_cert_chain(options["sslcert"], options["sslkey"], lambda: password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return "it is not the key of the certificate that sslcert names"
        return "no key is in it, or sslpassword is not its password"
    return None
