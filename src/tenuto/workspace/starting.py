"""Starts of instances, and what became of each."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.core import Plan
from tenuto.engine.definitions.plans import Deployed
from tenuto.engine.definitions.start_checks import (
    has_found_another,
    key_conflict,
    raise_rejection,
)
from tenuto.engine.engine import Engine
from tenuto.engine.tenancy import own_id
from tenuto.engine.turns.requests import Answer
from tenuto.model.checks import aware, refuse_bad_ids
from tenuto.model.errors import (
    InvalidInput,
    NotFound,
    Overloaded,
    Problem,
    TenutoError,
)
from tenuto.model.inputs import Started
from tenuto.model.json import JSON, json_problem
from tenuto.model.own_names import is_callback
from tenuto.model.test_run import is_test_run
from tenuto.store.parts.instances import InstanceQuery
from tenuto.workspace.instance_lists import instance_rows
from tenuto.workspace.values import Start

_AT_ONCE, _SHARED = 100, 5
"""Starts of all batches that begin in one pass of the event loop; the latter while several tenants
are at work."""


class Starting:
    """Starts instances for one principal of one tenant."""

    __slots__ = ("_actor", "_engine", "_tenant")

    def __init__(self, engine: Engine, tenant: str, actor: str) -> None:
        self._engine = engine
        self._tenant = tenant
        self._actor = actor

    async def begin(self, asked: Start, *, version: int | None = None) -> Answer:
        """Start an instance; the answer says whether it had been started before.

        `version` is the one that is started where `asked` names none.
        """
        refuse_bad_ids(key=asked.key, correlationId=asked.correlation_id)
        instance_id = _uuid(asked.instance_id)
        aware(asked.deadline, "deadline")
        if is_test_run(asked.workflow) or is_callback(asked.workflow):
            raise NotFound(f"there is no workflow {asked.workflow}", code="TEN-2002")
        plans = self._engine.plans
        try:
            deployed = await plans.for_new(self._tenant, asked.workflow, version or asked.version)
            await self._refuse_unfit(deployed.plan, asked.input)
        except (InvalidInput, NotFound):
            # Of what was started before, the definition may have changed or gone since.
            answer = await self.begun(asked)
            if answer is None:
                raise
        else:
            try:
                answer = await self._start(deployed, asked, instance_id)
            except Overloaded:
                # What was started before is no further start.
                before = await self.begun(asked)
                if before is None:
                    raise
                answer = before
        if answer.is_repeat and instance_id is not None:
            self._refuse_another(answer, instance_id)
        return answer

    async def begin_of(self, document: JSON, asked: Start) -> Answer:
        """Start an instance of a definition that is saved with it, unless the start is refused."""
        refuse_bad_ids(key=asked.key, correlationId=asked.correlation_id)
        _uuid(asked.instance_id)
        aware(asked.deadline, "deadline")
        if asked.version is not None or await self.begun(asked) is not None:
            return await self.begin(asked)
        plan = await self._engine.plans.read_to_save(self._tenant, document)
        await self._refuse_unfit(plan, asked.input)
        saved = await self._engine.plans.save(self._tenant, document, plan=plan)
        return await self.begin(asked, version=saved.version)

    async def _refuse_unfit(self, plan: Plan, input: JSON) -> None:
        engine = self._engine
        await engine.plans.inputs.refuse_unfit(
            plan, input, engine.settings, engine.registry, tenant=self._tenant
        )

    async def begun(self, asked: Start) -> Answer | None:
        """What the same start made before, if that was under the same key; Conflict."""
        if asked.key is None or json_problem(asked.input) is not None:
            return None
        return await self._engine.turns.begun(self._tenant, asked.key, _content_hash(asked))

    async def begin_many(self, asked: Sequence[Start]) -> list[Answer | TenutoError]:
        """Start several at once; a refused start gives an error at its place."""
        begun: list[asyncio.Task[Answer | TenutoError]] = []
        sharing, clock = self._engine.shared.sharing, self._engine.clock
        try:
            while len(begun) < len(asked):
                # Batches take turns, and requests of other clients have theirs in between.
                async with sharing.batches_of(self._tenant):
                    async with sharing.batches:
                        count = _SHARED if sharing.is_shared else _AT_ONCE
                        some = asked[len(begun) : len(begun) + count]
                        began = clock.ticks()
                        begun += [
                            asyncio.create_task(self._begin_if_possible(each)) for each in some
                        ]
                        await clock.sleep(0)
                    rest = sharing.rest_after(clock.ticks() - began, self._tenant)
                    if rest and len(begun) < len(asked):
                        await clock.sleep(rest)
            return await asyncio.gather(*begun)
        except BaseException:
            for task in begun:
                task.cancel()
            raise

    async def _begin_if_possible(self, asked: Start) -> Answer | TenutoError:
        try:
            return await self.begin(asked)
        except TenutoError as error:
            return error

    def _refuse_another(self, answer: Answer, chosen: str) -> None:
        """Conflict where the key of a start has an instance with another id than was chosen."""
        if answer.instance_id not in (chosen, own_id(self._tenant, chosen)):
            raise key_conflict(answer.instance_id)

    async def _start(self, deployed: Deployed, asked: Start, instance_id: str | None) -> Answer:
        if instance_id is not None:
            # Another tenant had the id once: that one may be erased since, and the id free.
            alias = own_id(self._tenant, instance_id)
            instance_id = alias if await self._has(alias) else instance_id
        answer = await self._started(deployed, asked, instance_id)
        if instance_id is not None and await self._is_foreign(answer):
            # As if the id were free.
            answer = await self._started(deployed, asked, own_id(self._tenant, instance_id))
        raise_rejection(answer)
        return answer

    async def _started(self, deployed: Deployed, asked: Start, instance_id: str | None) -> Answer:
        return await self._engine.start(
            deployed.plan,
            _started(asked, deployed.version, self._actor),
            instance_id=instance_id,
            key=asked.key,
            content_hash=_content_hash(asked) if asked.key is not None else b"",
            tenant=self._tenant,
            needs_definition=True,
        )

    async def _is_foreign(self, answer: Answer) -> bool:
        """Whether the id of a start is in use by another tenant."""
        if not has_found_another(answer):
            return False
        return not await self._has(answer.instance_id)

    async def _has(self, instance_id: str) -> bool:
        """Whether the tenant has an instance of this id."""
        query = InstanceQuery(ids=(instance_id,), limit=1)
        return bool((await instance_rows(self._engine, self._tenant, query)).items)


def _uuid(instance_id: str | None) -> str | None:
    if instance_id is None:
        return None
    try:
        return str(UUID(instance_id))
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInput(
            "the instance id cannot be used",
            [
                Problem(
                    code="TEN-2008",
                    path="$.instanceId",
                    message=f"{instance_id!r} is not a UUID",
                    advice="Leave it out and one is made, or pass str(uuid.uuid4()).",
                )
            ],
        ) from error


def _started(asked: Start, version: int, user: str | UnsetType = UNSET) -> Started:
    return Started(
        definition_id=asked.workflow,
        definition_version=version,
        input=asked.input,
        correlation_id=asked.correlation_id,
        priority=asked.priority,
        deadline=asked.deadline,
        traceparent=asked.traceparent or UNSET,
        user=user,
    )


def _content_hash(asked: Start) -> bytes:
    """What makes two starts the same: not the version that happened to be the newest."""
    content = msgspec.structs.replace(_started(asked, asked.version or 0), traceparent=UNSET)
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).digest()
