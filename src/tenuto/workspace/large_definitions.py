"""Saves and validates large documents, which another process reads."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from tenuto.definition.compiler import invalid_definition
from tenuto.engine.definitions.plans import is_there
from tenuto.engine.definitions.reading import Reading
from tenuto.model.errors import Conflict, Problem
from tenuto.store.protocol import Parts
from tenuto.workspace.definitions import (
    Definitions,
    Saved,
    as_warnings,
    candidate_ids,
    is_taken,
)
from tenuto.workspace.own_limits import of_new_version
from tenuto.workspace.source import Source


class Unread(Protocol):
    """A document that is read elsewhere: only what saving needs to know of it comes here."""

    async def read(self, *, id: str | None = None, is_saved: bool = False) -> Reading:
        """Read it; under this id, where it has none. `is_saved`: see `read_document`."""
        ...


class LargeDefinitions:
    """The definitions of one tenant, for documents that are read elsewhere."""

    __slots__ = ("_definitions", "_source", "_tenant")

    def __init__(self, source: Source, tenant: str, definitions: Definitions) -> None:
        self._source = source
        self._tenant = tenant
        self._definitions = definitions

    async def create(self, document: Unread) -> Saved:
        """Save a new definition; see `Definitions.create`."""
        reading = await self._read(document)
        if not reading.is_valid:
            raise invalid_definition(reading.problems)
        if not reading.has_id:
            return await self._create_named(document, reading.slug)
        assert reading.id is not None
        there = await self._seen.definitions.get(self._tenant, reading.id)
        if is_there(there):
            raise is_taken(reading.id)
        try:
            return await self._save(reading, 0 if there is None else there.version)
        except Conflict:
            raise is_taken(reading.id) from None

    async def _create_named(self, document: Unread, base: str) -> Saved:
        for id in candidate_ids(base, self._source.ids):
            if await self._seen.definitions.get(self._tenant, id) is None:
                with suppress(Conflict):
                    return await self._save(await self._read(document, id=id), only_after=0)
        raise is_taken(base)

    async def save(self, document: Unread, *, only_after: int | None = None) -> Saved:
        """Save a definition that has an id, and say whether that made a new version.

        One that is the newest version already is read by the rules of its time.
        """
        reading = await self._read(document)
        if not reading.is_valid:
            id, seen = reading.id, self._seen
            row = None if id is None else await seen.definitions.get(self._tenant, id)
            if is_there(row) and row.content_hash == reading.digest:
                reading = await document.read(is_saved=True)
        return await self._save(reading, only_after)

    async def problems(self, document: Unread) -> tuple[bool, tuple[Problem, ...]]:
        """Whether a document is valid, and all its problems."""
        reading = await self._read(document)
        return reading.is_valid, await self._problems(reading)

    async def _read(self, document: Unread, *, id: str | None = None) -> Reading:
        """Read it elsewhere, and parse its code here, where the sandbox is."""
        reading = await document.read(id=id)
        found = await self._source.plans.code.problems(reading.code, self._tenant)
        if any(each.severity == "error" for each in found):
            reading = replace(reading, is_valid=False, version=None)
        return replace(reading, problems=(*reading.problems, *found)) if found else reading

    async def _save(self, reading: Reading, only_after: int | None) -> Saved:
        version = reading.version
        if version is None:
            raise invalid_definition(reading.problems)
        before = await self._seen.definitions.get(self._tenant, version.id)
        row = await self._source.plans.save_version(self._tenant, version, only_after)
        lowered = await of_new_version(self._source.store, before, row.version)
        return Saved(
            id=row.id,
            version=row.version,
            problems=(*as_warnings(await self._problems(reading)), *lowered),
            is_new=row.version != (0 if before is None else before.version),
            before=before,
            digest=version.digest,
        )

    async def _problems(self, reading: Reading) -> tuple[Problem, ...]:
        if not reading.is_valid:
            return reading.problems
        undeclared = await self._definitions.undeclared(reading.tasks)
        unknown = await self._definitions.unknown_calendars(reading.calendars)
        queries = await self._definitions.unknown_queries(reading.queries)
        secrets = await self._definitions.unknown_secrets(reading.secrets)
        return (*reading.problems, *undeclared, *unknown, *queries, *secrets)

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)
