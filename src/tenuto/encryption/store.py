"""A store whose values are sealed and opened by a codec."""

from __future__ import annotations

from datetime import datetime

from tenuto.encryption.codec import Codec
from tenuto.encryption.errors import no_keys
from tenuto.encryption.parts import WRAPPERS, Sealing
from tenuto.encryption.values import Values
from tenuto.model.events import Event
from tenuto.store.protocol import PARTS, Parts, Store


class Around:
    """Stands around the parts of one store."""

    def __init__(self, raw: Parts, codec: Codec) -> None:
        self.sealing = Sealing(Values(codec), raw)

    def __call__(self, parts: Parts) -> Parts:
        found = {name: getattr(parts, name) for name in PARTS}
        wrapped = {name: made(found[name], self.sealing) for name, made in WRAPPERS.items()}
        return Parts(**{**found, **wrapped})


def encrypt(store: Store, codec: Codec) -> Store:
    """The same store, whose parts seal and open with `codec`; a second call replaces the codec."""
    if isinstance(store.around, Around):
        store.around.sealing.values.codec = codec
        return store
    around = Around(Parts(**{name: getattr(store, name) for name in PARTS}), codec)
    wrapped = around(around.sealing.raw)
    for name in PARTS:
        setattr(store, name, getattr(wrapped, name))
    store.around = around
    return store


def codec_of(store: Store) -> Codec | None:
    """The codec of a store; None if it has none."""
    around = store.around
    return around.sealing.values.codec if isinstance(around, Around) else None


async def refuse_plain(store: Store, event: Event, now: datetime) -> None:
    """EncryptionError for an event that has to be encrypted, in a process without keys."""
    around = store.around
    if isinstance(around, Around) and await around.sealing.lacks_keys_for(event, now):
        raise no_keys()


def can_seal(store: Store) -> bool:
    """Whether new values can be encrypted."""
    codec = codec_of(store)
    return codec is not None and codec.current is not None
