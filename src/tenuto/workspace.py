"""What one principal of one tenant can do with an engine in this process."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.definition import parse_document, unavailable
from tenuto.engine.definitions.plans import Deployed, is_hidden, is_there
from tenuto.engine.definitions.search_terms import terms_for
from tenuto.engine.definitions.start_checks import (
    has_found_another,
    key_conflict,
    raise_rejection,
    refuse_unfit,
)
from tenuto.engine.engine import Engine
from tenuto.engine.events.event_intake import EventIntake
from tenuto.engine.events.event_views import event_view
from tenuto.engine.tenancy import held_by
from tenuto.engine.test_runs.mocks import not_run
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import Answer
from tenuto.events import GivenEvent, given_id_problems, id_problems, name_problems
from tenuto.instances import EMBEDDED, InstanceRef, Summary, crossed_by_removal
from tenuto.model.checks import aware, refuse_bad_ids
from tenuto.model.edited import EditedInput
from tenuto.model.errors import (
    Conflict,
    InvalidInput,
    NotAvailable,
    NotFound,
    Problem,
    StoreUnavailable,
    TenutoError,
    may_be_written,
    not_there,
)
from tenuto.model.events import Event
from tenuto.model.inputs import Started
from tenuto.model.json import JSON, Given, Object, as_json, json_problem
from tenuto.model.rehearsal import Rehearsal, inbox_of, is_rehearsed
from tenuto.model.status import FINAL, Status
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.published import Published, dry_published, published
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.store.pages import cursor_after
from tenuto.store.parts.dead_letters import DeadLetterPlace, DeadLetterRow
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.parts.instances import InstancePage, InstanceQuery, InstanceRow
from tenuto.store.protocol import Parts
from tenuto.task_definitions import TaskDefinitions
from tenuto.tasks.registry import Registry
from tenuto.webhooks import Subscriptions, Webhooks

_AT_ONCE = 500
"""So many instances are read together to pass over test runs."""

_Listeners = TypeVar("_Listeners", Webhooks, Subscriptions)


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """An instance that is asked for."""

    workflow: str
    input: JSON = None
    key: str | None = None
    correlation_id: str | None = None
    priority: int = 0
    deadline: datetime | None = None
    instance_id: str | None = None
    version: int | None = None
    traceparent: str | None = None
    """The trace that it belongs to (W3C)."""


class Saved(NamedTuple):
    """A definition that is saved, and whether that made a version of it."""

    id: str
    version: int
    is_new: bool
    before: DefinitionRow | None
    """The version that was the newest until then."""
    digest: bytes
    """Of what its author wrote."""


class Rehearsed(NamedTuple):
    """A test run that has started."""

    instance: InstanceRef
    status: Status
    not_run: list[str]
    """Steps that are neither mocked nor run: each gives an empty object."""


class Workspace:
    """An engine as one principal of one tenant sees it: what is another tenant's is not there."""

    __slots__ = ("_flows", "_taking", "actor", "engine", "tasks", "tenant")

    def __init__(
        self,
        engine: Engine,
        tasks: Registry,
        *,
        tenant: str = DEFAULT_TENANT,
        actor: str = EMBEDDED,
    ) -> None:
        """`actor` is who asks: what they ask for is recorded in their name."""
        self.engine = engine
        self.tasks = tasks
        self.tenant = tenant
        self.actor = actor
        self._taking = EventIntake(engine.clock, engine.ids, engine.settings.limits, tenant)
        self._flows: dict[WorkflowFunction[..., Any], int] = {}
        """Workflow functions that were deployed through this, each with its version."""

    @property
    def task_definitions(self) -> TaskDefinitions:
        """Tasks that the tenant has declared."""
        return TaskDefinitions(self.engine, self.tenant)

    # -- definitions

    async def deploy(
        self, definition: Mapping[str, JSON] | str | Path | WorkflowFunction[..., Any]
    ) -> int:
        """Save a definition and return its version."""
        if isinstance(definition, WorkflowFunction):
            return await self._deploy_flow(definition, set())
        document = read_definition(definition)
        return (await self.engine.plans.save(self.tenant, document)).version

    async def save(self, document: JSON, *, only_after: int | None = None) -> Saved:
        """Save a definition and say whether that made a new version.

        With `only_after` it is saved only while that is the newest version; Conflict.
        """
        engine = self.engine
        definition_id = engine.plans.compile(document).definition.id
        before = await self._seen.definitions.get(self.tenant, definition_id)
        newest = 0 if before is None else before.version
        saved = await engine.plans.save(self.tenant, document, only_after=only_after)
        is_new = saved.version != newest
        return Saved(definition_id, saved.version, is_new, before, saved.digest)

    async def definition(self, id: str, version: int | None = None) -> DefinitionRow:
        """A definition as it was saved, without a version the newest; NotFound."""
        found = None
        if not is_rehearsed(id):
            found = await self._seen.definitions.get(self.tenant, id, version)
        if not is_there(found):
            await self.engine.plans.get(self.tenant, id, version)  # it says what there is instead
            raise NotFound(f"there is no workflow {id}", code="TEN-2002")
        return found

    async def versions(self, id: str, versions: Iterable[int]) -> list[DefinitionRow]:
        """Those of some versions of a definition that are there, in their order."""
        seen = self._seen
        rows = await asyncio.gather(
            *(seen.definitions.get(self.tenant, id, version) for version in versions)
        )
        return list(filter(is_there, rows))

    async def newest(self, *, after: str = "", limit: int = 100) -> list[DefinitionRow]:
        """The newest versions of the definitions behind the id `after`, in the order of ids."""
        found: list[DefinitionRow] = []
        while len(found) < limit:
            wanted = limit - len(found)
            rows = await self._seen.definitions.newest(self.tenant, after=after, limit=wanted)
            found += filter(is_there, rows)
            if len(rows) < wanted:
                break
            # Those that were removed leave a hole in the page.
            after = rows[-1].id
        return found

    async def remove_definition(self, id: str) -> None:
        """Let a definition be as if it were not there; Conflict while instances of it run."""
        await self.definition(id)
        if (await self._open_of(id, limit=1)).items:
            raise _still_runs(id)
        removed = await self.engine.plans.hide(self.tenant, id)
        await self.engine.plans.starts_settled()
        # Those that were started before it was hidden, and after the others were looked for.
        if (await self._open_of(id, limit=1)).items:
            await self.engine.plans.show_again(self.tenant, removed)
            raise _still_runs(id)

    async def withdraw_definition(self, id: str) -> DefinitionRow | None:
        """Let a definition be as if it were not there; what runs of it keeps its version. NotFound.

        What it gives is the version that was the newest; None where it was taken away before and
        instances of it still run, so that who broke off before they were cancelled can go on.
        """
        plans = self.engine.plans
        there = await self._seen.definitions.get(self.tenant, id)
        if there is not None and is_hidden(there) and (await self._open_of(id, limit=1)).items:
            return None
        removed = await plans.hide(self.tenant, id)
        await plans.starts_settled()
        return removed

    async def definition_ids(self) -> list[str]:
        """The ids of all definitions, in order."""
        ids = await self._seen.definitions.ids(self.tenant)
        return [id for id in ids if not is_rehearsed(id)]

    # -- instances

    async def start(
        self,
        workflow: str | WorkflowFunction[..., Any],
        input: Given = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
        priority: int = 0,
        deadline: datetime | None = None,
        instance_id: str | None = None,
        version: int | None = None,
    ) -> InstanceRef:
        """Start an instance; when this returns, it is durable."""
        refuse_bad_ids(key=key, correlationId=correlation_id)
        deployed = version
        if isinstance(workflow, WorkflowFunction):
            if version is None:
                deployed = self._flows.get(workflow) or await self.deploy(workflow)
            workflow = workflow.id
        asked = Start(
            workflow=workflow,
            input=as_json(input),
            key=key,
            correlation_id=correlation_id,
            priority=priority,
            deadline=deadline,
            instance_id=instance_id,
            version=version,
        )
        return self._own((await self.begin(asked, version=deployed)).instance_id)

    async def begin(self, asked: Start, *, version: int | None = None) -> Answer:
        """Start an instance and say what became of it, whether it had been started before too.

        `version` is the one that is started where that was not asked for.
        """
        refuse_bad_ids(key=asked.key, correlationId=asked.correlation_id)
        instance_id = _uuid(asked.instance_id)
        aware(asked.deadline, "deadline")
        if is_rehearsed(asked.workflow):
            raise NotFound(f"there is no workflow {asked.workflow}", code="TEN-2002")
        plans, looked_at = self.engine.plans, self.engine.clock.ticks()
        try:
            deployed = await plans.for_new(self.tenant, asked.workflow, version or asked.version)
            deployed.refuse_unavailable()
            refuse_unfit(deployed.plan, asked.input, self.engine.settings, self.tasks)
        except (InvalidInput, NotAvailable, NotFound):
            # Of what was started before, the definition may have changed or gone since.
            answer = await self.begun(asked)
            if answer is None:
                raise
        else:
            answer = await self._start(deployed, asked, instance_id)
            is_ours = not answer.is_repeat
            if is_ours and await plans.went_meanwhile(self.tenant, asked.workflow, looked_at):
                raise await crossed_by_removal(self._own(answer.instance_id), asked.workflow)
        if answer.is_repeat and instance_id not in (None, answer.instance_id):
            raise key_conflict(answer.instance_id)
        return answer

    async def begin_of(self, document: JSON, asked: Start) -> Answer:
        """Start an instance of a definition that is saved with it, unless the start is refused."""
        refuse_bad_ids(key=asked.key, correlationId=asked.correlation_id)
        _uuid(asked.instance_id)
        aware(asked.deadline, "deadline")
        if asked.version is not None or await self.begun(asked) is not None:
            return await self.begin(asked)
        plan = self.engine.plans.compile(document)
        refuse_unfit(plan, asked.input, self.engine.settings, self.tasks)
        saved = await self.engine.plans.save(self.tenant, document)
        return await self.begin(asked, version=saved.version)

    async def begun(self, asked: Start) -> Answer | None:
        """What the same start made before, if that was under the same key; Conflict."""
        if asked.key is None or json_problem(asked.input) is not None:
            return None
        return await self.engine.turns.begun(self.tenant, asked.key, _content_hash(asked))

    async def begin_many(self, asked: Sequence[Start]) -> list[Answer | TenutoError]:
        """Start several at once; what is wrong with one is in its place and keeps no other."""
        return await asyncio.gather(*map(self._begin_if_it_can, asked))

    async def start_many(self, asked: Sequence[Start]) -> list[InstanceRef | TenutoError]:
        """Start several at once; what is wrong with one is in its place and keeps no other."""
        return [
            each if isinstance(each, TenutoError) else self._own(each.instance_id)
            for each in await self.begin_many(asked)
        ]

    async def instance(self, id: str) -> InstanceRef:
        """A reference to an instance; NotFound when there is none."""
        found = await self._seen.instances.page(
            InstanceQuery(ids=(id,), limit=1, tenant=self.tenant)
        )
        if not found.items:
            raise not_there(id)
        return self._own(id)

    def at(self, id: str, *, by: str | None = None) -> InstanceRef:
        """A reference to an instance that may not be there: it says so when it is asked.

        `by` is in whose name it is asked, where that is not the actor's.
        """
        return InstanceRef(self.engine, id, tenant=self.tenant, by=by or self.actor)

    async def held(self, id: str) -> Held:
        """An instance as its log says it is now; NotFound when there is none."""
        return await held_by(self.engine, self.tenant, id)

    async def instances(
        self,
        *,
        status: Status | str | Iterable[Status | str] = (),
        workflow: str | None = None,
        correlation_id: str | None = None,
        current_step: str | None = None,
        variables: Mapping[str, Given] | None = None,
        limit: int = 100,
    ) -> list[Summary]:
        """Instances, newest first.

        `variables`: those that have these values, by names that the workflow lists in
        `options.searchable`; InvalidInput where it does not, or where no workflow is named.
        """
        wanted = (status,) if isinstance(status, str) else tuple(status)
        page = await self.page(
            InstanceQuery(
                statuses=tuple(Status(name) for name in wanted),
                definition_id=workflow,
                correlation_id=correlation_id,
                current_step=current_step,
                limit=limit,
            ),
            None if variables is None else cast("Object", dict(variables)),
        )
        return [Summary.of(row) for row in page.items]

    async def page(self, query: InstanceQuery, variables: Object | None = None) -> InstancePage:
        """A page of this tenant's instances, whatever tenant the query names.

        Test runs are shown to who names them by their ids. `variables`: only those that have these
        values; InvalidInput where they are not found by them.
        """
        if variables is not None:
            plans, workflow = self.engine.plans, query.definition_id
            terms = await terms_for(plans, self.tenant, workflow, variables)
            query = msgspec.structs.replace(query, terms=terms)
        rows: list[InstanceRow] = []
        query = msgspec.structs.replace(query, tenant=self.tenant)
        wanted = query.limit
        while True:
            page = await self._seen.instances.page(query)
            if query.ids:
                return page
            rows += [row for row in page.items if not is_rehearsed(row.definition_id)]
            if len(rows) > wanted:
                return InstancePage(rows[:wanted], cursor_after(rows[wanted - 1]))
            if page.next_after is None or len(rows) == wanted:
                return InstancePage(rows, page.next_after)
            # There may be many test runs: they are passed over in few statements.
            ahead = max(wanted - len(rows), _AT_ONCE)
            query = msgspec.structs.replace(query, after=page.next_after, limit=ahead)

    # -- what is only tried out

    async def rehearse(self, document: JSON, input: JSON, rehearsal: Rehearsal) -> Rehearsed:
        """Run a definition that is not saved; when this returns, it is durable.

        It runs as a saved one does, with stand-ins for what it may not do. No list shows it, and
        nobody is told of it. Whoever started it stops it; otherwise it is erased after an hour.
        """
        engine = self.engine
        id = engine.ids.instance_id(engine.clock.now())
        plan = engine.plans.for_test_run(document, rehearsal, id)
        missing = unavailable(plan.definition)
        if missing:
            message = "the definition uses something this version does not run"
            raise NotAvailable(message, missing)
        refuse_unfit(plan, input, engine.settings, self.tasks)
        started = await engine.test_runs.started(self.tenant, document, plan, input)
        answer = await engine.start(plan, started, instance_id=id, tenant=self.tenant)
        raise_rejection(answer)
        return Rehearsed(self._own(id), answer.status, not_run(plan))

    async def publish_in_rehearsal(self, id: str, document: Given) -> list[Published | TenutoError]:
        """Publish events that a test run alone sees, as `publish_all` does; NotFound."""
        await self._require_rehearsal(id)
        engine = self.engine
        taking = EventIntake(engine.clock, engine.ids, engine.settings.limits, inbox_of(id))
        taken = taking.events(as_json(document))
        return await asyncio.gather(
            *(self._publish_if_taken(each, dry_run=False) for each in taken)
        )

    async def stop_rehearsal(self, id: str) -> None:
        """End a test run and erase every trace of it; NotFound where there is none."""
        await self._require_rehearsal(id)
        await self.engine.test_runs.stop(self.tenant, id)

    async def _require_rehearsal(self, id: str) -> None:
        try:
            held = await self.held(id)
        except NotFound:
            held = None
        if held is None or not is_rehearsed(held.state.definition_id):
            raise NotFound(f"there is no test run {id}", code="TEN-3070")

    # -- what could not be done

    async def dead_letters(
        self, limit: int, *, below: DeadLetterPlace | None = None
    ) -> list[DeadLetterRow]:
        """Dead letters, newest first."""
        return await self._seen.dead_letters.page(self.tenant, limit, below=below)

    async def dead_letter(self, id: str) -> DeadLetterRow:
        """A dead letter; NotFound when there is none."""
        instance_id = id.partition(":")[0]
        found = await self._seen.dead_letters.get(self.tenant, instance_id, id)
        if found is None:
            raise NotFound(f"there is no dead letter {id}", code="TEN-3040")
        return found

    async def retry_dead_letter(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Try again what could not be done; its letter is gone then. Conflict where it cannot.

        `input` is what the task is given instead of what it failed with; InvalidInput where that
        is not what the task is declared to take.
        """
        letter = await self.dead_letter(id)
        instance = self._own(letter.instance_id)
        if letter.kind == "late-result":
            raise Conflict(
                "a result that came too late cannot be tried again",
                code="TEN-3041",
                advice="Look at what it did, undo that by hand if need be, and discard the letter.",
            )
        if input is not UNSET and letter.task_id is not None:
            await self.task_definitions.refuse_bad_input(letter.task_id, input)
        if letter.kind == "compensation-failed":
            status = await instance.retry_compensation(letter.node, letter.iteration, input=input)
        elif input is UNSET:
            status = await instance.retry()
        else:
            edited = EditedInput(step_id=letter.node, iteration=letter.iteration, input=input)
            status = await instance.retry(edited=edited)
        # What is tried again has none any more. One of something that was handled is left, such as
        # of a step that was poison: it goes now.
        try:
            await self.engine.store.dead_letters.discard(self.tenant, letter.instance_id, id)
        except StoreUnavailable as error:
            raise may_be_written(
                f"it is tried again, and whether its letter is gone is not known: {error.message}"
            ) from error
        return status

    async def discard_dead_letter(self, id: str) -> None:
        """Forget a dead letter; NotFound when there is none."""
        letter = await self.dead_letter(id)
        await self.engine.store.dead_letters.discard(self.tenant, letter.instance_id, id)

    # -- events

    async def publish(
        self,
        pattern: str,
        payload: Given = None,
        *,
        id: str | None = None,
        correlation_id: str | None = None,
        timestamp: datetime | None = None,
        dry_run: bool = False,
    ) -> Published:
        """Publish an event; when this returns it is durable and its targets are recorded."""
        refuse_bad_ids(id=id, correlationId=correlation_id)
        given = GivenEvent(
            pattern=pattern,
            payload=as_json(payload),
            id=id,
            correlation_id=correlation_id,
            timestamp=aware(timestamp, "timestamp"),
        )
        wrong = [
            *name_problems(pattern, "$.pattern"),
            *given_id_problems(id, "$.id"),
            *id_problems(correlation_id, "$.correlationId"),
        ]
        return await self._publish(self._taking.event(given, problems=wrong), dry_run=dry_run)

    async def publish_given(self, given: GivenEvent, *, dry_run: bool = False) -> Published:
        """Publish an event that was read from a request."""
        return await self._publish(self._taking.event(given), dry_run=dry_run)

    async def publish_all(
        self, document: Given, *, dry_run: bool = False
    ) -> list[Published | TenutoError]:
        """Publish the events of a document: one, or an array of up to 1,000; a result each."""
        taken = self._taking.events(as_json(document))
        return await asyncio.gather(
            *(self._publish_if_taken(each, dry_run=dry_run) for each in taken)
        )

    async def event(self, id: str) -> Object:
        """An event of the inbox; NotFound when there is none."""
        return event_view(await self.engine.inspector.event(self.tenant, id))

    # -- addresses that are told of events

    @property
    def webhooks(self) -> Webhooks:
        """Addresses that are told of events: add, list, remove, enable."""
        return self._listeners(Webhooks)

    @property
    def subscriptions(self) -> Subscriptions:
        """Addresses that somebody outside has named, until they expire."""
        return self._listeners(Subscriptions)

    # -- inner

    @property
    def _seen(self) -> Parts:
        """What is read for somebody is read as its tenant, who sees nothing of the others'."""
        return self.engine.store.seen_by(self.tenant)

    def _own(self, id: str) -> InstanceRef:
        """An instance that is there and this tenant's: never one whose id came from outside."""
        return InstanceRef(self.engine, id, tenant=self.tenant, by=self.actor, is_known=True)

    async def _tell_nothing_of_others(self, answer: Answer) -> None:
        """Where the id of a start is another tenant's: that it is in use, and not how that stands.

        Ids are unique over all tenants, so that one that is in use cannot be had.
        """
        rejection = answer.rejection
        if rejection is None or not has_found_another(answer):
            return
        query = InstanceQuery(ids=(answer.instance_id,), limit=1)
        if not (await self.page(query)).items:
            raise Conflict(rejection.message, code=rejection.code)

    async def _open_of(self, id: str, *, limit: int) -> InstancePage:
        open_ones = tuple(each for each in Status if each not in FINAL)
        query = InstanceQuery(definition_id=id, statuses=open_ones, limit=limit)
        return await self.page(query)

    async def _start(self, deployed: Deployed, asked: Start, instance_id: str | None) -> Answer:
        answer = await self.engine.start(
            deployed.plan,
            _started(asked, deployed.version),
            instance_id=instance_id,
            key=asked.key,
            content_hash=_content_hash(asked) if asked.key is not None else b"",
            tenant=self.tenant,
        )
        await self._tell_nothing_of_others(answer)
        raise_rejection(answer)
        return answer

    async def _begin_if_it_can(self, asked: Start) -> Answer | TenutoError:
        try:
            return await self.begin(asked)
        except TenutoError as error:
            return error

    async def _publish_if_taken(
        self, taken: Event | TenutoError, *, dry_run: bool
    ) -> Published | TenutoError:
        if isinstance(taken, TenutoError):
            return taken
        try:
            return await self._publish(taken, dry_run=dry_run)
        except TenutoError as error:
            return error

    async def _publish(self, event: Event, *, dry_run: bool) -> Published:
        if dry_run:
            return dry_published(event, await self.engine.inspector.dry_run(event))
        return published(event, await self.engine.publish(event))

    def _listeners(self, kind: type[_Listeners]) -> _Listeners:
        engine = self.engine
        return kind(
            engine.store,
            engine.clock,
            engine.ids,
            may_be_private=engine.settings.private_webhooks,
            changed=engine.outbox.hint,
            tenant=self.tenant,
        )

    async def _deploy_flow(
        self, flow: WorkflowFunction[..., Any], seen: set[WorkflowFunction[..., Any]]
    ) -> int:
        seen.add(flow)
        for child in flow.children:
            if child not in seen:
                await self._deploy_flow(child, seen)
        saved = await self.engine.plans.save(self.tenant, flow.checked())
        self._flows[flow] = saved.version
        return saved.version


def read_definition(definition: Mapping[str, JSON] | str | Path) -> JSON:
    """The document that was given, or that stands in a file."""
    if isinstance(definition, Mapping):
        return cast("Object", dict(definition))
    path = Path(definition)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}", code="TEN-3001") from error
    return parse_document(text, str(path))


def _still_runs(id: str) -> Conflict:
    return Conflict(
        f"instances of {id} have not ended",
        code="TEN-3011",
        advice="Wait for them, or cancel them with force.",
    )


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


def _started(asked: Start, version: int) -> Started:
    return Started(
        definition_id=asked.workflow,
        definition_version=version,
        input=asked.input,
        correlation_id=asked.correlation_id,
        priority=asked.priority,
        deadline=asked.deadline,
        traceparent=asked.traceparent or UNSET,
    )


def _content_hash(asked: Start) -> bytes:
    """What makes two starts the same: not the version that happened to be the newest."""
    content = msgspec.structs.replace(_started(asked, asked.version or 0), traceparent=UNSET)
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).digest()
