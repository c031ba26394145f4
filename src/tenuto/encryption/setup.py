"""The codec that the settings name, and keys that change while a process runs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from tenuto.encryption.codec import Codec, NoKeys, own_codec
from tenuto.encryption.settings import EncryptionSettings
from tenuto.encryption.store import codec_of
from tenuto.model.errors import TenutoError
from tenuto.ports import Clock
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.encryption")

EVERY: Final = 5.0
"""Seconds between looks at the file of keys."""
SETTLED: Final = 3
"""After so many looks every process has read the file."""


def made_codec(settings: EncryptionSettings | None) -> Codec:
    """The codec of the settings; InvalidInput, EncryptionError."""
    if settings is None or settings.is_empty:
        return NoKeys()
    if settings.codec is not None:
        return own_codec(settings.codec)
    # What encrypts is loaded where there are keys.
    from tenuto.encryption.key_ring import KeyRing  # noqa: PLC0415
    from tenuto.encryption.sources import read_keys  # noqa: PLC0415

    return KeyRing(read_keys(settings))


async def follow_keys(
    store: Store, settings: EncryptionSettings, clock: Clock, every: float = EVERY
) -> None:
    """Use the keys of the file whenever it has changed; runs until it is cancelled."""
    codec = codec_of(store)
    if settings.keys_file is None or settings.codec is not None:
        return
    from tenuto.encryption.key_ring import KeyRing  # noqa: PLC0415
    from tenuto.encryption.rotation import look_back_again  # noqa: PLC0415
    from tenuto.encryption.sources import read_keys  # noqa: PLC0415

    assert isinstance(codec, KeyRing)
    path = Path(settings.keys_file)
    seen = _state(path)
    while True:
        await clock.sleep(every)
        now = _state(path)
        if now == seen:
            continue
        seen = now
        try:
            keys = read_keys(settings)
            # Other processes read the same file: each knows a new key before one encrypts with it.
            codec.use(sorted(keys, key=lambda key: key.id != codec.current))
            await look_back_again(store)
            await clock.sleep(SETTLED * every)
            codec.use(keys)
            log.info("encryption keys: %s; %s encrypts", ", ".join(codec.ids), codec.current)
        except TenutoError as error:
            # The keys of before stay in use.
            log.error("encryption keys are not read again: %s", error)  # noqa: TRY400


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
