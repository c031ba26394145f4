"""The settings of encryption."""

from __future__ import annotations

from msgspec import Struct


class EncryptionSettings(Struct, frozen=True, kw_only=True):
    """Where the encryption keys are; at most one of the three is set."""

    keys: str | None = None
    """Encryption keys as `id:base64`, apart by commas, the current one first; never shown."""
    keys_file: str | None = None
    """A file with such keys, one in a line; read again when it changes."""
    keys_command: str | None = None
    """A command that prints such keys, as of a key management service; run without a shell."""
    codec: str | None = None
    """A class that encrypts instead, as `module:Class`; see the how-to about encryption."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is configured."""
        return not (self.keys or self.keys_file or self.keys_command or self.codec)

    def __repr__(self) -> str:
        return f"EncryptionSettings(keys_file={self.keys_file!r}, codec={self.codec!r})"
