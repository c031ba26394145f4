"""The limits and the queue of one tenant over an engine."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tenuto.definition.report import step
from tenuto.engine.engine import Engine
from tenuto.model.errors import Conflict, Problem, not_there
from tenuto.model.json import JSON
from tenuto.model.slots import (
    ANY,
    GLOBAL,
    ConcurrencyConfig,
    tenant_key,
    type_key,
    user_key,
)
from tenuto.model.status import Status
from tenuto.store.parts.admission import MOST_COUNTED
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.limits import Limits as Arbiter
from tenuto.store.parts.slot_rows import SERVICE, ConcurrencyRow, Slot
from tenuto.workspace.effective_limit import RULES
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.limit_values import ChangedLimits, LimitsPreview, SavedQueueRule
from tenuto.workspace.limits_document import read_limits
from tenuto.workspace.limits_preview import preview, situation, taken
from tenuto.workspace.own_limits import below_what_runs
from tenuto.workspace.queue_rules import QueueRules
from tenuto.workspace.stored_limits import StoredConfigs, StoredLimits, set_limits

NOT_IN_QUEUE = "TEN-3193"
CHANGED_MEANWHILE = "TEN-3194"
BOUND_BELOW = "TEN-2846"
NOT_COUNTED = "TEN-2847"
_TRIES = 5
"""How often a change without a version is tried, while others change limits."""
_MOST_WARNINGS = 100
_MOST_RUNNING = 100
_MOST_HELD = 1_000
"""So many of the newest that run are looked at, and so many slots: with more it is not known which
of those that run have one."""


class Limits(StoredLimits):
    """The limits that count instances of one tenant, and its queue."""

    def __init__(self, engine: Engine, tenant: str, actor: str) -> None:
        super().__init__(engine, tenant)
        self._engine = engine
        self._actor = actor
        self._queue_rules = QueueRules(engine, tenant, actor)

    async def set(
        self, document: JSON, *, only_after: int | None = None, dry_run: bool = False
    ) -> ChangedLimits:
        """Replace the limits of the service and of the tenant; InvalidInput.

        Those that wait are looked at again at once. An instance that runs goes on, also above a
        limit that was lowered. With `only_after` only while that is the version; Conflict. With
        `dry_run` nothing is saved, and `preview` says what the change would do at once.
        """
        config = read_limits(document)
        wanted = {
            SERVICE: replace(config, workflow_type_limits={}, user_limits={}),
            self._tenant: ConcurrencyConfig(
                workflow_type_limits=config.workflow_type_limits, user_limits=config.user_limits
            ),
        }
        for _ in range(_TRIES):
            stored = await self._stored()
            if only_after is not None and stored.version != only_after:
                raise _changed(stored.version)
            if dry_run:
                return await self._foreseen(stored, wanted)
            if await self._put(stored, wanted):
                break
        else:
            raise _changed((await self._stored()).version)
        await self._engine.limits.changed()
        self._engine.admissions.hint()
        saved = await self._stored()
        sees_all = wanted[SERVICE] != stored.config(SERVICE)
        counts = await taken(self._engine.store.slots, self._tenant, sees_all=sees_all)
        found = _warnings(counts, stored.arbiter(), saved.arbiter(), wanted[SERVICE])
        warnings = [*await self._of_bound(stored, wanted), *found]
        warnings += await self._of_uncounted(stored, wanted)
        return _answer(saved, self._tenant, warnings=warnings)

    async def _of_uncounted(
        self, stored: StoredConfigs, wanted: Mapping[str, ConcurrencyConfig]
    ) -> list[Problem]:
        """A warning where limits are set for a tenant of which instances run without slots."""
        were_counted = self._counts(stored.config(SERVICE), stored.config(self._tenant))
        if were_counted or not self._counts(wanted[SERVICE], wanted[self._tenant]):
            return []
        query = InstanceQuery(statuses=(Status.RUNNING,), limit=_MOST_RUNNING)
        running = (await instance_rows(self._engine, self._tenant, query)).items
        held = await self._engine.store.slots.held(self._tenant, limit=_MOST_HELD)
        count = len(
            {each.id for each in running} - {slot.instance_id for slot in held if not slot.node}
        )
        if not count or len(held) == _MOST_HELD:
            return []
        about = f"at least {count:,}" if len(running) == _MOST_RUNNING else f"{count:,}"
        problem = Problem(
            code=NOT_COUNTED,
            path="$",
            message=f"of the instances that run {about} have no slot: they began without limits",
            advice="They go on, and are counted once they have waited for something.",
            severity="warning",
        )
        return [problem]

    def _counts(self, service: ConcurrencyConfig, own: ConcurrencyConfig) -> bool:
        """Whether these limits count instances of the tenant; those of other tenants do not."""
        return service.counts(self._tenant) or own.has_limits

    async def _of_bound(
        self, stored: StoredConfigs, wanted: Mapping[str, ConcurrencyConfig]
    ) -> list[Problem]:
        """A warning where a change sets the bound of the queue below what waits."""
        bound = wanted[SERVICE].queue.bound
        if bound is None or bound == stored.config(SERVICE).queue.bound:
            return []
        if await self._engine.store.slots.depth(min(bound + 1, MOST_COUNTED)) <= bound:
            return []
        problem = Problem(
            code=BOUND_BELOW,
            path="$.queue.bound",
            message=f"bound {bound}, more than that wait already; nothing is ended",
            advice="Those that wait stay; starts that would wait are refused until fewer do.",
            severity="warning",
        )
        return [problem]

    async def _put(self, stored: StoredConfigs, wanted: Mapping[str, ConcurrencyConfig]) -> bool:
        """Save what differs, in one transaction; False: others changed something meanwhile."""
        rows = [
            ConcurrencyRow(
                tenant=name,
                document=msgspec.json.encode(config, order="deterministic"),
                version=stored.version_of(name) + 1,
                changed_at=self._engine.clock.now(),
                changed_by=self._actor,
            )
            for name, config in wanted.items()
            if config != stored.config(name)
        ]
        versions = {name: stored.version_of(name) for name in wanted}
        return not rows or await self._engine.store.slots.put_configs(rows, versions)

    async def _foreseen(
        self, stored: StoredConfigs, wanted: Mapping[str, ConcurrencyConfig]
    ) -> ChangedLimits:
        """The answer of a dry run."""
        sees_all = wanted[SERVICE] != stored.config(SERVICE)
        found = await situation(self._engine.store.slots, self._tenant, sees_all=sees_all)
        before, after = stored.arbiter(), stored.arbiter(wanted)
        keys = {key for key in found.counts if not key.startswith(("key:", "mutex:", "turn:"))}
        keys |= {key for line in found.lines.values() for slot in line for key in slot.keys}
        keys |= _named(self._tenant, stored.config(SERVICE), stored.config(self._tenant))
        keys |= _named(self._tenant, *wanted.values())
        own = (f"type:{self._tenant}/", f"user:{self._tenant}/")
        seen = (*own, "tenant:") if sees_all else own
        mine = (GLOBAL, tenant_key(self._tenant))
        shown = [key for key in keys if key in mine or key.startswith(seen)]
        return _answer(
            stored.with_(wanted),
            self._tenant,
            warnings=[
                *await self._of_bound(stored, wanted),
                *await self._of_uncounted(stored, wanted),
                *_warnings(
                    {key: found.counts.get(key, 0) for key in shown},
                    before,
                    after,
                    wanted[SERVICE],
                ),
            ],
            preview=preview(
                found, before, after, shown=shown, of=None if sees_all else self._tenant
            ),
        )

    async def promote(self, instance_id: str) -> None:
        """Let an instance go before those that were not promoted; Conflict: it does not wait."""
        await self._refuse_unless_known(instance_id)
        now = self._engine.clock.now()
        done = await self._engine.store.slots.promote(self._tenant, instance_id, now)
        await self._done(
            instance_id,
            is_done=done,
            otherwise="has run before, and goes before those that have not",
        )

    async def hold(self, instance_id: str) -> None:
        """Keep an instance from being admitted; Conflict: it does not wait."""
        await self._refuse_unless_known(instance_id)
        done = await self._engine.store.slots.hold(self._tenant, instance_id)
        await self._done(
            instance_id, is_done=done, otherwise="did not wait in the queue a moment ago"
        )

    async def release(self, instance_id: str) -> None:
        """Let an instance that was kept back wait again; Conflict: there is none."""
        await self._refuse_unless_known(instance_id)
        done = await self._engine.store.slots.let_go(self._tenant, instance_id)
        await self._done(
            instance_id, is_done=done, otherwise="waits in the queue, and is not held back"
        )

    async def add_rule(
        self,
        when: str,
        *,
        priority: int | None = None,
        hold: bool = False,
        note: str | None = None,
        confirm: bool = False,
        dry_run: bool = False,
    ) -> SavedQueueRule:
        """Give a priority to instances for which a rule is true, or hold them back; InvalidInput.

        It applies at once to those that wait, and to new ones while it is kept. A rule that
        matches everything needs `confirm`. With `dry_run` it is only counted how many match.
        """
        return await self._queue_rules.add(
            when, priority=priority, hold=hold, note=note, confirm=confirm, dry_run=dry_run
        )

    async def remove_rule(self, id: str) -> None:
        """Remove a rule; what it did to those that wait stays. NotFound."""
        await self._queue_rules.remove(id)

    async def _refuse_unless_known(self, instance_id: str) -> None:
        query = InstanceQuery(ids=(instance_id,), limit=1)
        if not (await instance_rows(self._engine, self._tenant, query)).items:
            raise not_there(instance_id)

    async def _done(self, instance_id: str, *, is_done: bool, otherwise: str) -> None:
        """Conflict where nothing was done; `otherwise`: why not, of one that waits."""
        if not is_done:
            slots = await self._engine.store.slots.of(self._tenant, instance_id)
            own = next((slot for slot in slots if not slot.node), None)
            raise Conflict(
                f"instance {instance_id} {_why_not(own) or otherwise}", code=NOT_IN_QUEUE
            )
        self._engine.admissions.hint()


def _why_not(slot: Slot | None) -> str | None:
    """Why an instance with this slot does not wait; None: it does."""
    if slot is None or slot.state == "ended":
        return "does not wait in the queue: it needs no slot now"
    if slot.state == "held":
        return "does not wait in the queue: it has its slot, and runs"
    return None


def _named(tenant: str, service: ConcurrencyConfig, own: ConcurrencyConfig) -> set[str]:
    """The keys of limits that are set by name."""
    keys = {GLOBAL, tenant_key(tenant)}
    keys |= {tenant_key(name) for name in service.tenant_limits if name != ANY}
    keys |= {type_key(tenant, name) for name in own.workflow_type_limits if name != ANY}
    return keys | {user_key(tenant, name) for name in own.user_limits if name != ANY}


def _warnings(
    counts: Mapping[str, int], before: Arbiter, after: Arbiter, service: ConcurrencyConfig
) -> list[Problem]:
    """The limits that a change lowers below what runs."""
    found = []
    for key, held in sorted(counts.items()):
        most = after.of(key)
        if most is not None and held > most and most != before.of(key):
            path = _path(key, is_adaptive=most != service.global_max_concurrent)
            found.append(below_what_runs(key, most, held, path))
    return found[:_MOST_WARNINGS]


def _path(key: str, *, is_adaptive: bool) -> str:
    """Where a limit stands in the document; `is_adaptive`: that of all follows the load."""
    kind, _, name = key.partition(":")
    match kind:
        case "tenant":
            return "$.tenantLimits" + step(name)
        case "type":
            return "$.workflowTypeLimits" + step(name.partition("/")[2])
        case "user":
            return "$.userLimits" + step(name.partition("/")[2])
        case _:
            return f"$.{RULES}" if is_adaptive else "$.globalMaxConcurrent"


def _answer(
    stored: StoredConfigs,
    tenant: str,
    *,
    warnings: list[Problem],
    preview: LimitsPreview | None = None,
) -> ChangedLimits:
    shown = set_limits(stored, tenant)
    return ChangedLimits(**msgspec.structs.asdict(shown), warnings=warnings, preview=preview)


def _changed(version: int) -> Conflict:
    return Conflict(f"the newest version of the limits is {version}", code=CHANGED_MEANWHILE)
