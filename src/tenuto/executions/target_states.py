"""The state of push addresses that all processes share, in the store.

A change is a compare-and-set on the version of the state: a process that loses reads again and
repeats its change, after a random pause that grows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from tenuto.executions.push_target import TargetState
from tenuto.model.errors import TenutoError
from tenuto.ports import Clock, Ids
from tenuto.store.parts.tasks import TargetRow
from tenuto.store.protocol import Store

TargetKey: TypeAlias = tuple[str, str]
"""A tenant, and the id of one of its tasks."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.2
_RANDOM = 1 << 64
_decode = msgspec.json.Decoder(TargetState).decode


class TargetStates:
    """Reads and changes the shared states."""

    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    async def read(self, key: TargetKey) -> TargetState:
        """The state of an address; that of a new one where there is none."""
        return (await self._read(key))[0]

    async def change(
        self,
        key: TargetKey,
        change: Callable[[TargetState], TargetState],
        is_declared: Callable[[], bool],
    ) -> None:
        """Change a state, while its task `is_declared` as a pushed one."""
        tried = 0
        while is_declared():
            state, version = await self._read(key)
            new = change(state)
            if new == state:
                return
            row = TargetRow(version + 1, msgspec.json.encode(new))
            if await self._store.tasks.put_target(*key, row):
                return
            tried += 1
            await self._clock.sleep(self._pause(tried))

    async def _read(self, key: TargetKey) -> tuple[TargetState, int]:
        row = await self._store.tasks.target(*key)
        if row is None:
            return TargetState(), 0
        try:
            return _decode(row.state), row.version
        except msgspec.MsgspecError as error:
            message = f"the state of the push address of task {key[1]} cannot be read: {error}"
            raise TenutoError(message) from error

    def _pause(self, tried: int) -> float:
        most = min(_FIRST_PAUSE * 2.0 ** min(tried, 16), _LONGEST_PAUSE)
        return most * (0.5 + int(self._ids.short(), 16) / _RANDOM / 2)
