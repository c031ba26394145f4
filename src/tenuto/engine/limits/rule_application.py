"""Applies rules of the queue to what waits, and says which rules this process decides by.

A rule is saved first. Each process learns of it, ends the turns under way, and then says that it
knows the rule. Once all living ones do, every request that was decided without the rule is durable,
and one look through all that waits finds it. A rule stays `unapplied` until that look is over: if
the process dies before, another applies it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tenuto.core.queue_rules import Judged, matches
from tenuto.core.slots import slot_of
from tenuto.engine.events.slices import Slices
from tenuto.engine.limits.known_limits import KnownLimits
from tenuto.engine.shared import Shared
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.turns import Turns
from tenuto.store.parts.rule_progress import UnappliedRule
from tenuto.store.parts.slot_rows import QueueRuleRow

PAGE = 200
"""How many waiting instances are judged at once."""
PATIENCE = 5.0
"""Seconds that the answer to a new rule waits for processes that do not know it yet."""
_LOOKS = 0.05
"""Seconds between looks whether they know it."""
_LATER = 30.0
"""Seconds after which a rule is applied that another process has saved, and not applied."""
_NOTHING: Mapping[str, bool] = MappingProxyType({})


class Applied(NamedTuple):
    """What a rule found."""

    matched: int
    examined: int
    is_complete: bool
    """False: a process may not know the rule yet; the rule is applied again once it does."""


class RuleApplication:
    """The rules of all tenants, as far as this process is concerned."""

    def __init__(
        self,
        shared: Shared,
        *,
        turns: Turns,
        limits: KnownLimits,
        process_id: Callable[[], str],
        admit: Callable[[], None],
    ) -> None:
        """`admit` is called when other instances may come first."""
        self._shared = shared
        self._store = shared.store
        self._turns = turns
        self._limits = limits
        self._process_id = process_id
        self._admit = admit
        self._hint = asyncio.Event()
        self._seen_as = ""
        """The process id under which rules were last looked for."""
        self._seen: dict[tuple[str, str], int] = {}
        """Rules of others that were not applied at the last look."""
        self._own: set[tuple[str, str]] = set()
        """Rules that this process saves and applies at the moment."""
        self._slices = Slices(shared.clock, shared.sharing)
        limits.heard.append(self._hint.set)

    def start(self) -> None:
        """Begin with rules that a process has saved and not applied."""
        if not self._shared.settings.is_guest:
            self._shared.loops.run("rules", self.run_once, hint=self._hint)

    def beat(self) -> None:
        """With each heartbeat: a process that goes on under another id says anew what it knows."""
        if self._seen_as != self._process_id():
            self._hint.set()

    async def run_once(self) -> float | None:
        """Say which rules are known, and apply those that others have left; seconds until the next.

        The process that saves a rule applies it: another does so where that takes long.
        """
        is_first = not self._seen_as
        self._seen_as = self._process_id()
        found = await self._store.rule_progress.unapplied()
        if not found:
            self._seen = {}
            return None
        await self._say_what_is_known()
        for each in found:
            key = (each.rule.tenant, each.rule.id)
            is_left = is_first or self._seen.get(key) == each.unapplied
            if is_left and key not in self._own:
                await self.apply(each, patience=0)
        left = await self._store.rule_progress.unapplied()
        self._seen = {(each.rule.tenant, each.rule.id): each.unapplied for each in left}
        return _LATER if left else None

    async def saved(
        self, rule: QueueRuleRow, judged: Mapping[str, bool] = _NOTHING
    ) -> Applied | None:
        """Apply a rule that this process has just saved; None: it was removed again.

        `judged`: whether instances match, of some that were judged before.
        """
        key = (rule.tenant, rule.id)
        self._own.add(key)
        try:
            await self._limits.changed()
            await self._say_what_is_known()
            for each in await self._store.rule_progress.unapplied():
                if (each.rule.tenant, each.rule.id) == key:
                    return await self.apply(each, patience=PATIENCE, judged=judged)
        finally:
            self._own.discard(key)
        return None

    async def apply(
        self,
        unapplied: UnappliedRule,
        *,
        patience: float,
        judged: Mapping[str, bool] = _NOTHING,
    ) -> Applied:
        """Apply a rule to all that wait, once all processes know it, or `patience` is over."""
        progress, rule = self._store.rule_progress, unapplied.rule
        until = self._shared.clock.ticks() + patience
        while behind := await progress.behind(unapplied.unapplied):
            if self._shared.clock.ticks() >= until:
                break
            await self._shared.clock.sleep(_LOOKS)
        matched = examined = 0
        after = ""
        while ids := await progress.waiting(rule.tenant, after, PAGE):
            found = [id async for id in self._matching(rule.expression, ids, judged)]
            if found:
                await self._store.slots.apply_queue_rule(rule, found)
            matched, examined, after = matched + len(found), examined + len(ids), ids[-1]
        if not behind:
            await progress.applied(unapplied)
        if matched:
            self._admit()
        return Applied(matched, examined, is_complete=not behind)

    async def matching(self, when: str, ids: Sequence[str]) -> dict[str, bool]:
        """Which of these instances match an expression, without those that cannot be read."""
        loaded = await self._turns.loader.load(ids, is_shown=True) if ids else {}
        found: dict[str, bool] = {}
        for id in ids:
            if isinstance(held := loaded.get(id), Held):
                slices = self._slices.of(held.tenant)
                await slices.turn()
                found[id] = matches(when, _judged(held), slices.steps)
        return found

    async def _matching(
        self, when: str, ids: Sequence[str], judged: Mapping[str, bool]
    ) -> AsyncIterator[str]:
        # What a rule sees of an instance is that of its start, and never changes.
        found = await self.matching(when, [id for id in ids if id not in judged])
        for id in ids:
            if judged.get(id) or found.get(id):
                yield id

    async def _say_what_is_known(self) -> None:
        process_id, changes = self._process_id(), self._limits.changes
        for intake in self._turns.intakes:
            await intake.turn_over.wait()
        await self._store.rule_progress.knows(process_id, changes)


def _judged(held: Held) -> Judged:
    state = held.state
    slot = slot_of(state)
    return Judged(
        workflow=state.definition_id,
        version=state.definition_version,
        input=state.input,
        priority=state.priority,
        deadline=state.deadline,
        correlation_id=state.correlation_id,
        user="" if slot is None else slot.user,
    )
