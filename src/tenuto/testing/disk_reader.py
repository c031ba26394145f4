"""Instances as the disk says they are, whether or not anything runs."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from tenuto.encryption.store import encrypt
from tenuto.engine.bounds import WITHOUT_THREADS
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.model.errors import NotFound
from tenuto.model.json import JSON, Object
from tenuto.ports import SystemClock
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.waits import WaitRow
from tenuto.testing.kit_codec import KIT_CODEC
from tenuto.workspace.history import history_view

T = TypeVar("T")

_TENANT = "default"


class DiskReader:
    """Reads a memory disk; nothing of it waits for anything, so no event loop is needed."""

    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk
        self._store = encrypt(MemoryStore(disk), KIT_CODEC)
        self._known: dict[str, Held] = {}
        self._loader = Loader(
            self._store, Plans(self._store, SystemClock(), bounds=WITHOUT_THREADS)
        )

    def exists(self, instance_id: str) -> bool:
        return bool(_now(self._store.turns.load([instance_id])))

    def held(self, instance_id: str) -> Held:
        """An instance with its plan; NotFound when it never became durable."""
        known = self._known.get(instance_id)
        if known is not None and known.state.version == self._disk.log_ends.get(instance_id):
            return known
        found = _now(self._loader.load([instance_id])).get(instance_id)
        if found is None:
            raise NotFound(f"there is no instance {instance_id}")
        if not isinstance(found, Held):
            raise found
        self._known[instance_id] = found
        return found

    def note(self, draft: Draft) -> None:
        """Keep rows that a process has just written, which saves reading them."""
        self._known[draft.instance_id] = draft.held

    def ids(self) -> list[str]:
        """Every instance, the oldest first."""
        return list(self._disk.instances)

    def history(self, instance_id: str) -> list[Object]:
        rows = _now(self._store.instances.entries(instance_id, limit=1_000_000))
        return [history_view(row) for row in rows]

    def waits(self, instance_id: str) -> list[WaitRow]:
        return _now(self._store.waits.of(instance_id))

    def definition(self, id: str, version: int) -> JSON:
        row = _now(self._store.definitions.get(_TENANT, id, version))
        return None if row is None else msgspec.json.decode(row.content)


def _now(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("reading from memory waits for nothing")
