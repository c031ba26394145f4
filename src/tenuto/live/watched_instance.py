"""One watched instance: its log is read once for all its subscribers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from tenuto.core import InstanceState, Plan
from tenuto.live.log_reader import PAGE, LogReader
from tenuto.live.messages import Make, bytes_read, make_at_once, messages_of, parts_of
from tenuto.live.replay import Replay
from tenuto.live.tenant_share import TenantShare
from tenuto.live.window import Window
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError
from tenuto.model.log import LogRow, UnknownEntry
from tenuto.model.policy import OUTAGE_RETRY_SECONDS
from tenuto.ports import Clock
from tenuto.store.protocol import Parts

log = logging.getLogger("tenuto.live")


class WatchedInstance:
    """Follows the log from where it was when the first subscriber came."""

    def __init__(
        self,
        store: Parts,
        clock: Clock,
        plan: Plan,
        state: InstanceState,
        share: TenantShare,
        *,
        retry_seconds: float = OUTAGE_RETRY_SECONDS,
        make: Make = make_at_once,
    ) -> None:
        """`retry_seconds`: until a read is repeated that failed since the store was away."""
        self.state = state
        """As of the last entry in the window."""
        self.window = Window(state.version)
        self.replay = Replay(store, plan, state.id, share, make=make)
        self.error: TenutoError | None = None
        """Why it cannot be followed any further."""
        self.is_closed = False
        self._log = LogReader(store, state.id)
        self._share = share
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._plan = plan
        self._make = make
        self._newest = state.version
        self._at_hand: list[LogRow] = []
        """Rows that this process has just written, which need not be read."""
        self._hint = asyncio.Event()
        self._moved = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read_on())

    def hint(self, seq: int, rows: Sequence[LogRow] = ()) -> None:
        """There is an entry of this number; `rows` are the last entries, if they are in memory.

        It is called as a turn is concluded, and must be cheap.
        """
        if len(self._at_hand) + len(rows) <= PAGE:
            self._at_hand += rows
        if seq > self._newest:
            self._newest = seq
            self._hint.set()

    async def moved(self) -> None:
        """Return once there is a new message, or there will be none."""
        await self._moved.wait()

    def gone(self) -> None:
        """The log was erased; subscribers get this after the messages that are left."""
        if self.error is None:
            self._fail(NotFound(f"instance {self.state.id} is not there any more"))

    def close(self) -> None:
        """Read no further; the feeds of all subscribers break off."""
        self.is_closed = True
        self._reading.cancel()
        self.replay.close()
        self._share.left(self.window)
        self._notify()

    async def _read_on(self) -> None:
        while True:
            await self._hint.wait()
            self._hint.clear()
            try:
                await self._read()
            except StoreUnavailable as error:
                log.warning("live: log not read, retried instance=%s: %s", self.state.id, error)
                self._hint.set()
                await self._clock.sleep(self._retry_seconds)
            except Exception as error:  # noqa: BLE001 - it is logged, and raised in the feeds
                return self._fail(cannot_be_watched(self.state.id, error))

    async def _read(self) -> None:
        while self.window.end < self._newest:
            async with self._share.turn:
                began = self._share.now()
                hinted = self._newest
                rows = self._next_at_hand() or await self._log.entries(self.window.end)
                if not rows:
                    # It was erased; or this read saw less than the one that hinted at it.
                    # What was hinted at meanwhile was written after that.
                    if self._newest == hinted:
                        self._newest = self.window.end
                        return
                    continue
                for part in parts_of(rows):
                    work = partial(messages_of, self._plan, self.state, part)
                    made = await self._make(bytes_read(self.state, part), work)
                    messages, self.state = made
                    self.window.push(messages, part[-1].seq)
                    self._share.moved(self.window)
                    self._notify()
                    began = await self._share.pause(began)

    def _next_at_hand(self) -> list[LogRow]:
        """The rows in memory that follow the window without a gap; all others are dropped."""
        rows, self._at_hand = self._at_hand, []
        end = self.window.end
        following: list[LogRow] = []
        for row in rows:
            if row.seq == end + 1:
                following.append(row)
                end = row.seq
            elif row.seq > end:
                # Another process wrote in between: the rest is read together with its entries.
                break
        return following

    def _fail(self, error: TenutoError) -> None:
        self.error = error
        self._notify()

    def _notify(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()


def cannot_be_watched(instance_id: str, error: Exception) -> TenutoError:
    """The error for subscribers of an instance whose log cannot be read."""
    if isinstance(error, UnknownEntry):
        message = f"instance {instance_id} was written by a newer program: {error}"
        return TenutoError(message, code="TEN-4005")
    log.error("live: log cannot be read instance=%s", instance_id, exc_info=error)
    return TenutoError(f"it cannot be watched: {error!r}")
