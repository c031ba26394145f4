"""The errors of encryption, each with its code and advice."""

from __future__ import annotations

from typing import Final

from tenuto.model.errors import Conflict

NO_KEYS: Final = "TEN-4120"
BAD_KEYS: Final = "TEN-4121"
KEY_MISSING: Final = "TEN-4122"
DAMAGED: Final = "TEN-4123"
NO_SOURCE: Final = "TEN-4124"
BAD_CODEC: Final = "TEN-4125"


class EncryptionError(Conflict):
    """Encryption is not possible as it is configured."""

    code = NO_KEYS


class CannotOpen(EncryptionError):
    """A sealed value that this process cannot read; `key_id` is the key that it needs."""

    code = KEY_MISSING

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        advice: str | None = None,
        key_id: str | None = None,
    ) -> None:
        super().__init__(message, code=code, advice=advice)
        self.key_id = key_id


def no_keys() -> EncryptionError:
    return EncryptionError(
        "no encryption keys are configured",
        code=NO_KEYS,
        advice="Make a key with `tenuto encryption generate`, and set TENUTO_ENCRYPTION_KEYS.",
    )


def key_missing(key_id: str, known: str) -> CannotOpen:
    return CannotOpen(
        f"a stored value is encrypted with the key {key_id!r}, which this process does not have "
        f"({known})",
        code=KEY_MISSING,
        advice=f"Add the key {key_id!r} to the encryption keys again, behind the current one.",
        key_id=key_id,
    )


def damaged(key_id: str | None) -> CannotOpen:
    said = "" if key_id is None else f" with the key {key_id!r}"
    return CannotOpen(
        f"an encrypted value cannot be opened{said}: it was changed, or belongs to another record, "
        "or another key has this id",
        code=DAMAGED,
        advice="Look whether the key of this id is the one that encrypted it; else restore a "
        "backup.",
        key_id=key_id,
    )
