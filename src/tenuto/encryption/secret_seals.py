"""What seals secrets: the configured keys, else a key beside the store.

A secret is never stored without encryption. Where no keys are configured, a store in a file gets a
key file beside it, `<store>.key`, which this user alone may read, and a store in memory a key in
memory. So the first secret needs no set-up, and a copy of the database alone opens none. A database
on a server is shared by processes on several machines, which need configured keys.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from tenuto.encryption.codec import Codec
from tenuto.encryption.envelope import key_id_of
from tenuto.encryption.errors import NO_SOURCE, EncryptionError, no_keys
from tenuto.encryption.key_ring import KeyRing, keys_in, new_key
from tenuto.ports import random_bytes
from tenuto.store.protocol import Store

SUFFIX: Final = ".key"
_PRIVATE: Final = 0o600
_COMMENT: Final = (
    "# Encrypts the secrets of the store beside this file. Keep a copy of it apart from copies of\n"
    "# the store: without this key its secrets cannot be read.\n"
)


def seals_of(store: Store, codec: Codec) -> SecretSeals:
    """What seals the secrets of a store."""
    path = None if store.is_shared else store.files_at
    return SecretSeals(codec, path, is_shared=store.is_shared)


class SecretSeals:
    """Seals with the current key of a ring, else with the key of the store."""

    def __init__(self, ring: Codec, path: Path | None, *, is_shared: bool) -> None:
        """`path` is that of the store's file; None: it is in memory, or on a server."""
        self._ring = ring
        self._path = None if path is None else Path(f"{path}{SUFFIX}")
        self._is_shared = is_shared
        self._own: KeyRing | None = None

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """A sealed value, which is opened for the same `about` only; EncryptionError: no keys."""
        if self._ring.current is not None:
            return self._ring.seal(plain, about)
        if self._is_shared:
            raise no_keys()
        return self._own_ring(is_made=True).seal(plain, about)

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """What was sealed for `about`; CannotOpen: the key is missing, or the value is damaged."""
        key_id = key_id_of(sealed)
        if key_id is not None and key_id not in self._ring.ids and not self._is_shared:
            own = self._own_ring(is_made=False)
            if key_id in own.ids:
                return own.open(sealed, about)
        return self._ring.open(sealed, about)

    def _own_ring(self, *, is_made: bool) -> KeyRing:
        if self._own is None or (is_made and self._own.current is None):
            self._own = self._read(is_made=is_made)
        return self._own

    def _read(self, *, is_made: bool) -> KeyRing:
        if self._path is None:
            return KeyRing([new_key("memory")])
        try:
            if is_made:
                with suppress(FileExistsError):
                    _write_new(self._path)
            return KeyRing(keys_in(self._path.read_text("utf-8"), str(self._path)))
        except FileNotFoundError:
            return KeyRing()
        except OSError as error:
            raise EncryptionError(
                f"the key file {self._path} cannot be used: {error.strerror}",
                code=NO_SOURCE,
                advice="Give this user the right to read and write it, or configure keys.",
            ) from error


def _write_new(path: Path) -> None:
    """Make a key file with one key, whole or not at all; FileExistsError."""
    key = new_key(f"store-{random_bytes(4).hex()}")
    made = path.with_name(f"{path.name}.{random_bytes(4).hex()}")
    file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as writing:
            writing.write(f"{_COMMENT}{key.text}\n")
            writing.flush()
            os.fsync(writing.fileno())
        # A link fails where another process was first; a rename would replace its key.
        os.link(made, path)
    finally:
        made.unlink(missing_ok=True)
