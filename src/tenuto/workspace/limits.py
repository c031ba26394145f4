"""The limits and the queue of one tenant over an engine."""

from __future__ import annotations

import re

import msgspec

from tenuto.engine.engine import Engine
from tenuto.model.durations import parse_duration
from tenuto.model.errors import Conflict, InvalidInput, Problem, not_there
from tenuto.model.json import JSON
from tenuto.model.slots import ConcurrencyConfig
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.slots import SERVICE, ConcurrencyRow
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.limit_values import SetLimits
from tenuto.workspace.stored_limits import StoredLimits

BAD_LIMITS = "TEN-2835"
NOT_IN_QUEUE = "TEN-3193"
CHANGED_MEANWHILE = "TEN-3194"
_PLACE = re.compile(r"(.*) - at `(\$.*)`$")


class Limits(StoredLimits):
    """The limits that count instances of one tenant, and its queue."""

    def __init__(self, engine: Engine, tenant: str, actor: str) -> None:
        super().__init__(engine, tenant)
        self._engine = engine
        self._actor = actor

    async def set(self, document: JSON, *, only_after: int | None = None) -> SetLimits:
        """Replace the limits of the service and of the tenant; InvalidInput.

        Those that wait are looked at again at once. An instance that runs goes on, also above a
        limit that was lowered. With `only_after` only while that is the version; Conflict.
        """
        config = read_limits(document)
        present = await self.get()
        if only_after is not None and present.version != only_after:
            raise _changed(present.version)
        service = ConcurrencyConfig(
            global_max_concurrent=config.global_max_concurrent,
            tenant_limits=config.tenant_limits,
            queue=config.queue,
        )
        own = ConcurrencyConfig(
            workflow_type_limits=config.workflow_type_limits, user_limits=config.user_limits
        )
        known = ConcurrencyConfig(
            global_max_concurrent=present.global_max_concurrent,
            tenant_limits=present.tenant_limits,
            queue=present.queue,
        )
        if service != known:
            await self._put(SERVICE, service)
        await self._put(self._tenant, own)
        await self._engine.limits.changed()
        self._engine.admissions.hint()
        return await self.get()

    async def _put(self, name: str, config: ConcurrencyConfig) -> None:
        store = self._engine.store.slots
        rows = {row.tenant: row for row in await store.configs()}
        row = rows.get(name)
        content = msgspec.json.encode(config, order="deterministic")
        if row is None and not config.has_limits and name != SERVICE:
            return
        if row is not None and msgspec.json.decode(row.document, type=ConcurrencyConfig) == config:
            return
        version = 0 if row is None else row.version
        new = ConcurrencyRow(
            tenant=name,
            document=content,
            version=version + 1,
            changed_at=self._engine.clock.now(),
            changed_by=self._actor,
        )
        if not await store.put_config(new):
            raise _changed(version)

    async def promote(self, instance_id: str) -> None:
        """Let an instance go before those that were not promoted; Conflict: it does not wait."""
        await self._refuse_unless_known(instance_id)
        now = self._engine.clock.now()
        done = await self._engine.store.slots.promote(self._tenant, instance_id, now)
        self._done(instance_id, is_done=done)

    async def hold(self, instance_id: str) -> None:
        """Keep an instance from being admitted; Conflict: it does not wait."""
        await self._refuse_unless_known(instance_id)
        done = await self._engine.store.slots.hold(self._tenant, instance_id)
        self._done(instance_id, is_done=done)

    async def release(self, instance_id: str) -> None:
        """Let an instance wait again that was kept back; Conflict: there is none."""
        await self._refuse_unless_known(instance_id)
        done = await self._engine.store.slots.let_go(self._tenant, instance_id)
        self._done(instance_id, is_done=done)

    async def _refuse_unless_known(self, instance_id: str) -> None:
        query = InstanceQuery(ids=(instance_id,), limit=1)
        if not (await instance_rows(self._engine, self._tenant, query)).items:
            raise not_there(instance_id)

    def _done(self, instance_id: str, *, is_done: bool) -> None:
        if not is_done:
            message = f"instance {instance_id} does not wait in the queue like that"
            raise Conflict(message, code=NOT_IN_QUEUE)
        self._engine.admissions.hint()


def read_limits(document: JSON) -> ConcurrencyConfig:
    """The limits of a document; InvalidInput with its problem."""
    try:
        given = (
            {k: v for k, v in document.items() if k != "version"}
            if isinstance(document, dict)
            else document
        )
        config = msgspec.convert(given, ConcurrencyConfig)
        parse_duration(config.queue.aging)
    except msgspec.ValidationError as error:
        found = _PLACE.match(str(error))
        message, path = found.groups() if found else (str(error), "$")
        raise _invalid(path, message) from None
    except ValueError as error:
        raise _invalid("$.queue.aging", str(error)) from None
    return config


def _invalid(path: str, message: str) -> InvalidInput:
    problem = Problem(
        code=BAD_LIMITS,
        path=path,
        message=message,
        advice="Limits are whole numbers from 0 to 1,000,000; leave one out to remove it.",
    )
    return InvalidInput("the limits cannot be set", [problem])


def _changed(version: int) -> Conflict:
    return Conflict(f"the newest version of the limits is {version}", code=CHANGED_MEANWHILE)
