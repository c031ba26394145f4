"""Signed tokens, which every process of a store can verify without reading anything.

Processes of several versions may share a store. What a token says leaves out fields that it does
not use, so that all of them can read it; a process that does not know one of its fields refuses it.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from tenuto.ports import Ids
from tenuto.store.protocol import Store

_SIGNATURE_BYTES = 32
LONGEST = 8_192

Said = TypeVar("Said", bound=Struct)


class SignedTokens(Generic[Said]):
    """Signs and verifies what is said by structs of one type, which are arrays in JSON."""

    def __init__(self, store: Store, ids: Ids, type: type[Said], kept_as: str) -> None:
        """`kept_as`: the name of the secret in the store."""
        self._store = store
        self._ids = ids
        self._type = type
        self._kept_as = kept_as
        self._secret: bytes | None = None

    async def token(self, said: Said) -> str:
        """What is said, as it stands in a URL or a header."""
        text = msgspec.json.encode(_used(said))
        return urlsafe_b64encode(await self._signature(text) + text).decode().rstrip("=")

    async def said(self, token: str) -> Said | None:
        """What was given out as this token; None: nothing was."""
        if len(token) > LONGEST or not token.isascii():
            return None
        try:
            whole = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        signature, text = whole[:_SIGNATURE_BYTES], whole[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, await self._signature(text)):
            return None
        try:
            return msgspec.json.decode(text, type=self._type)
        except msgspec.MsgspecError:
            # A valid token of another version, with a field that is unknown here.
            return None

    async def _signature(self, text: bytes) -> bytes:
        if self._secret is None:
            proposed = "".join(self._ids.short() for _ in range(4)).encode()
            self._secret = await self._store.access.keep_secret(self._kept_as, proposed)
        return hmac.digest(self._secret, text, "sha256")


def _used(said: Struct) -> list[object]:
    """Its fields, up to the last that says something."""
    fields: list[object] = list(msgspec.structs.astuple(said))
    while fields[-1] is None:
        del fields[-1]
    return fields
