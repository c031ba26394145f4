"""The encryption settings of a command that opens a store by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenuto.encryption.settings import EncryptionSettings


def encryption_settings() -> EncryptionSettings:
    """Those of the environment and of the file in this folder; InvalidInput."""
    from tenuto.cli.settings import configured

    return configured({}, None, None).config.encryption
