"""The codec of the test kit: values count as encrypted, and can be read in a failure's output."""

from __future__ import annotations

from typing import Final

from tenuto.encryption.codec import Brought


class _Clear:
    """Hides nothing: an encrypted definition runs in a test as any other does."""

    key_id = "test-kit"

    def encrypt(self, plain: bytes, about: bytes) -> bytes:
        return plain + about

    def decrypt(self, key_id: str, encrypted: bytes, about: bytes) -> bytes:
        if key_id != self.key_id or not encrypted.endswith(about):
            raise ValueError("it is of another record")
        return encrypted[: len(encrypted) - len(about)]


KIT_CODEC: Final = Brought(_Clear())
