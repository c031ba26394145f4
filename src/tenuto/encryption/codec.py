"""The codec: what seals values before they reach a store, and opens them after they are read.

`Codec` is the port that the store's parts use; the key ring is one. A program that brings its own
encryption writes a class with the methods of `OwnCodec`, and names it in `encryption.codec`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, Protocol, runtime_checkable

from tenuto.encryption.envelope import brought, brought_parts, key_id_of
from tenuto.encryption.errors import (
    BAD_CODEC,
    CannotOpen,
    EncryptionError,
    damaged,
    key_missing,
    no_keys,
)

_ADVICE: Final = (
    "Name a class with key_id, encrypt(plain, about) and decrypt(key_id, encrypted, about); it is "
    "made without arguments."
)


class Codec(Protocol):
    """Seals and opens bytes; a sealed value begins with the mark of an envelope."""

    @property
    def current(self) -> str | None:
        """The id of the key that seals; None if nothing can be sealed."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the keys that are known here, the current one first."""

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """A sealed value; it is opened for the same `about` only."""

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """What was sealed for `about`; CannotOpen."""

    def blind(self, value: bytes, about: bytes, key_id: str) -> str | None:
        """A text that follows from a value and a key alone, to find equal values by.

        None: there is none, and values are compared one by one after they were opened. CannotOpen:
        the key is not known here.
        """


@runtime_checkable
class OwnCodec(Protocol):
    """The methods of a class that encrypts instead of Tenuto's own key ring.

    It is made without arguments. Its methods are called for every value, in the event loop: keys
    of a key management service are to be kept in memory.
    """

    @property
    def key_id(self) -> str:
        """The id of the key that encrypts now, of at most 64 bytes; it is stored beside values."""

    def encrypt(self, plain: bytes, about: bytes) -> bytes:
        """The encrypted value; `about`, which names its record, has to be authenticated with it."""

    def decrypt(self, key_id: str, encrypted: bytes, about: bytes) -> bytes:
        """The value; KeyError if the key is not known, ValueError if the value was changed."""


class NoKeys:
    """The codec of a process without keys: it seals nothing, and says which key it lacks."""

    @property
    def current(self) -> str | None:
        return None

    @property
    def ids(self) -> tuple[str, ...]:
        return ()

    def seal(self, plain: bytes, about: bytes) -> bytes:  # noqa: ARG002
        raise no_keys()

    def open(self, sealed: bytes, about: bytes) -> bytes:  # noqa: ARG002
        key_id = key_id_of(sealed)
        raise damaged(None) if key_id is None else key_missing(key_id, "it has no keys")

    def blind(self, value: bytes, about: bytes, key_id: str) -> str | None:  # noqa: ARG002
        raise key_missing(key_id, "it has no keys")


class Brought:
    """A codec over a class that a program brings."""

    def __init__(self, own: OwnCodec) -> None:
        self._own = own

    @property
    def current(self) -> str | None:
        return self._own.key_id

    @property
    def ids(self) -> tuple[str, ...]:
        return (self._own.key_id,)

    def seal(self, plain: bytes, about: bytes) -> bytes:
        try:
            return brought(self._own.key_id, self._own.encrypt(plain, about))
        except Exception as error:
            # What it writes may be about the value.
            said = f"the configured codec cannot encrypt: {type(error).__name__}"
            raise EncryptionError(said, code=BAD_CODEC, advice=_ADVICE) from error

    def open(self, sealed: bytes, about: bytes) -> bytes:
        parts = brought_parts(sealed)
        if parts is None:
            raise damaged(None)
        key_id, encrypted = parts
        try:
            return self._own.decrypt(key_id, encrypted, about)
        except KeyError as error:
            raise _unknown(key_id) from error
        except Exception as error:
            # Whatever a class of a program raises, it is about this value alone.
            raise damaged(key_id) from error

    def blind(self, value: bytes, about: bytes, key_id: str) -> str | None:  # noqa: ARG002
        return None


def own_codec(name: str) -> Brought:
    """The codec of a class, as `module:Class`; EncryptionError."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise _bad(f"{name!r} does not name a class as module:Class")
    try:
        made = getattr(import_module(module), attribute)()
    except Exception as error:
        raise _bad(f"the codec {name} cannot be made: {error}") from error
    if not isinstance(made, OwnCodec):
        raise _bad(f"the codec {name} lacks key_id, encrypt or decrypt")
    return Brought(made)


def _unknown(key_id: str) -> CannotOpen:
    return CannotOpen(
        f"a stored value is encrypted with the key {key_id!r}, which the configured codec does "
        "not have",
        advice=f"Give the key {key_id!r} to the codec again.",
        key_id=key_id,
    )


def _bad(message: str) -> EncryptionError:
    return EncryptionError(message, code=BAD_CODEC, advice=_ADVICE)
