"""How far rules of the queue are applied: which are not, and which processes may not know them."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.rows import records_of
from tenuto.store.marks import for_tenants, writes
from tenuto.store.parts.slot_rows import QueueRuleRow


class UnappliedRule(NamedTuple):
    """A rule that may not be applied to all that wait."""

    rule: QueueRuleRow
    unapplied: int
    """The change of limits that saved it."""


class RuleProgress(ColdPart):
    """Saving a rule (`slots.put_queue_rule`) makes it unapplied. All verbs are safe to repeat."""

    async def unapplied(self) -> list[UnappliedRule]:
        """The rules of all tenants that may not be applied to all that wait."""
        found = await self._port.rows("unapplied_rules", {})
        rules = records_of(QueueRuleRow, [row[:-1] for row in found])
        return [UnappliedRule(rule, row[-1]) for rule, row in zip(rules, found, strict=True)]

    @writes
    async def applied(self, rule: UnappliedRule) -> None:
        """The rule is applied to all that wait; one that was saved again meanwhile is not."""
        which = {"tenant": rule.rule.tenant, "id": rule.rule.id, "unapplied": rule.unapplied}
        await self._port.write("rule_applied", which)

    @writes
    async def knows(self, process_id: str, changes: int) -> None:
        """Every later turn of this process is decided by the limits and rules of this change."""
        which = {"process_id": process_id, "changes": changes}
        await self._port.write("know_limits", which)

    async def behind(self, changes: int) -> list[str]:
        """The processes whose turns may be decided by limits and rules before this change.

        A process that was declared dead is none of them: its turns are refused.
        """
        return [id for (id,) in await self._port.rows("processes_behind", {"changes": changes})]

    @for_tenants
    async def waiting(self, tenant: str, after: str, limit: int) -> list[str]:
        """Instances of a tenant that wait for slots, by id, those after `after`."""
        which = {"tenant": tenant, "after": after, "limit": limit}
        return [id for (id,) in await self._port.rows("slots_to_judge", which)]
