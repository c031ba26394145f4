"""Execution ids and lease tokens.

An id names the attempt and is the same for every grant. A token is signed for one tenant, attempt,
grant and purpose with a secret that all processes of a store share, so that each of them can verify
it without reading anything. A worker shows its token beside its credential; the token in the URL of
a callback is a credential by itself: neither is taken in the place of the other.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from typing import Literal, TypeAlias

import msgspec

from tenuto.store.parts.jobs import JobKey, Lease

Purpose: TypeAlias = Literal["pull", "push"]
"""What a token is for: the reports of a worker, or the callback of a pushed task."""

KEPT_AS = "lease-tokens"
"""The name of the secret in the store."""
_SIGNATURE_BYTES = 16
_OF_SECRETS = "s"
"""The end of a token of an attempt whose input has secrets; no other signature has this letter."""
_MOST_DIGITS = 18

_decode = msgspec.json.Decoder(tuple[str, str, str, int]).decode


def execution_id(key: JobKey) -> str:
    """The id of an attempt, as workers see it."""
    return urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def key_of(id: str) -> JobKey | None:
    """The attempt that an id names, if it is one."""
    try:
        key = JobKey(*_decode(urlsafe_b64decode(id + "=" * (-len(id) % 4))))
    except (msgspec.MsgspecError, NotBase64, ValueError):
        return None
    # Base64 has several spellings: only one is valid here.
    return key if execution_id(key) == id else None


def has_secrets(token: str) -> bool:
    """Whether the attempt of a token was given secrets, which its report may repeat."""
    return token.endswith(_OF_SECRETS)


class Tokens:
    """Signs and verifies the lease tokens of one purpose."""

    def __init__(self, secret: bytes, purpose: Purpose = "pull") -> None:
        self._secret = secret
        # Tokens of workers are as they were before there were purposes, so that leases stay valid
        # while processes of several versions share a store.
        self._purpose = () if purpose == "pull" else (purpose,)

    def of(self, tenant: str, lease: Lease, *, has_secrets: bool = False) -> str:
        """The token of a lease; `has_secrets`: whether the input that it is granted has some."""
        end = _OF_SECRETS if has_secrets else ""
        return f"{lease.token}.{self._signature(tenant, lease, end)}"

    def lease(self, tenant: str, key: JobKey, token: str) -> Lease | None:
        """The lease that a token was given for; None: it is no such token."""
        number, _, signature = token.partition(".")
        if not number.isascii() or not number.isdigit() or len(number) > _MOST_DIGITS:
            return None
        lease = Lease(key, int(number))
        end = _OF_SECRETS if has_secrets(token) else ""
        expected = self._signature(tenant, lease, end).encode()
        is_ours = hmac.compare_digest(signature.encode("utf-8", "replace"), expected)
        return lease if is_ours else None

    def _signature(self, tenant: str, lease: Lease, end: str) -> str:
        signed = msgspec.json.encode((tenant, *lease.key, lease.token, *self._purpose, *end))
        digest = hmac.digest(self._secret, signed, "sha256")
        return digest[:_SIGNATURE_BYTES].hex() + end
