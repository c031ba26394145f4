"""The encryption settings of a command that opens a store by itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tenuto.encryption.settings import EncryptionSettings

_VARIABLES: Final = "TENUTO_ENCRYPTION_"
_TABLE: Final = "encryption"


def encryption_settings() -> EncryptionSettings:
    """Those of the environment and of the file in this folder; InvalidInput."""
    if not _is_configured():
        from tenuto.encryption.settings import EncryptionSettings

        return EncryptionSettings()
    from tenuto.cli.settings import configured

    return configured({}, None, None).config.encryption


def _is_configured() -> bool:
    """Whether there may be any; all settings, which load the engine, are read only then."""
    if any(each.startswith(_VARIABLES) for each in os.environ):
        return True
    from tenuto.config.file import FILE

    if not Path(FILE).exists():
        return False
    import tomllib

    try:
        return _TABLE in tomllib.loads(Path(FILE).read_text("utf-8"))
    except (OSError, ValueError):
        # Reading all settings reports what is wrong with the file.
        return True
