"""Why no encrypted connection came about, as far as the driver and the server tell."""

from __future__ import annotations

import ssl
from urllib.parse import parse_qsl, urlsplit

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres.address import Address
from tenuto.store.postgres.certificates import may_be_of_file, unusable_file
from tenuto.store.postgres.driver import ConfigurationError

_REFUSED = "rejected SSL upgrade"
"""The driver's words for a server that does not speak TLS."""
_NO_ROOT = "root certificate file"
_NOT_LET_IN = "pg_hba.conf"
_CLIENT = "valid client certificate"
_MODES = frozenset({"disable", "allow", "prefer", "require", "verify-ca", "verify-full"})

_EXPIRED = 10
_OTHER_NAME = frozenset({62, 64})
_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})


def without_tls(error: Exception, address: Address) -> StoreUnavailable | None:
    """The refusal, if the error is about the requested encryption; None for other errors."""
    mode = _mode(address)
    words = str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return _mistrusted(error, address, mode)
    if may_be_of_file(error) and (unusable := unusable_file(_options(address))) is not None:
        return _refusal(
            f"the file {unusable.file}, which the URL of {address.shown} names as "
            f"{unusable.option}, cannot be used ({unusable.why})",
            f"Correct {unusable.option} in the URL, or the file.",
        )
    if isinstance(error, ssl.SSLError):
        return _refusal(
            f"no encrypted connection to {address.shown} came about ({error.reason or words})",
            "Look at sslcert, sslkey and sslrootcert in the URL, and at the versions of TLS that "
            "the server takes.",
        )
    if isinstance(error, ConnectionError) and _REFUSED in words:
        return _refusal(
            f"{address.shown} does not speak TLS, and {mode or 'the URL'} asks for it",
            "Switch it on in the server (ssl = on, ssl_cert_file, ssl_key_file); or, on a network "
            "without eavesdroppers, write sslmode=disable in the URL.",
        )
    if isinstance(error, ConfigurationError) and words.startswith(_NO_ROOT):
        return _refusal(
            f"{address.shown}: {mode or 'the URL'} asks for a known authority, and there is no "
            "file that names one",
            "Name the certificate of the authority in the URL, sslrootcert=FILE, or put it to "
            "~/.postgresql/root.crt.",
        )
    if _NOT_LET_IN in words and mode == "sslmode=disable":
        # Without that word the driver has tried both ways.
        return _refusal(
            f"{address.shown} refuses this user on a connection that is not encrypted, as {mode} "
            "asks for",
            "Write sslmode=require, or better verify-full, in the URL; or let this user in with a "
            "line of pg_hba.conf.",
        )
    if _CLIENT in words:
        return _refusal(
            f"{address.shown} asks for a certificate of the client",
            "Name it in the URL: sslcert=FILE and sslkey=FILE.",
        )
    return None


def _mistrusted(
    error: ssl.SSLCertVerificationError, address: Address, mode: str
) -> StoreUnavailable:
    said = error.verify_message
    if error.verify_code in _OTHER_NAME:
        return _refusal(
            f"the certificate of {address.shown} is for another name ({said})",
            "Write the host in the URL as the certificate names it; or give the server a "
            "certificate for this name.",
        )
    if error.verify_code == _EXPIRED:
        return _refusal(
            f"the certificate of {address.shown} has expired", "Give the server a new one."
        )
    what = (
        "of an authority that is not known"
        if error.verify_code in _UNKNOWN_AUTHORITY
        else "not to be trusted"
    )
    return _refusal(
        f"the certificate of {address.shown} is {what} ({said}), and "
        f"{mode or 'the URL'} asks for one that is",
        "Name the certificate of its authority in the URL, sslrootcert=FILE, or put it to "
        "~/.postgresql/root.crt.",
    )


def _mode(address: Address) -> str:
    """What the URL says, if that can be said again."""
    given = _options(address).get("sslmode", "")
    return f"sslmode={given}" if given in _MODES else ""


def _options(address: Address) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address.dsn).query))


def _refusal(message: str, advice: str) -> StoreUnavailable:
    return StoreUnavailable(message, code="TEN-4017", advice=advice)
