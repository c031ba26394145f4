"""Signatures of Standard Webhooks: over id, timestamp and body, with a shared secret."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import quote

from tenuto.ports import Ids, SystemClock

PREFIX = "whsec_"
_LEAST, _MOST = 24, 64
"""Bytes of a secret."""
_LONGEST_MOMENT = 12
"""Digits of a timestamp in seconds."""
_VISIBLE = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")
"""Characters that are not escaped in an id; `%` is, so that no two ids are spelled alike."""


def new_secret(ids: Ids) -> str:
    """A new random secret."""
    randomness = "".join(ids.short() for _ in range(4)).encode()
    return PREFIX + base64.b64encode(hashlib.sha256(randomness).digest()).decode()


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
    return {
        "webhook-id": id,
        "webhook-timestamp": moment,
        "webhook-signature": _signature(secret, id, moment, body),
    }


def verify_signature(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance: timedelta = timedelta(minutes=5),
) -> bool:
    """Whether a request was signed with this secret a moment ago: a webhook's, or a pushed task's.

    `body` is the raw body, before anything has read it. An id that was seen before may be a
    replay: the receiver remembers ids for as long as `tolerance`.
    """
    given = {name.lower(): value for name, value in headers.items()}
    id, moment = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not (id and moment.isascii() and moment.isdigit() and len(moment) <= _LONGEST_MOMENT):
        return False
    age = SystemClock().now().timestamp() - int(moment)
    if abs(age) > tolerance.total_seconds():
        return False
    expected = _signature(secret, id, moment, body).encode()
    found = given.get("webhook-signature", "").encode(errors="surrogatepass").split()
    return any(hmac.compare_digest(each, expected) for each in found)


def _signature(secret: str, id: str, moment: str, body: bytes) -> str:
    content = f"{id}.{moment}.".encode(errors="surrogatepass") + body
    digest = hmac.new(_key(secret), content, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def header_id(id: str) -> str:
    """An id as a header value: anything but visible ASCII, and `%`, as bytes of UTF-8 (`%20`).

    Foreign text must neither break the headers nor keep a request from being sent.
    """
    return quote(id, safe=_VISIBLE, errors="surrogatepass")


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
