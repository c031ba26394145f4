"""The declared tasks of one tenant, and runs of a single task as a workflow of one step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import msgspec

from tenuto.definition import check
from tenuto.definition.lone_task import RUNS, workflow_of
from tenuto.definition.schemas import schema_problems
from tenuto.egress import Allowance
from tenuto.engine.definitions.declared_tasks import tag_of, with_registered
from tenuto.engine.engine import Engine
from tenuto.engine.outbox.signatures import new_secret
from tenuto.model.checks import converted
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem, StoreUnavailable
from tenuto.model.json import Given, Object, as_json
from tenuto.model.pauses import between_parts
from tenuto.model.quotas import refuse_beyond
from tenuto.model.task_definition import (
    NO_LIMITS,
    BreakerPolicy,
    Registration,
    TaskDefinition,
    WorkerTask,
)
from tenuto.store.parts.tasks import TaskRow
from tenuto.store.protocol import Store
from tenuto.workspace.endpoint_rules import secret_problems, url_problems
from tenuto.workspace.instance import EMBEDDED, InstanceRef
from tenuto.workspace.known_tasks import known_tasks
from tenuto.workspace.starting import Starting
from tenuto.workspace.values import DeclaredTask, ListedTask, Page, Start

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,119}\Z")
_LONGEST_TEXT = 1_000
_CHECKED_AT_ONCE = 10
"""Tasks of a registration that are checked together; of one that has more, in a thread."""
_LARGE = 2_000
"""From so many bytes on a declaration is checked in a thread, as a workflow with schemas is."""
_MOST_REGISTERED = 5
"""So many policies of workers that disagree are kept."""
_STEP = "$.steps[0]"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TaskDefinition).decode


class Declared(DeclaredTask, frozen=True, kw_only=True, rename="camel"):
    """A declared task, and the tag of its version."""

    tag: str
    """Differs for each version, also where the task was removed and declared anew."""


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a worker is registered."""

    task_id: str
    others: tuple[Registration, ...] = ()
    """Other policies that workers have registered for it."""


