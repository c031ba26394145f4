"""What runs for schedules now: their open ticks, compared with mailbox and instances."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.ids import start_letter
from tenuto.schedules import tick_key
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.parts.schedules import ScheduleKey, TickRow
from tenuto.store.protocol import Store

MOST_OPEN = 2_000
"""The most open ticks of a schedule that are looked at at once."""
NOT_STARTED = "its start was refused"
_OLDEST = 20
"""So many of the oldest open ticks are looked at where ticks may overlap."""
_PAGE = 500


class Running(Struct, kw_only=True):
    """What a schedule has under way."""

    instances: list[str]
    """The instances of its ticks that have not ended, the oldest first."""
    queued: list[TickRow]
    """The ticks that wait for them, the oldest first."""
    changed: list[TickRow]
    """The ticks that are not as they are stored."""
    unconfirmed: int = 0
    """How many instances are still to be started, as far as is known."""


def nothing() -> Running:
    """Nothing is under way."""
    return Running(instances=[], queued=[], changed=[])


class OpenTicks:
    """Finds out what has ended, what was refused, and what still runs."""

    def __init__(self, store: Store, reason: Callable[[str], str | None]) -> None:
        """`reason`: why the start of an instance was refused, if this process has refused it."""
        self._store = store
        self._reason = reason

    async def of(
        self, keys: Collection[ScheduleKey], *, all_of: Collection[ScheduleKey]
    ) -> dict[ScheduleKey, Running]:
        """What schedules have under way; of others than `all_of` only what is not known to run.

        Of these some of the oldest are looked at, too: the process that saw an end may have died.
        """
        schedules = self._store.schedules
        found = await schedules.open_ticks(all_of, MOST_OPEN)
        others = set(keys) - set(all_of)
        found |= await schedules.open_ticks(others, MOST_OPEN, unconfirmed=True)
        for key, oldest in (await schedules.open_ticks(others, _OLDEST)).items():
            listed = found.setdefault(key, [])
            known = {tick.nominal for tick in listed}
            listed += [tick for tick in oldest if tick.nominal not in known]
        ticks = [tick for listed in found.values() for tick in listed if tick.outcome == "started"]
        waiting, statuses = await self._seen(ticks)
        running: dict[ScheduleKey, Running] = {}
        for key, listed in found.items():
            here = running[key] = nothing()
            for tick in listed:
                if tick.outcome == "queued":
                    here.queued.append(tick)
                else:
                    await self._settle(here, tick, waiting, statuses)
        return running

    async def _seen(self, ticks: Sequence[TickRow]) -> tuple[set[str], dict[str, bool]]:
        """Instances whose starts wait in the mailbox, and those that exist: which have ended.

        The mailbox is read first: an instance that is in neither is not going to be.
        """
        unsure = [each.instance_id for each in ticks if not each.is_confirmed]
        letters = [MailKey(start_letter(id), id) for id in unsure if id is not None]
        waiting = {key.instance_id for key in await self._store.mailbox.waiting(letters)}
        ids = [each.instance_id for each in ticks if each.instance_id is not None]
        statuses: dict[str, bool] = {}
        for first in range(0, len(ids), _PAGE):
            statuses |= await self._store.instances.ended(ids[first : first + _PAGE])
        return waiting, statuses

    async def _settle(
        self, here: Running, tick: TickRow, waiting: set[str], statuses: dict[str, bool]
    ) -> None:
        id = tick.instance_id
        assert id is not None  # it was started
        has_ended = statuses.get(id)
        if has_ended is False:
            here.instances.append(id)
            if not tick.is_confirmed:
                here.changed.append(replace(tick, is_confirmed=True))
        elif has_ended or tick.is_confirmed:
            # It has ended, and may be erased since.
            here.changed.append(replace(tick, is_open=False, is_confirmed=True))
        elif id in waiting:
            here.instances.append(id)
            here.unconfirmed += 1
        else:
            await self._settle_missing(here, tick, id)

    async def _settle_missing(self, here: Running, tick: TickRow, id: str) -> None:
        """Its start was taken, and it does not exist."""
        key = tick_key(tick.schedule_id, tick.nominal)
        used = await self._store.instances.used_key(tick.tenant, key)
        if used is not None:
            # The key had an instance already: that is the one of this tick.
            here.instances.append(used.instance_id)
            other = replace(tick, instance_id=used.instance_id, is_confirmed=True)
            here.changed.append(other)
            return
        reason = self._reason(id) or NOT_STARTED
        here.changed.append(replace(tick, outcome="refused", reason=reason, is_open=False))
