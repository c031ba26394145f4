"""Rules of the queue of one tenant: saved, applied to what waits, and removed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from tenuto.core.queue_rules import ROOTS, Judged, matches
from tenuto.definition.report import did_you_mean
from tenuto.engine.engine import Engine
from tenuto.engine.limits.rule_application import PAGE
from tenuto.expr import ExpressionSyntaxError, Steps, compile_expression
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem
from tenuto.model.json import JSON, Object
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.slot_rows import QueueRuleRow, Slot
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.limit_values import SavedQueueRule
from tenuto.workspace.stored_limits import shown_rule

BAD_RULE = "TEN-2841"
MATCHES_ALL = "TEN-2842"
NO_VALUE = "TEN-2845"
NO_RULE = "TEN-3195"
MOST_RULES = 100
"""The most rules of a tenant."""
MOST_COUNTED = 10_000
"""The most waiting instances that are looked at before a rule is saved."""
LONGEST = 2_000
"""The most characters of an expression, and of a note."""
MOST_PRIORITY = 1_000_000
MOST_NEWEST = 100
"""The most of the newest instances by which a rule is judged where fewer than two wait."""
_AT_ONCE = 10
_NARROW = "Narrow the expression, or confirm the rule: `confirm: true`, or `--yes`."
_NOBODY = Judged(workflow="", version=1, input=None)
_SCOPE = _NOBODY.roots


class _Counted(NamedTuple):
    judged: dict[str, bool]
    """Of each instance that was looked at, whether it matches."""
    is_complete: bool

    @property
    def matched(self) -> int:
        return sum(self.judged.values())


class QueueRules:
    """What is done by rules for one tenant."""

    def __init__(self, engine: Engine, tenant: str, actor: str) -> None:
        self._engine = engine
        self._store = engine.store.slots
        self._tenant = tenant
        self._actor = actor

    async def add(
        self,
        when: str,
        *,
        priority: int | None,
        hold: bool,
        note: str | None,
        confirm: bool,
        dry_run: bool,
    ) -> SavedQueueRule:
        """Save a rule and apply it to what waits; with `dry_run` only count what matches."""
        problems = _problems(when, priority, note, hold=hold)
        if problems:
            raise InvalidInput("the rule cannot be used", problems)
        counted = await self._count(when)
        doubt = await self._doubt(when, counted, hold=hold)
        row = QueueRuleRow(
            tenant=self._tenant,
            id=_id(when, priority, hold=hold),
            expression=when,
            priority=priority,
            is_hold=hold,
            note=note,
            created_at=self._engine.clock.now(),
            created_by=self._actor,
        )
        found = msgspec.structs.replace(
            shown_rule(row),
            matched=counted.matched,
            examined=len(counted.judged),
            matches_all=doubt is not None,
            is_complete=counted.is_complete,
        )
        if dry_run:
            return found
        if doubt is not None and not confirm:
            problem = Problem(code=MATCHES_ALL, path="$.when", message=doubt, advice=_NARROW)
            raise InvalidInput("the rule matches everything, as far as is known", [problem])
        if not await self._store.put_queue_rule(row, most=MOST_RULES):
            raise Conflict(
                f"the tenant has {MOST_RULES} rules",
                code=BAD_RULE,
                advice="Remove some: `tenuto queue rules` lists them.",
            )
        applied = await self._engine.queue_rules.saved(row, counted.judged)
        if applied is None:
            return found
        return msgspec.structs.replace(
            found,
            matched=applied.matched,
            examined=applied.examined,
            is_complete=applied.is_complete,
        )

    async def remove(self, id: str) -> None:
        """Remove a rule; what it did to those that wait stays. NotFound."""
        if not await self._store.remove_queue_rule(self._tenant, id):
            raise NotFound(f"there is no rule {id}", code=NO_RULE)
        await self._engine.limits.changed()

    async def _doubt(self, when: str, counted: _Counted, *, hold: bool) -> str | None:
        """Why the rule may match everything; None: something is known that it does not match.

        Where fewer than two wait, it is judged by the newest instances too. Where there are not two
        of those either, only a rule that holds back is in doubt: it would stop all that start.
        """
        if _is_constant(when):
            return "the expression names nothing of the instance"
        judged = counted.judged
        if not all(judged.values()):
            return None
        if len(judged) > 1:
            return f"all {len(judged):,} that wait match"
        judged = {**judged, **await self._newest(when)}
        if not all(judged.values()):
            return None
        if len(judged) > 1:
            return f"the newest {len(judged):,} instances all match"
        return "it cannot be judged: there are fewer than two instances" if hold else None

    async def _newest(self, when: str) -> dict[str, bool]:
        """Some of the newest instances, until one is found that does not match."""
        query = InstanceQuery(limit=MOST_NEWEST)
        rows = (await instance_rows(self._engine, self._tenant, query)).items
        judged: dict[str, bool] = {}
        for first in range(0, len(rows), _AT_ONCE):
            ids = [row.id for row in rows[first : first + _AT_ONCE]]
            judged |= await self._engine.queue_rules.matching(when, ids)
            if not all(judged.values()):
                break
        return judged

    async def _count(self, when: str) -> _Counted:
        """The first of those that wait, and which of them match."""
        judged: dict[str, bool] = {}
        after: Slot | None = None
        while len(judged) < MOST_COUNTED:
            rows = await self._store.waiting(self._tenant, after=after, limit=PAGE)
            ids = [row.instance_id for row in rows if not row.node]
            judged |= await self._engine.queue_rules.matching(when, ids)
            if len(rows) < PAGE:
                return _Counted(judged, is_complete=True)
            after = rows[-1]
        return _Counted(judged, is_complete=False)


def _id(when: str, priority: int | None, *, hold: bool) -> str:
    """The same rule has the same id: to save it again changes nothing."""
    text = msgspec.json.encode((when, priority, hold))
    return hashlib.blake2b(text, digest_size=8, person=b"tenuto rule").hexdigest()


def _problems(when: object, priority: object, note: object, *, hold: object) -> list[Problem]:
    found = []

    def wrong(path: str, message: str, advice: str) -> None:
        found.append(Problem(code=BAD_RULE, path=path, message=message, advice=advice))

    if not isinstance(when, str) or not 0 < len(when) <= LONGEST:
        wrong("$.when", "it is no expression", f"Write one of 1 to {LONGEST:,} characters.")
    else:
        advice = "Write one such as `ctx.input.tier === 'gold'` or `workflow.id === 'order'`."
        try:
            found += _of_names(compile_expression(when, roots=ROOTS).paths)
            if _is_constant(when) and not matches(when, _NOBODY, Steps()):
                wrong("$.when", "it is true for no instance: the rule does nothing", advice)
        except ExpressionSyntaxError as error:
            message = f"{error.message} (at character {error.position + 1})"
            wrong("$.when", message, error.advice or advice)
    is_number = isinstance(priority, int) and not isinstance(priority, bool)
    if priority is not None and not (
        is_number and isinstance(priority, int) and abs(priority) <= MOST_PRIORITY
    ):
        wrong(
            "$.priority",
            "it is no priority",
            f"Write a whole number from -{MOST_PRIORITY:,} to {MOST_PRIORITY:,}.",
        )
    if not isinstance(hold, bool):
        wrong("$.hold", "it is neither true nor false", "Write `true` or `false`.")
    if priority is None and hold is False:
        wrong("$", "the rule does nothing", "Add `priority` or `hold`.")
    if note is not None and not (isinstance(note, str) and len(note) <= LONGEST):
        wrong("$.note", "it is no note", f"Write text of at most {LONGEST:,} characters.")
    return found


def _of_names(paths: Sequence[Sequence[str]]) -> list[Problem]:
    """Names of which a rule sees nothing, or an object, which equals no value."""
    found: dict[str, Problem] = {}
    for path in paths:
        value: JSON = dict(_SCOPE)
        for depth, name in enumerate(path):
            if not isinstance(value, dict):
                break
            if name not in value:
                shown, known = ".".join(path[: depth + 1]), sorted(value)
                before = ".".join(path[:depth])
                advice = did_you_mean(name, known, f"`{before}` has {', '.join(known)}.")
                message = f"a rule does not see `{shown}`"
                found[shown] = Problem(code=NO_VALUE, path="$.when", message=message, advice=advice)
                break
            value = value[name]
        else:
            if isinstance(value, dict):
                shown = ".".join(path)
                names = ", ".join(f"`{name}`" for name in _values(shown, value))
                found[shown] = Problem(
                    code=NO_VALUE,
                    path="$.when",
                    message=f"`{shown}` is an object, and equals no value",
                    advice=f"Compare one of {names}.",
                )
    return list(found.values())


def _values(path: str, value: Object) -> Iterator[str]:
    """The names of all values in an object."""
    for name, inner in sorted(value.items()):
        if isinstance(inner, dict):
            yield from _values(f"{path}.{name}", inner)
        else:
            yield f"{path}.{name}"


def _is_constant(when: str) -> bool:
    """Whether an expression names nothing of the instance."""
    return not compile_expression(when, roots=ROOTS).paths
