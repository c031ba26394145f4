"""Encrypted values: what is encrypted, with which keys, and replacing values of old keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, TypeAlias

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Script
from tenuto.store.looking import looked_for
from tenuto.store.marks import writes

Place: TypeAlias = tuple[str | int, ...]
"""The key of a row, by which pages are ordered."""

Marks: TypeAlias = tuple[bytes, bytes, bytes]
"""How encrypted bytes, encrypted JSON and encrypted texts begin."""

_OF_KEYS: Final = ""
"""In place of a tenant: marks of keys are of no tenant."""


class SealedColumn(NamedTuple):
    """A column that may have encrypted values."""

    name: str
    page: str
    """The statement that reads it."""
    put: str
    """The statement that replaces a value."""
    key: tuple[str, ...]
    first: Place
    """Before the key of every row."""
    is_text: bool = False
    """Whether its values are texts."""


SEALED_COLUMNS: Final = (
    SealedColumn(
        "entries", "sealed_entries", "put_sealed_entries", ("instance_id", "seq"), ("", 0)
    ),
    SealedColumn("snapshots", "sealed_snapshots", "put_sealed_snapshots", ("instance_id",), ("",)),
    SealedColumn("outputs", "sealed_outputs", "put_sealed_outputs", ("id",), ("",)),
    SealedColumn("last_errors", "sealed_last_errors", "put_sealed_last_errors", ("id",), ("",)),
    SealedColumn(
        "cancellations", "sealed_cancellations", "put_sealed_cancellations", ("id",), ("",)
    ),
    SealedColumn("mail", "sealed_mail", "put_sealed_mail", ("number",), (0,)),
    SealedColumn(
        "letter_inputs",
        "sealed_letter_inputs",
        "put_sealed_letter_inputs",
        ("instance_id", "id"),
        ("", ""),
    ),
    SealedColumn(
        "letter_errors",
        "sealed_letter_errors",
        "put_sealed_letter_errors",
        ("instance_id", "id"),
        ("", ""),
    ),
    SealedColumn(
        "letter_outputs",
        "sealed_letter_outputs",
        "put_sealed_letter_outputs",
        ("instance_id", "id"),
        ("", ""),
    ),
    SealedColumn(
        "waits",
        "sealed_waits",
        "put_sealed_waits",
        ("instance_id", "node", "iteration", "arm"),
        ("", "", "", ""),
    ),
    SealedColumn("events", "sealed_events", "put_sealed_events", ("number",), (0,)),
    SealedColumn("postings", "sealed_postings", "put_sealed_postings", ("number",), (0,)),
    SealedColumn(
        "reasons",
        "sealed_reasons",
        "put_sealed_reasons",
        ("instance_id", "node", "iteration", "arm", "event_id"),
        ("", "", "", "", ""),
        is_text=True,
    ),
    SealedColumn(
        "lines",
        "sealed_lines",
        "put_sealed_lines",
        ("instance_id", "step", "iteration", "attempt", "first"),
        ("", "", "", 0, 0),
    ),
    SealedColumn("secrets", "sealed_secrets", "put_sealed_secrets", ("tenant", "name"), ("", "")),
)
"""Every column with values that are encrypted, where an instance is; secrets always are."""


class SealedRow(NamedTuple):
    """A row that may have an encrypted value."""

    place: Place
    tenant: str
    """The tenant, where the value was sealed for that too; else empty."""
    about: str
    """The instance, the event or the secret that the value was sealed for."""
    value: bytes | None
    """None: it has none that could be encrypted."""


class Resealed(NamedTuple):
    """A value to be replaced, if it is still the old one."""

    place: Place
    old: bytes
    new: bytes
    terms: tuple[str, str] = ("", "")
    """Of a wait: the paths and values of its index terms."""


class Sealed(ColdPart):
    """Patterns of events that are stored encrypted, keys in use, and values by pages.

    All verbs are safe to repeat.
    """

    @writes
    async def declare(self, tenant: str, patterns: Collection[str]) -> int:
        """Store events of these patterns encrypted from now on; returns how many are new."""
        return await self._mark(tenant, "pattern", patterns)

    async def patterns(self, tenant: str) -> list[str]:
        """The patterns of events of a tenant that are stored encrypted."""
        return await self._marked(tenant, "pattern")

    @writes
    async def use(self, key_ids: Collection[str]) -> int:
        """Record keys with which values are encrypted."""
        return await self._mark(_OF_KEYS, "key", key_ids)

    async def keys(self) -> list[str]:
        """The keys with which values may be encrypted."""
        return await self._marked(_OF_KEYS, "key")

    @writes
    async def retire(self, key_ids: Collection[str]) -> None:
        """Forget keys with which no value is encrypted any more."""
        for key_id in key_ids:
            await self._unmark("key", key_id)

    @writes
    async def miss(self, key_ids: Collection[str]) -> int:
        """Record keys that were missing when events were matched."""
        return await self._mark(_OF_KEYS, "missed", key_ids)

    async def missed(self) -> list[str]:
        """The keys that were missing when events were matched."""
        return await self._marked(_OF_KEYS, "missed")

    @writes
    async def look_again(self, key_id: str, beginnings: Sequence[bytes]) -> None:
        """Let waits look back that were encrypted with a key: events may have missed them.

        `beginnings`: the first bytes of values that were encrypted with it.
        """
        for beginning in beginnings:
            which = {"beginning": beginning, "length": len(beginning)}
            await self._port.write_beside("look_back_sealed", which)
        await self._unmark("missed", key_id)

    async def page(
        self, column: SealedColumn, after: Place, limit: int, marks: Marks
    ) -> list[SealedRow]:
        """The next rows of a column; values that do not begin with one of the marks are left out.

        `marks`: of encrypted bytes, of encrypted JSON, and of encrypted texts.
        """
        which: dict[str, object] = {
            f"after_{name}": value for name, value in zip(column.key, after, strict=True)
        }
        which |= {"limit": limit, **_marks_of(column, marks)}
        found = await looked_for(self._port.rows(column.page, which), nothing=[])
        width = len(column.key)
        rows = [SealedRow(tuple(row[:width]), *row[width:]) for row in found]
        if not column.is_text:
            return rows
        return [row._replace(value=_as_bytes(row.value)) for row in rows]

    @writes
    async def replace(self, column: SealedColumn, changes: Sequence[Resealed]) -> int:
        """Replace values that are still the old ones, also beside an engine; returns how many."""
        if not changes:
            return 0

        def script() -> Script[int]:
            replaced = 0
            for change in sorted(changes):
                which: dict[str, object] = dict(zip(column.key, change.place, strict=True))
                if column.is_text:
                    which |= {"old": change.old.decode(), "new": change.new.decode()}
                else:
                    which |= {"old": change.old, "new": change.new}
                if column.name == "waits":
                    which |= {"term_paths": change.terms[0], "term_values": change.terms[1]}
                replaced += len((yield Ask(column.put, which)))
            return replaced

        return await self._port.transaction(script)

    async def _mark(self, tenant: str, kind: str, names: Collection[str]) -> int:
        added = 0
        for name in sorted(names):
            which = {"tenant": tenant, "kind": kind, "name": name}
            added += len(await self._port.write_beside("put_encryption_mark", which))
        return added

    async def _marked(self, tenant: str, kind: str) -> list[str]:
        which = {"tenant": tenant, "kind": kind}
        found = await looked_for(self._port.rows("encryption_marks", which), nothing=[])
        return [name for (name,) in found]

    async def _unmark(self, kind: str, name: str) -> None:
        which = {"tenant": _OF_KEYS, "kind": kind, "name": name}
        await self._port.write_beside("remove_encryption_mark", which)


def _as_bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _marks_of(column: SealedColumn, marks: Marks) -> dict[str, bytes | str]:
    """How encrypted values of a column begin; the mark of errors is in the midst of them."""
    if column.name == "letter_errors":
        return {}
    if column.is_text:
        return {"mark": marks[2].decode()}
    return {"mark": marks[1] if column.name == "events" else marks[0]}
