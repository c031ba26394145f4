"""The state of targets that all processes share, in the store.

A change is a compare-and-set on the version of the state: a process that loses reads again and
repeats its change, after a random pause that grows. Where no other process shares the store, the
state is in memory, and only what its breaker does is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from tenuto.model.errors import TenutoError
from tenuto.ports import Clock, Ids
from tenuto.store.parts.tasks import TargetRow
from tenuto.store.protocol import Store
from tenuto.targets.state import TargetState, is_quiet

log = logging.getLogger("tenuto.targets")

TargetKey: TypeAlias = tuple[str, str]
"""A tenant, and the id of one of its tasks, or another name of a target."""
Change: TypeAlias = Callable[[TargetState], TargetState]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.2
_RANDOM = 1 << 64
_decode = msgspec.json.Decoder(TargetState).decode


class States(Protocol):
    """Changes states, one change after the other."""

    async def change(self, key: TargetKey, change: Change) -> None:
        """Change a state; the change may be applied several times, and the last one counts."""
        ...

    async def drop(self, key: TargetKey) -> None:
        """Forget a target that is not in use here; its row goes if it says nothing."""
        ...


class TargetStates:
    """Reads and changes the shared states."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    async def read(self, key: TargetKey) -> TargetState:
        """The state of a target; that of a new one where there is none."""
        return (await self._read(key))[0]

    async def change(
        self, key: TargetKey, change: Change, is_declared: Callable[[], bool] = lambda: True
    ) -> None:
        """Change a state, while its task `is_declared` as a pushed one."""
        tried = 0
        while is_declared():
            state, version = await self._read(key)
            new = change(state)
            if new == state or await self._put(key, new, version + 1):
                return
            tried += 1
            await self._clock.sleep(self._pause(tried))

    async def drop(self, key: TargetKey) -> None:
        row = await self._store.tasks.target(*key)
        if row is not None and is_quiet(self._decoded(key, row)):
            await self._store.tasks.remove_target(*key, row.version)

    async def _put(self, key: TargetKey, state: TargetState, version: int) -> bool:
        row = TargetRow(version, msgspec.json.encode(state))
        return await self._store.tasks.put_target(*key, row)

    async def _read(self, key: TargetKey) -> tuple[TargetState, int]:
        row = await self._store.tasks.target(*key)
        return (TargetState(), 0) if row is None else (self._decoded(key, row), row.version)

    def _decoded(self, key: TargetKey, row: TargetRow) -> TargetState:
        try:
            return _decode(row.state)
        except msgspec.MsgspecError as error:
            message = f"the state of the target {key[1]} cannot be read: {error}"
            raise TenutoError(message) from error

    def _pause(self, tried: int) -> float:
        most = min(_FIRST_PAUSE * 2.0 ** min(tried, 16), _LONGEST_PAUSE)
        return most * (0.5 + int(self._ids.short(), 16) / _RANDOM / 2)


class LocalStates:
    """The states where one process has the store: the next process, and people, see breakers."""

    def __init__(self, shared: TargetStates) -> None:
        self._shared = shared
        self._states: dict[TargetKey, TargetState] = {}

    async def change(self, key: TargetKey, change: Change) -> None:
        state = self._states.get(key)
        if state is None:
            # Shares are those of a process that has ended.
            found = await self._shared.read(key)
            state = msgspec.structs.replace(found, shares={}, wants={})
        self._states[key] = new = change(state)
        if _breaker_of(new) != _breaker_of(state):
            try:
                kept = msgspec.structs.replace(new, shares={}, wants={})
                await self._shared.change(key, lambda _: kept)
            except TenutoError as error:
                log.warning("targets: breaker not written target=%s: %s", key[1], error)

    async def drop(self, key: TargetKey) -> None:
        if self._states.pop(key, None) is not None:
            await self._shared.drop(key)


def _breaker_of(state: TargetState) -> tuple[int | None, int | None]:
    return state.opened_at, state.open_until
