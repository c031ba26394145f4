"""Values as they are recorded: without secrets, and bounded in size."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from tenuto.model.json import JSON

_SECRET_NAME = re.compile(
    r"key|.*(?:secret|passw|token|authorization|credential|cookie|api.?key|private.?key).*",
    re.IGNORECASE | re.DOTALL,
)
_SECRET_TEXT = re.compile(
    r"tnt_[0-9a-f]+_\w+|whsec_[\w+/=]+|(?<=://)[^/@\s]+(?=@)"
    r"|(?<![\w-])(?=[\w-]++\.[\w-]++\.)[\w-]*?eyJ[\w-]+\.[\w-]+\.[\w-]*"
)
"""API keys, secrets of webhooks, credentials in a URL, and tokens.

The text comes from outside, so that the search has to be linear in its length. A token is therefore
looked for once in each word, from its beginning, and only where the two dots follow: tried anew at
each `eyJ`, a long word would be read as often as it has one.
"""
_SIGNS = ("tnt_", "whsec_", "://", "eyJ")
"""Every such text has one of them; a quick test, since every request is logged."""
_HIDDEN = "…"
_MOST_BYTES = 16_000
_MOST_TEXT = 500

_encode = msgspec.json.Encoder(order="deterministic").encode


def recorded(value: object) -> bytes | None:
    """A value as the audit log keeps it; None where there is none."""
    if value is None:
        return None
    plain = msgspec.to_builtins(value, str_keys=True)
    # First by the size that came in: what is too large is not searched.
    if (size := _size(plain)) > _MOST_BYTES:
        return _encode({"tooLarge": size})
    text = _encode(without_secrets(plain))
    return text if len(text) <= _MOST_BYTES else _encode({"tooLarge": len(text)})


def _size(plain: object) -> int:
    try:
        return len(_encode(plain))
    except UnicodeEncodeError:
        # Unpaired surrogates, which are replaced later; the size is about the same.
        return len(repr(plain))


def storable(text: str) -> str:
    """A text that every store takes, and that is not endless."""
    cut = text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"
    return _text(cut.replace("\0", "\\u0000"))


def _text(text: str) -> str:
    """Without unpaired surrogates, which JavaScript may send."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def without_secrets(value: object) -> JSON:
    """A value without what looks like a secret or has the name of one."""
    match value:
        case str():
            text = _text(value)
            if any(sign in text for sign in _SIGNS):
                return _SECRET_TEXT.sub(_HIDDEN, text)
            return text
        case Mapping():
            return {
                _text(str(name)): _HIDDEN
                if each is not None and _SECRET_NAME.fullmatch(str(name))
                else without_secrets(each)
                for name, each in value.items()
            }
        case list() | tuple():
            return [without_secrets(each) for each in value]
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)
