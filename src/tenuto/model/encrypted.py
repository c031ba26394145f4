"""Which values of an instance `options.encrypt` names."""

from __future__ import annotations

from tenuto.model.json import JSON


def is_encrypted(encrypt: JSON, path: str) -> bool:
    """Whether `options.encrypt` names a value, one around it or one inside of it."""
    if isinstance(encrypt, dict):
        encrypt = encrypt.get("fields")
    if not isinstance(encrypt, list):
        return bool(encrypt)
    names = _names(path)
    for each in encrypt:
        parts = _names(str(each))
        length = min(len(parts), len(names))
        if parts[:length] == names[:length]:
            return True
    return False


def _names(path: str) -> list[str]:
    """The names of a path below `ctx`: `items[0].id` has three."""
    return path.removeprefix("ctx.").replace("[", ".").replace("]", "").split(".")
