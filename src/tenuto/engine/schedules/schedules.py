"""The schedules part of an engine: the loop that fires them, and what users do with them."""

from __future__ import annotations

from collections.abc import Callable

from tenuto.engine.definitions.definitions import Definitions
from tenuto.engine.schedules.callbacks import KEPT_AS, secret_of
from tenuto.engine.schedules.changes import Changes
from tenuto.engine.schedules.checks import Checks
from tenuto.engine.schedules.firing import Firing
from tenuto.engine.schedules.lookup import Lookup
from tenuto.engine.schedules.meter import ScheduleMeter
from tenuto.engine.schedules.passes import Passes
from tenuto.engine.schedules.saving import Saving
from tenuto.engine.schedules.targets import Targets
from tenuto.engine.shared import Shared
from tenuto.engine.usage import Usage


class Schedules:
    """Fires schedules in the background, and takes what users ask for."""

    def __init__(
        self, shared: Shared, definitions: Definitions, usage: Usage, *, sent: Callable[[], None]
    ) -> None:
        """`sent` is called when there are new messages in the mailbox."""
        self._shared = shared
        self._secret: bytes | None = None
        self.meter = ScheduleMeter()
        calendars, reasons = definitions.calendars, dict[str, str]()
        targets = Targets(shared, definitions)
        self.firing = firing = Firing(
            shared,
            calendars=calendars,
            targets=targets,
            usage=usage,
            meter=self.meter,
            reason=reasons.get,
            values=definitions.plans.values,
            sent=sent,
        )
        passes = Passes(
            shared, calendars=calendars, firing=firing, meter=self.meter, reasons=reasons
        )
        checks = Checks(shared.clock, calendars, targets, definitions.plans.values)
        lookup = Lookup(shared, checks, firing)
        saving = Saving(
            shared,
            calendars=calendars,
            checks=checks,
            targets=targets,
            lookup=lookup,
            documents=usage.documents,
            hint=passes.hint,
        )
        changes = Changes(
            shared,
            calendars=calendars,
            firing=firing,
            lookup=lookup,
            documents=usage.documents,
            hint=passes.hint,
            trim=passes.trim,
        )
        definitions.plans.saved = passes.saved_workflow
        calendars.changed = passes.hint

        # In the background.
        self.start = passes.start
        self.hint = passes.hint
        self.concluded = passes.concluded
        # For users.
        self.check, self.preview = checks.check, checks.preview
        self.get, self.running = lookup.get, lookup.running
        self.nominal_times, self.count_times = lookup.nominal_times, lookup.count_times
        self.save, self.save_checked = saving.save, saving.save_checked
        self.is_saved = saving.is_saved
        self.pause, self.resume, self.remove = changes.pause, changes.resume, changes.remove
        self.trigger, self.backfill_tick = changes.trigger, changes.backfill_tick
        self.removed_workflow = changes.removed_workflow

    async def callback_secret(self, tenant: str) -> str:
        """The secret that signs the callbacks of a tenant's schedules, as webhooks are signed."""
        if self._secret is None:
            ids = self._shared.ids
            proposed = "".join(ids.short() for _ in range(4)).encode()
            self._secret = await self._shared.store.access.keep_secret(KEPT_AS, proposed)
        return secret_of(self._secret, tenant)