class TaskDefinitions:
    """The declared tasks of one tenant."""

    def __init__(self, engine: Engine, tenant: str, actor: str = EMBEDDED) -> None:
        self._engine = engine
        self._actor = actor
        self._store: Store = engine.store
        self._seen = engine.store.seen_by(tenant)
        self._known = engine.declared_tasks
        self._clock = engine.clock
        allowances = engine.settings.allowances(is_all=engine.settings.private_targets)
        self._allowance = allowances.of(tenant)
        self._tenant = tenant

    async def add(self, task: TaskDefinition) -> Declared:
        """Declare a task; Conflict if the id is in use."""
        await self._check(task)
        task = msgspec.structs.replace(self._with_secret(task, None), registered=())
        row = self._row(task, None)
        if not await self._put(row, None):
            raise Conflict(
                f"the task {task.id} is declared already",
                code="TEN-3061",
                advice="Change it with PUT, or choose another id.",
            )
        return msgspec.structs.replace(declared(row), secret=task.secret)

    async def put(self, task: TaskDefinition, *, only_after: int | str | None = None) -> Declared:
        """Declare a task, or change it; with `only_after` only while that is its version.

        The secret of a pushed task stays unless another is given.

        It is a version, the `tag` of one, or `*` for any.
        """
        await self._check(task)
        while True:
            before = await self._seen.tasks.get(self._tenant, task.id)
            version = 0 if before is None else before.version
            is_named = () if before is None else (tag_of(before), "*")
            if only_after not in (None, version, *is_named):
                raise Conflict(f"the task {task.id} has version {version}", code="TEN-3062")
            known = None if before is None else _secret_of(before)
            signing = self._with_secret(task, known)
            registered = () if before is None else _registered_of(before)
            signing = msgspec.structs.replace(signing, registered=registered)
            if before is not None and before.document == _encode(signing):
                return declared(before)
            row = self._row(signing, before)
            if await self._put(row, before):
                is_new = signing.secret not in (known, task.secret)
                made = signing.secret if is_new else None
                return msgspec.structs.replace(declared(row), secret=made)

    async def register(self, worker_id: str, tasks: Sequence[WorkerTask]) -> list[Registered]:
        """Take over the policies in the code of a worker; a result for each, in their order.

        They hold where neither the step nor the declaration of the task sets one. Workers that
        disagree are listed in the declaration; the newest registration is in force.
        """
        for first in range(0, len(tasks), _CHECKED_AT_ONCE):
            check_some = partial(self._refuse_all, tasks[first : first + _CHECKED_AT_ONCE])
            size = sum(len(_encode(task)) for task in tasks[first : first + _CHECKED_AT_ONCE])
            if len(tasks) > _CHECKED_AT_ONCE or size >= _LARGE:
                # Each is compiled as a workflow, which takes a millisecond and more.
                await self._engine.plans.values.aside(check_some, tenant=self._tenant)
            else:
                check_some()
        return [await self._register(worker_id, task) for task in tasks]

    async def _register(self, worker_id: str, task: WorkerTask) -> Registered:
        code = Registration(
            worker_id=worker_id,
            retry=task.retry,
            timeout=task.timeout,
            heartbeat_timeout=task.heartbeat_timeout,
            input_schema=task.input_schema,
            limits=task.limits,
        )
        before = self._known.row(self._tenant, task.id)
        while True:
            known = () if before is None else _registered_of(before)
            is_unchanged = (known[0].policy == code.policy) if known else not any(code.policy)
            others = tuple(each for each in known if each.policy != code.policy)
            if is_unchanged:
                return Registered(task_id=task.id, others=others)
            made = _bare(task.id) if before is None else _decode(before.document)
            registered = (code, *others)[:_MOST_REGISTERED]
            row = self._row(msgspec.structs.replace(made, registered=registered), before)
            if await self._put(row, before):
                return Registered(task_id=task.id, others=others)
            before = await self._seen.tasks.get(self._tenant, task.id)

    async def _put(self, row: TaskRow, before: TaskRow | None) -> bool:
        """Store a version after another one, if it is the newest; QuotaExceeded."""
        # One at a time, so that what another one adds at the same time is counted.
        async with self._known.adding_of(self._tenant):
            self._refuse_beyond_quotas(row, before)
            if not await self._store.tasks.put(row):
                return False
            await self._changed(row)
            return True

    def _refuse_beyond_quotas(self, row: TaskRow, before: TaskRow | None) -> None:
        quotas, known = self._engine.settings.quotas, self._known
        if before is None:
            refuse_beyond("tasks", known.number_of(self._tenant), quotas.tasks)
        more = len(row.document) - (0 if before is None else len(before.document))
        if more > 0:
            refuse_beyond("task_bytes", known.bytes_of(self._tenant), quotas.task_bytes, more)

    async def get(self, id: str) -> Declared:
        """A task; NotFound."""
        row = await self._seen.tasks.get(self._tenant, id)
        if row is None:
            raise NotFound(f"there is no declared task {id}", code="TEN-3063")
        return declared(row)

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[ListedTask]:
        """A page of tasks that are declared, run by this process, or taken by workers, by id."""
        now, registry = self._clock.now(), self._engine.registry
        return await known_tasks(
            self._seen, self._tenant, now, registry, limit=limit, cursor=cursor
        )

    async def list(self, *, after: str = "", limit: int = 100) -> list[Declared]:
        """Declared tasks with ids after `after`, ordered by id."""
        rows = await self._seen.tasks.page(self._tenant, after=after, limit=limit)
        return [*map(declared, rows)]

    async def execute(
        self,
        id: str,
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
    ) -> InstanceRef:
        """Run a task on its own, as an instance of a workflow of one step; NotFound."""
        starting = Starting(self._engine, self._tenant, self._actor)
        asked = Start(
            workflow=f"{RUNS}{id}", input=as_json(input), key=key, correlation_id=correlation_id
        )
        try:
            document = await self.lone_workflow(id)
        except NotFound:
            # An earlier run under the same key is found all the same.
            if await starting.begun(asked) is None:
                raise
            begun = await starting.begin(asked)
        else:
            begun = await starting.begin_of(document, asked)
        return InstanceRef(
            self._engine, begun.instance_id, tenant=self._tenant, by=self._actor, is_known=True
        )

    async def lone_workflow(self, id: str) -> Object:
        """The workflow of one step that runs a task on its own; NotFound."""
        function = self._engine.registry.get(id)
        of_function = None if function is None else function.input_schema
        task: TaskDefinition
        try:
            task = await self.get(id)
        except NotFound:
            # A function of this process needs no declaration.
            if function is None:
                raise
            task = TaskDefinition(id=id, kind="pull")
        schema = with_registered(task).input_schema or of_function
        return workflow_of(msgspec.structs.replace(task, input_schema=schema))

    async def remove(self, id: str) -> None:
        """Forget a task; NotFound."""
        if not await self._store.tasks.remove(self._tenant, id):
            raise NotFound(f"there is no declared task {id}", code="TEN-3063")
        self._known.remove(self._tenant, id)
        await self._hint()

    async def _changed(self, row: TaskRow) -> None:
        had = self._engine.policies.of(self._tenant).limited
        self._known.put(row)
        has = self._engine.policies.of(self._tenant).limited
        if row.id in has and row.id not in had:
            # What waits already counts too; where that is not written, only what comes later does.
            with suppress(StoreUnavailable):
                await self._store.jobs.mark_limited(self._tenant, row.id)
        await self._hint()

    async def _hint(self) -> None:
        # Other processes find out by themselves too, only later.
        with suppress(StoreUnavailable):
            await self._store.members.hint(())

    def _with_secret(self, task: TaskDefinition, known: str | None) -> TaskDefinition:
        """The task with what signs its requests: given, as it was before, or made now."""
        if task.kind == "pull":
            return task
        secret = task.secret or known or new_secret(self._engine.ids)
        return msgspec.structs.replace(task, secret=secret)

    def _row(self, task: TaskDefinition, before: TaskRow | None) -> TaskRow:
        now = self._clock.now()
        return TaskRow(
            tenant=self._tenant,
            id=task.id,
            version=1 if before is None else before.version + 1,
            document=_encode(task),
            is_pushed=task.kind == "push",
            created_at=now if before is None else before.created_at,
            updated_at=now,
        )

    async def _check(self, task: TaskDefinition) -> None:
        """InvalidInput where a task cannot be declared; schemas of some size leave the loop."""
        try:
            size = len(_encode(task))
        except (TypeError, ValueError, RecursionError):
            size = 0  # made by a program, and refused below
        refuse = partial(self._refuse, task)
        if size < _LARGE:
            refuse()
        else:
            await self._engine.plans.values.aside(refuse, tenant=self._tenant)

    def _refuse_all(self, tasks: Sequence[WorkerTask]) -> None:
        for task in tasks:
            between_parts()
            self._refuse(_bare(task))

    def _refuse(self, task: TaskDefinition) -> None:
        # A struct that a program made was not checked; every reader of the row would refuse it.
        converted(task, TaskDefinition, "the task cannot be declared", code="TEN-2603")
        problems = _problems(task, self._allowance)
        if problems:
            raise InvalidInput(f"the task {task.id[:80]!r} cannot be declared", problems)


