"""Keys by id, and sealing with AES-256-GCM.

Each record has a key of its own, derived from the key of the ring and from what the record is about
(HKDF-Expand, RFC 5869). A nonce must not come twice under one derived key: so random nonces of 96
bits are enough, however many records there are.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Callable, Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from tenuto.encryption.envelope import MOST_ID_BYTES, NONCE_BYTES, header_of, opened
from tenuto.encryption.errors import BAD_KEYS, CannotOpen, damaged, key_missing, no_keys
from tenuto.model.errors import InvalidInput, Problem
from tenuto.ports import random_bytes

KEY_BYTES: Final = 32
MOST_DERIVED: Final = 4096
"""Derived keys that are kept in memory; beyond that all are dropped, and derived again."""
_PURPOSE: Final = b"tenuto-seal-1\x00"
_BLINDING: Final = b"tenuto-blind-1\x00"
_BETWEEN: Final = re.compile(r"[\s,;]+")
_COMMENT: Final = re.compile(r"#.*")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Key(Struct, frozen=True, kw_only=True):
    """A key and its id; its secret is never shown."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Key({self.id})"

    @property
    def text(self) -> str:
        """The key as the settings have it."""
        return f"{self.id}:{base64.b64encode(self.secret).decode()}"


class KeyRing:
    """The keys of a process; the first one, the current key, seals, and all of them open."""

    def __init__(
        self, keys: Sequence[Key] = (), random: Callable[[int], bytes] = random_bytes
    ) -> None:
        self._random = random
        self._secrets: dict[str, bytes] = {}
        self._derived: dict[tuple[str, bytes], AESGCM] = {}
        self._current: str | None = None
        self._header = b""
        self.use(keys)

    @classmethod
    def of(cls, text: str, random: Callable[[int], bytes] = random_bytes) -> KeyRing:
        """A ring of the keys in a text; InvalidInput lists all that is wrong with it."""
        return cls(keys_in(text), random)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self._secrets)})"

    def use(self, keys: Sequence[Key]) -> None:
        """Replace all keys, as after a rotation."""
        self._secrets = {key.id: key.secret for key in keys}
        self._current = keys[0].id if keys else None
        self._header = b"" if self._current is None else header_of(self._current)
        self._derived = {}

    @property
    def current(self) -> str | None:
        """The id of the key that seals; None if there are no keys."""
        return self._current

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, the current one first."""
        return tuple(self._secrets)

    def seal(self, plain: bytes, about: bytes) -> bytes:
        """A sealed value, which is opened for the same `about` only; EncryptionError: no keys."""
        if self._current is None:
            raise no_keys()
        nonce = self._random(NONCE_BYTES)
        header = self._header
        cipher = self._cipher(self._current, about)
        return header + nonce + cipher.encrypt(nonce, plain, header + about)

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """What was sealed for `about`; CannotOpen: the key is missing, or the value is damaged."""
        envelope = opened(sealed)
        if envelope is None:
            raise damaged(None)
        key_id, header, nonce, ciphertext = envelope
        if key_id not in self._secrets:
            raise self._missing(key_id)
        try:
            return self._cipher(key_id, about).decrypt(nonce, ciphertext, header + about)
        except InvalidTag as error:
            raise damaged(key_id) from error

    def blind(self, value: bytes, about: bytes, key_id: str) -> str | None:
        """A text that follows from value and key: equal values have equal ones."""
        secret = self._secrets.get(key_id)
        if secret is None:
            raise self._missing(key_id)
        key = hmac.digest(secret, _BLINDING + about + b"\x01", "sha256")
        return hmac.digest(key, value, "sha256")[:16].hex()

    def _missing(self, key_id: str) -> CannotOpen:
        known = ", ".join(self._secrets)
        return key_missing(key_id, f"it has {known}" if known else "it has no keys")

    def _cipher(self, key_id: str, about: bytes) -> AESGCM:
        cipher = self._derived.get((key_id, about))
        if cipher is None:
            derived = hmac.digest(self._secrets[key_id], _PURPOSE + about + b"\x01", "sha256")
            cipher = AESGCM(derived)
            if len(self._derived) >= MOST_DERIVED:
                self._derived = {}
            self._derived[(key_id, about)] = cipher
        return cipher


def new_key(id: str, random: Callable[[int], bytes] = random_bytes) -> Key:
    """A new key; InvalidInput for an id that is none."""
    problems = _problems_of_id(id, "NAME")
    if problems:
        raise InvalidInput("no key was made", problems)
    return Key(id=id, secret=random(KEY_BYTES))


def keys_in(text: str, path: str = "encryption.keys") -> list[Key]:
    """The keys of a text: `id:base64`, apart by commas or lines; InvalidInput lists all problems.

    No problem shows any part of a key.
    """
    found: dict[str, Key] = {}
    problems: list[Problem] = []
    words = [word for word in _BETWEEN.split(_COMMENT.sub("", text)) if word]
    for number, word in enumerate(words):
        place = f"{path}[{number}]"
        id, colon, encoded = word.partition(":")
        if not colon:
            said = "it is not written as id:base64"
            problems.append(_problem(place, said, "Write an id, a colon and the key in base64."))
            continue
        problems += _problems_of_id(id, place)
        secret = _secret_in(encoded)
        if secret is None:
            said = f"the key {_shown(id)} is not {KEY_BYTES} bytes in base64"
            advice = "Make a key with `tenuto encryption generate`."
            problems.append(_problem(place, said, advice))
        elif id in found:
            said = f"two keys have the id {_shown(id)}"
            problems.append(_problem(place, said, "Give each key an id of its own."))
        else:
            found[id] = Key(id=id, secret=secret)
    if problems:
        raise InvalidInput("the encryption keys cannot be used", problems)
    return list(found.values())


def _secret_in(encoded: str) -> bytes | None:
    try:
        secret = base64.b64decode(encoded.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return secret if len(secret) == KEY_BYTES else None


def _problems_of_id(id: str, place: str) -> list[Problem]:
    if _ID.fullmatch(id) and len(id) <= MOST_ID_BYTES:
        return []
    said = f"{_shown(id)} is not an id of a key"
    advice = f"Use letters, digits, dots, dashes and underscores, {MOST_ID_BYTES} at most."
    return [_problem(place, said, advice)]


def _shown(id: str) -> str:
    """An id in a message; one that is none may be a key in the wrong place."""
    return repr(id) if _ID.fullmatch(id) and len(id) < KEY_BYTES else "that is given"


def _problem(path: str, message: str, advice: str) -> Problem:
    return Problem(code=BAD_KEYS, path=path, message=message, advice=advice)
