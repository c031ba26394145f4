"""Encrypts stored values again with the current key, in pages, beside engines.

A value is replaced only while it is still the one that was read: what an engine writes meanwhile
stays. A run that was killed is begun again; values with the current key are passed over.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from tenuto.encryption.codec import Codec
from tenuto.encryption.envelope import MARK, beginnings_of, key_id_of
from tenuto.encryption.errors import CannotOpen, no_keys
from tenuto.encryption.secret_seals import seals_of
from tenuto.encryption.store import codec_of
from tenuto.encryption.values import (
    BLINDED,
    SEALED_KEY,
    SEALED_TEXT,
    SealedWait,
    Values,
    about_event,
    sealed_payload,
    sealed_text,
)
from tenuto.model.secret_place import about as about_secret
from tenuto.store.parts.sealed import SEALED_COLUMNS, Resealed, SealedColumn, SealedRow
from tenuto.store.protocol import Store

PAGE: Final = 500
"""Rows that are read at once."""
PASSES: Final = 3
"""A value that an engine changes meanwhile is read again, so many times at most."""
MARKS: Final = (MARK, b'{"' + SEALED_KEY.encode() + b'":"', SEALED_TEXT.encode())

_encode = msgspec.json.Encoder().encode
_decode_wait = msgspec.json.Decoder(SealedWait).decode


class Report(Struct, frozen=True, kw_only=True):
    """The encrypted values of a store."""

    by_key: Mapping[str, int]
    """How many there are of each key."""
    resealed: int = 0
    """How many were encrypted again."""
    unreadable: Mapping[str, int] = {}
    """How many of each key this process cannot open."""


class Progress(NamedTuple):
    """How far a run has got."""

    column: str
    rows: int
    """Rows of this column that were looked at."""
    resealed: int


async def status(store: Store, told: Callable[[Progress], None] = lambda _: None) -> Report:
    """How many values are encrypted with each key; reads every row that may have one."""
    by_key: Counter[str] = Counter()

    async def count(_: SealedColumn, rows: list[SealedRow]) -> int:
        by_key.update(key for row in rows if (key := _key_of(row)) is not None)
        return 0

    for column in SEALED_COLUMNS:
        await _each_page(store, column, count, told)
    return Report(by_key=dict(by_key))


async def reencrypt(
    store: Store, told: Callable[[Progress], None] = lambda _: None, page: int = PAGE
) -> Report:
    """Encrypt all values with the current key; EncryptionError if there is none."""
    codec = codec_of(store)
    current = None if codec is None else codec.current
    if codec is None or current is None:
        raise no_keys()
    await store.sealed.use([current])
    resealed = 0
    before = await store.sealed.keys()
    report = Report(by_key={})
    for _ in range(PASSES):
        run = _Run(store, codec, current)
        for column in SEALED_COLUMNS:
            await _each_page(store, column, run.reseal, told, page)
        resealed += run.resealed
        report = Report(by_key=dict(run.by_key), resealed=resealed, unreadable=dict(run.unreadable))
        if not run.overtaken:
            break
    gone = [key for key in before if key != current and not report.by_key.get(key)]
    await store.sealed.retire(gone)
    return report


class _Run:
    """One pass over all values."""

    def __init__(self, store: Store, codec: Codec, current: str) -> None:
        self._store = store
        self._values = Values(codec)
        # The key beside a store may have sealed some before there were others.
        self._secrets = seals_of(store, codec)
        self._current = current
        self.by_key: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()
        self.resealed = 0
        self.overtaken = 0
        """Values that were changed, or deleted, between reading and replacing them."""

    async def reseal(self, column: SealedColumn, rows: list[SealedRow]) -> int:
        """Encrypt the values of a page again; returns how many."""
        changes: list[Resealed] = []
        old: set[str] = set()
        for row in rows:
            key = _key_of(row)
            if key is None:
                continue
            if key == self._current:
                self.by_key[key] += 1
                continue
            try:
                changes.append(self._resealed(column, row))
                old.add(key)
            except CannotOpen:
                self.by_key[key] += 1
                self.unreadable[key] += 1
        done = await self._store.sealed.replace(column, changes)
        self.by_key[self._current] += done
        self.resealed += done
        if done < len(changes):
            # They may still have their old key: another process may encrypt with it.
            self.overtaken += len(changes) - done
            self.by_key.update(dict.fromkeys(old, len(changes) - done))
        return done

    def _resealed(self, column: SealedColumn, row: SealedRow) -> Resealed:
        codec, value = self._values.codec, row.value
        assert value is not None
        about = row.about.encode()
        if column.name == "events":
            payload = sealed_payload(msgspec.json.decode(value))
            assert payload is not None
            of_event = about_event(row.tenant, row.about)
            sealed = codec.seal(codec.open(payload, of_event), of_event)
            text = base64.b64encode(sealed).decode()
            return Resealed(row.place, value, _encode({SEALED_KEY: text}))
        if column.name == "secrets":
            of_secret = about_secret(row.tenant, row.about)
            plain = self._secrets.open(value, of_secret)
            return Resealed(row.place, value, codec.seal(plain, of_secret))
        if column.name == "reasons":
            plain = codec.open(sealed_text(value.decode()) or b"", about)
            return Resealed(
                row.place, value, self._values.sealed_text(plain.decode(), about).encode()
            )
        if column.name == "letter_errors":
            plain = codec.open(value[value.index(MARK) :], about)
            return Resealed(row.place, value, self._values.sealed_error(plain, about))
        plain = codec.open(value, about)
        sealed = codec.seal(plain, about)
        if column.name != "waits":
            return Resealed(row.place, value, sealed)
        return Resealed(row.place, value, sealed, self._terms(row.tenant, _decode_wait(plain)))

    def _terms(self, tenant: str, wait: SealedWait) -> tuple[str, str]:
        """The index terms of a wait under the current key."""
        if not wait.term_paths:
            return "", ""
        values = self._values.blinded(tenant, wait.term_paths, wait.term_values, self._current)
        if values is None:
            return "", ""
        return f"{BLINDED}{self._current}{BLINDED}{wait.term_paths}", values


async def _each_page(
    store: Store,
    column: SealedColumn,
    work: Callable[[SealedColumn, list[SealedRow]], Awaitable[int]],
    told: Callable[[Progress], None],
    page: int = PAGE,
) -> None:
    after, seen, done = column.first, 0, 0
    while True:
        rows = await store.sealed.page(column, after, page, MARKS)
        done += await work(column, rows)
        seen += len(rows)
        told(Progress(column.name, seen, done))
        if len(rows) < page:
            return
        after = rows[-1].place


def _key_of(row: SealedRow) -> str | None:
    """The id of the key of an encrypted value; None if it is a plain one."""
    value = row.value
    if value is None:
        return None
    if value.startswith(MARKS[1]):
        value = sealed_payload(msgspec.json.decode(value)) or b""
    elif value.startswith(MARKS[2]):
        value = sealed_text(value.decode()) or b""
    at = value.find(MARK)
    return None if at < 0 else key_id_of(value[at:])


async def look_back_again(store: Store) -> list[str]:
    """Let waits look back whose keys were missing and are here again; returns those keys."""
    codec = codec_of(store)
    known = () if codec is None else codec.ids
    if not known:
        return []
    back = [key for key in await store.sealed.missed() if key in known]
    for key in back:
        await store.sealed.look_again(key, beginnings_of(key))
    return back
