"""The bytes of a sealed value: mark, version, key id, nonce, ciphertext.

The mark begins with a byte that begins no JSON, no UTF-8 text and no MessagePack, so that a sealed
value is recognised by itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MARK: Final = b"\xc1TEN"
"""The first bytes of every sealed value, whatever codec sealed it."""
VERSION: Final = 1
NONCE_BYTES: Final = 12
MOST_ID_BYTES: Final = 64
_HEADER: Final = MARK + bytes((VERSION,))
_ID_AT: Final = len(_HEADER) + 1


class Envelope(NamedTuple):
    """The parts of a sealed value."""

    key_id: str
    header: bytes
    """All before the nonce; authenticated with the ciphertext."""
    nonce: bytes
    ciphertext: bytes


def is_sealed(value: bytes) -> bool:
    """Whether the bytes are a sealed value."""
    return value.startswith(MARK)


def header_of(key_id: str) -> bytes:
    """What every value begins with that was sealed with a key."""
    name = key_id.encode()
    return _HEADER + bytes((len(name),)) + name


def opened(sealed: bytes) -> Envelope | None:
    """The parts of a sealed value; None if it is none, or has another version."""
    if not sealed.startswith(_HEADER) or len(sealed) < _ID_AT:
        return None
    nonce_at = _ID_AT + sealed[_ID_AT - 1]
    text_at = nonce_at + NONCE_BYTES
    if len(sealed) < text_at:
        return None
    try:
        key_id = sealed[_ID_AT:nonce_at].decode()
    except UnicodeDecodeError:
        return None
    return Envelope(key_id, sealed[:nonce_at], sealed[nonce_at:text_at], sealed[text_at:])


def key_id_of(sealed: bytes) -> str | None:
    """The id of the key that opens a sealed value; None for all other bytes."""
    envelope = opened(sealed)
    return None if envelope is None else envelope.key_id
