"""Which values of an instance `options.encrypt` names."""

from __future__ import annotations

from tenuto.model.json import JSON


def is_encrypted(encrypt: JSON, path: str) -> bool:
    """Whether `options.encrypt` names a value, one around it or one inside of it."""
    if isinstance(encrypt, dict):
        encrypt = encrypt.get("fields")
    if not isinstance(encrypt, list):
        return bool(encrypt)
    names = path.removeprefix("ctx.").split(".")
    for each in encrypt:
        parts = str(each).removeprefix("ctx.").split(".")
        length = min(len(parts), len(names))
        if parts[:length] == names[:length]:
            return True
    return False
