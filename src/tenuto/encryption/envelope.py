"""The bytes of a sealed value: mark, version, key id, nonce, ciphertext.

The mark begins with a byte that begins no JSON, no UTF-8 text and no MessagePack, so that a sealed
value is recognised by itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MARK: Final = b"\xc1TEN"
"""The first bytes of every sealed value, whatever codec sealed it."""
VERSION: Final = 1
BROUGHT: Final = 2
"""The version of values that a class of the program has encrypted: they have no nonce of ours."""
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
    """The parts of a value that a key ring sealed; None if it is none."""
    if not sealed.startswith(_HEADER):
        return None
    found = _key_and_rest(sealed)
    if found is None:
        return None
    key_id, nonce_at = found
    text_at = nonce_at + NONCE_BYTES
    if len(sealed) < text_at:
        return None
    return Envelope(key_id, sealed[:nonce_at], sealed[nonce_at:text_at], sealed[text_at:])


def brought(key_id: str, encrypted: bytes) -> bytes:
    """A value that a class of the program has encrypted, as it is stored."""
    name = key_id.encode()
    return MARK + bytes((BROUGHT, len(name))) + name + encrypted


def brought_parts(sealed: bytes) -> tuple[str, bytes] | None:
    """The key id and the encrypted value of such a one; None if it is none."""
    if not sealed.startswith(MARK + bytes((BROUGHT,))):
        return None
    found = _key_and_rest(sealed)
    return None if found is None else (found[0], sealed[found[1] :])


def key_id_of(sealed: bytes) -> str | None:
    """The id of the key that opens a sealed value; None for all other bytes."""
    if not sealed.startswith(MARK):
        return None
    found = _key_and_rest(sealed)
    return None if found is None else found[0]


def _key_and_rest(sealed: bytes) -> tuple[str, int] | None:
    """The key id of a sealed value, and where what follows it begins."""
    if len(sealed) < _ID_AT:
        return None
    rest_at = _ID_AT + sealed[_ID_AT - 1]
    if len(sealed) < rest_at:
        return None
    try:
        return sealed[_ID_AT:rest_at].decode(), rest_at
    except UnicodeDecodeError:
        return None


def beginnings_of(key_id: str) -> list[bytes]:
    """The first bytes of all values that a key has sealed, whatever codec used it."""
    name = key_id.encode()
    return [MARK + bytes((version, len(name))) + name for version in (VERSION, BROUGHT)]
