"""Values as they are recorded: without secrets, and bounded in size."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tenuto.model.json import JSON
from tenuto.model.secret_names import is_secret_name
from tenuto.model.secret_text import HIDDEN, whole_text, without_secret_text

_OF_KEYS = "key"
"""The field of an API key. In the values of workflows it is a name like any other."""
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
    return whole_text(cut.replace("\0", "\\u0000"))


def _is_secret(name: str) -> bool:
    return name.lower() == _OF_KEYS or is_secret_name(name)


def without_secrets(value: object) -> JSON:
    """A value without what looks like a secret or has the name of one."""
    match value:
        case str():
            return without_secret_text(value)
        case Mapping():
            return {
                whole_text(str(name)): HIDDEN
                if each is not None and _is_secret(str(name))
                else without_secrets(each)
                for name, each in value.items()
            }
        case list() | tuple():
            return [without_secrets(each) for each in value]
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)