def _bare(task: WorkerTask | str) -> TaskDefinition:
    """A declaration of a worker's task, with the policy of its code or without one."""
    if isinstance(task, str):
        return TaskDefinition(id=task, kind="pull")
    return TaskDefinition(
        id=task.id,
        kind="pull",
        retry=task.retry,
        timeout=task.timeout,
        heartbeat_timeout=task.heartbeat_timeout,
        input_schema=task.input_schema,
        limits=task.limits or NO_LIMITS,
    )


def _registered_of(row: TaskRow) -> tuple[Registration, ...]:
    with suppress(msgspec.MsgspecError):
        return _decode(row.document).registered
    # A newer program's: it is replaced as a whole.
    return ()


def _secret_of(row: TaskRow) -> str | None:
    with suppress(msgspec.MsgspecError):
        return _decode(row.document).secret
    # A newer program's: it is replaced as a whole.
    return None


def declared(row: TaskRow) -> Declared:
    """A declared task as the store keeps it, without its secret."""
    task = msgspec.structs.replace(_decode(row.document), secret=None)
    return Declared(
        **{name: getattr(task, name) for name in task.__struct_fields__},
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        tag=tag_of(row),
    )


def _problems(task: TaskDefinition, allowance: Allowance) -> list[Problem]:
    if _ID.match(task.id) is None:
        return [_problem("$.id", "an id has up to 120 letters, digits and any of _ . : -")]
    # What a step may say of these, a task may.
    found = [
        msgspec.structs.replace(each, path=each.path.replace(_STEP, "$", 1))
        for each in check(workflow_of(task)).problems
        if each.severity == "error"
    ]
    if task.output_schema is not None:
        found += schema_problems(task.output_schema, "$.outputSchema")
    if len(task.description or "") > _LONGEST_TEXT:
        found.append(_problem("$.description", f"more than {_LONGEST_TEXT:,} characters"))
    if task.kind == "pull" and task.url is not None:
        found.append(_problem("$.url", "a task that workers pull is sent to no address"))
    if task.kind == "pull" and task.secret is not None:
        found.append(_problem("$.secret", "a task that workers pull is not signed"))
    if task.kind == "pull" and task.breaker != BreakerPolicy():
        found.append(_problem("$.breaker", "a task that workers pull is sent to no address"))
    if task.kind == "push":
        found += _breaker_problems(task.breaker)
        if task.url is None:
            found.append(_problem("$.url", "a task that is pushed needs the address"))
        else:
            found += url_problems(task.url, "$.url", allowance)
        found += secret_problems(task.secret)
    return found


def _breaker_problems(breaker: BreakerPolicy) -> list[Problem]:
    try:
        _ = breaker.open_span
    except ValueError as error:
        return [_problem("$.breaker.openFor", str(error))]
    return []


def _problem(path: str, message: str) -> Problem:
    return Problem(code="TEN-2603", path=path, message=message, advice="Correct the field.")
