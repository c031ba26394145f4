"""Signatures of Standard Webhooks: over id, timestamp and body, with a shared secret."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

PREFIX = "whsec_"
_LEAST, _MOST = 24, 64
"""Bytes of a secret."""
_VISIBLE = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")
"""Characters that are not escaped in an id; `%` is, so that no two ids are spelled alike."""


def new_secret(randomness: str) -> str:
    """A new random secret."""
    return PREFIX + base64.b64encode(hashlib.sha256(randomness.encode()).digest()).decode()


def secret_problem(secret: str) -> str | None:
    """Why a text is no valid secret."""
    if not secret.startswith(PREFIX):
        return f"a secret begins with {PREFIX}"
    try:
        size = len(_key(secret))
    except binascii.Error:
        return f"what follows {PREFIX} is not base64"
    if _LEAST <= size <= _MOST:
        return None
    return f"a secret has {_LEAST} to {_MOST} bytes, this one has {size}"


def signed_headers(secret: str, id: str, at: datetime, body: bytes) -> Mapping[str, str]:
    """The headers with id, timestamp and signature."""
    id = header_id(id)
    moment = str(int(at.timestamp()))
    content = f"{id}.{moment}.".encode() + body
    digest = hmac.new(_key(secret), content, hashlib.sha256).digest()
    return {
        "webhook-id": id,
        "webhook-timestamp": moment,
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def header_id(id: str) -> str:
    """An id as a header value: anything but visible ASCII, and `%`, as bytes of UTF-8 (`%20`).

    Foreign text must neither break the headers nor keep a request from being sent.
    """
    return quote(id, safe=_VISIBLE, errors="surrogatepass")


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
