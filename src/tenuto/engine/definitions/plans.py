"""Plans of saved definitions, compiled once and kept."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeGuard

import msgspec

from tenuto.built_in.protocol import CodeChecker
from tenuto.core import Plan
from tenuto.definition import Checked, check, compile_definition
from tenuto.definition.compiler import invalid_definition
from tenuto.definition.report import did_you_mean
from tenuto.definition.schemas import weigh_input_schema
from tenuto.encryption.errors import NO_KEYS
from tenuto.encryption.parts import PATTERNS_KEPT
from tenuto.encryption.store import can_seal
from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.definitions.code_checks import CodeChecks
from tenuto.engine.definitions.input_checks import InputChecks
from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.engine.definitions.listener_rows import STILL_WANTED, listener_of
from tenuto.engine.definitions.reading import Version, digest_of, version_of
from tenuto.engine.test_runs.mocks import (
    Stored,
    definition_of_test_run,
    read_stored,
    refuse_bad_mocks,
    with_mocks,
)
from tenuto.engine.turns.sharing import Sharing
from tenuto.model.errors import Conflict, InvalidDefinition, NotFound, Problem
from tenuto.model.graph import Definition
from tenuto.model.json import JSON
from tenuto.model.large_json import decode
from tenuto.model.policy import (
    DEFAULT_LIMITS,
    DEFAULT_RETRY,
    DEFAULT_TIMEOUT,
    Limits,
    RetryPolicy,
)
from tenuto.model.quotas import DEFAULT_QUOTAS, Quotas, refuse_beyond
from tenuto.model.test_run import PREFIX, TestRunSpec, is_test_run
from tenuto.ports import Clock
from tenuto.store.errors import DataRefused, Superseded
from tenuto.store.parts.definitions import REMOVED, DefinitionRow
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.engine")

_KEPT = 1_000
_NAMED = 8
"""So many definitions are named where one is not found."""
_KEPT_BYTES = 32_000_000
"""The most bytes of documents whose plans are kept: a plan takes many times as much."""
_SCHEMA = b'Schema"'
_TIMES_WITH_SCHEMAS = 10
"""Documents with schemas count so many times: finding the bounds of a schema takes up to a
millisecond for a thousand bytes."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_HEARD_FOR = STILL_WANTED / 4
"""A version that was listed so short a time ago stays listed until an instance has started."""


async def _admit_all(_tenant: str, _size: int) -> None: ...


def is_there(row: DefinitionRow | None) -> TypeGuard[DefinitionRow]:
    """Whether a version can be run."""
    return row is not None and not row.is_removed


def _not_the_newest(id: str, newest: int) -> Conflict:
    return Conflict(
        f"the newest version of {id} is {newest}",
        code="TEN-3010",
        advice="Look at the newest version, and make your change to that one.",
    )


class Deployed(NamedTuple):
    """A saved definition version, ready to run."""

    version: int
    plan: Plan
    digest: bytes = b""
    """The hash of the author's document."""
    size: int = 0
    """Of the author's document, in bytes."""


class Plans:
    """Definition versions by id and number; immutable, so never stale."""

    def __init__(  # noqa: PLR0913 - one for each setting
        self,
        store: Store,
        clock: Clock,
        retry: RetryPolicy = DEFAULT_RETRY,
        limits: Limits = DEFAULT_LIMITS,
        *,
        quotas: Quotas = DEFAULT_QUOTAS,
        listeners_changed: Callable[[], None] = lambda: None,
        bounds: Bounds = DEFAULT_BOUNDS,
        timeout: timedelta = DEFAULT_TIMEOUT,
        code: CodeChecker | None = None,
    ) -> None:
        """`listeners_changed` is called when a saved definition subscribes to lifecycle events.

        `code` parses that of javascript nodes; None: it fails when it runs.
        """
        self.code = CodeChecks(clock, code)
        self.admit: Callable[[str, int], Awaitable[None]] = _admit_all
        """Refuses a document of so many bytes where its tenant has its most."""
        self.saved: Callable[[str, str], None] = lambda _tenant, _id: None
        """Called with the tenant and id of a definition that was saved."""
        self._listeners_changed = listeners_changed
        self._most_entries = bounds.decision_entries
        self._timeout = timeout
        self._store = store
        self._clock = clock
        self._limits = limits
        self._quotas = quotas
        self._retry = retry
        self._deployed: dict[tuple[str, str, int], Deployed] = {}
        self._kept_bytes = 0
        self._newest: dict[tuple[str, str], int] = {}
        self._hidden: set[tuple[str, str]] = set()
        """Definitions that this process has hidden, until they are saved again."""
        self._listened: dict[tuple[str, str, int], datetime] = {}
        """Versions that were asked for by number → when their listener was last renewed."""
        self._about_to_read: dict[tuple[str, str], asyncio.Future[DefinitionRow | None]] = {}
        self._reading = asyncio.Lock()
        # A check takes far longer than one of a value of the same size.
        self._large = LargeDocuments(bounds.large_document // 10)
        self.values = LargeDocuments(bounds.large_document)
        """Checks bodies, inputs and payloads without blocking the loop; none takes long."""
        self.inputs = InputChecks(self.values)

    def share(self, sharing: Sharing) -> None:
        """Let the threads make way for other tenants that are at work."""
        self._large.sharing = self.values.sharing = sharing

    def leave(self) -> None:
        """Refuse large documents of requests that are not read yet: the process stops."""
        for documents in (self._large, self.values):
            documents.refuse_all()

    async def get(self, tenant: str, id: str, version: int | None = None) -> Deployed:
        """A version; without a number the newest. NotFound when there is none."""
        if version is None and not self._store.is_shared:
            # Only this process saves definitions, unless the store is shared.
            version = self._newest.get((tenant, id))
        if version is not None:
            found = self._deployed.get((tenant, id, version))
            if found is not None:
                return found
            row = await self._store.definitions.get(tenant, id, version)
        else:
            row = await self._newest_row(tenant, id)
        if row is None or row.is_removed:
            which = id if version is None else f"{id} version {version}"
            advice = await self._advice(tenant, id)
            raise NotFound(f"there is no workflow {which}", code="TEN-2002", advice=advice)
        known = self._deployed.get((tenant, id, row.version))
        return known or self._keep(row, await self._compiled(row))

    async def for_start(self, tenant: str, id: str, version: int | None = None) -> Deployed:
        """A version of which an instance is about to start; NotFound when there is none.

        The listener of an old version is renewed: it may have been removed.
        """
        found = await self.get(tenant, id, version)
        key = tenant, id, found.version
        now = self._clock.now()
        if version is None or now - self._listened.get(key, _LONG_AGO) < _HEARD_FOR:
            return found
        if (listener := listener_of(found.plan.definition, found.digest, now, tenant)) is not None:
            await self._store.listeners.put(listener)
            self._listeners_changed()
        self._listened[key] = now
        return found

    async def for_new(self, tenant: str, id: str, version: int | None = None) -> Deployed:
        """A version for a new start; NotFound also where the definition was removed.

        Its versions stay for their instances, and for the children that those were promised.
        """
        if version is not None and not await self._is_offered(tenant, id):
            advice = await self._advice(tenant, id)
            raise NotFound(f"there is no workflow {id}", code="TEN-2002", advice=advice)
        return await self.for_start(tenant, id, version)

    async def _is_offered(self, tenant: str, id: str) -> bool:
        if not self._store.is_shared and (tenant, id) in self._newest:
            return True
        newest = await self._newest_row(tenant, id)
        # Where there never was one, reading the version says so.
        return newest is None or not newest.is_removed

    def known(self, tenant: str, id: str, version: int) -> Deployed | None:
        """A version, if it is in memory."""
        return self._deployed.get((tenant, id, version))

    async def save(
        self,
        tenant: str,
        document: JSON,
        *,
        only_after: int | None = None,
        plan: Plan | None = None,
    ) -> Deployed:
        """Check, compile and save a document; the same content makes no new version.

        With `only_after` it is saved only while that is the newest version; Conflict. `plan`: what
        it was compiled to before.
        """
        plan = plan or await self.read_to_save(tenant, document)
        work = partial(version_of, document, plan.definition, tenant, self._clock.now())
        version = await self._large.check(document, work, tenant=tenant)
        return self._keep(await self.save_version(tenant, version, only_after), plan)

    async def save_version(
        self, tenant: str, version: Version, only_after: int | None = None
    ) -> DefinitionRow:
        """Save what was read of a document, as `save` does; its plan is made when it is needed."""
        if only_after is not None:
            # Before the listener is written: a refused save changes nothing. A save that is
            # overtaken after this leaves a listener, which retention removes.
            await self._refuse_unless_newest(tenant, version.id, only_after)
        await self._refuse_beyond_quotas(tenant, version.id, version.digest, len(version.content))
        await self._encrypt_events(tenant, version)
        listener = version.listener
        if listener is not None:
            # First: once it is saved, no event that it waits for is missed.
            await self._store.listeners.put(listener)
            self._listeners_changed()
        try:
            row = await self._store.definitions.save(
                tenant,
                version.id,
                version.content,
                version.digest,
                self._clock.now(),
                triggers=version.triggers,
                only_after=only_after,
            )
        except Superseded as error:
            raise _not_the_newest(version.id, error.newest) from None
        except DataRefused:
            if listener is not None:
                await self._store.listeners.remove(tenant, listener.kind, listener.id)
            raise
        self._newest[tenant, row.id] = row.version
        self._hidden.discard((tenant, row.id))
        self.saved(tenant, row.id)
        for name in await self._missing(tenant, version):
            log.warning("definition=%s starts %s, which is not saved yet", row.id, name)
        return row

    async def _encrypt_events(self, tenant: str, version: Version) -> None:
        """Have the events encrypted that instances of a version may take; InvalidDefinition.

        First: once it is saved, every process encrypts them. A process of a shared store may know
        the patterns of before for a moment, which the first save of new ones waits for.
        """
        patterns = version.sealed_patterns
        if patterns is None:
            return
        # The events of test runs have inboxes of their own, in which all are encrypted.
        wanted = () if is_test_run(version.id) else patterns
        added = await self._store.sealed.declare(tenant, wanted)
        if not can_seal(self._store):
            raise _no_keys()
        if added and self._store.is_shared:
            await self._clock.sleep(2 * PATTERNS_KEPT.total_seconds())

    async def _refuse_beyond_quotas(self, tenant: str, id: str, digest: bytes, size: int) -> None:
        """QuotaExceeded where a tenant has too many definitions, versions of one, or bytes."""
        known = self._deployed.get((tenant, id, self._newest.get((tenant, id), 0)))
        if is_test_run(id) or (known is not None and known.digest == digest):
            return
        newest = await self._store.definitions.get(tenant, id)
        if newest is None:
            used = len(await self._store.definitions.ids(tenant))
            refuse_beyond("definitions", used, self._quotas.definitions)
        elif newest.content_hash != digest:
            refuse_beyond("versions", newest.version, self._quotas.versions)
        else:
            return
        await self.admit(tenant, size)

    async def _refuse_unless_newest(self, tenant: str, id: str, version: int) -> None:
        newest = await self._store.definitions.get(tenant, id)
        number = 0 if newest is None else newest.version
        if number != version:
            raise _not_the_newest(id, number)

    async def for_test_run(
        self, document: JSON, rehearsal: TestRunSpec, instance_id: str, *, tenant: str = ""
    ) -> Plan:
        """The plan of a test run's document, for one instance.

        InvalidDefinition and InvalidInput name all problems of it and of its mocks.
        """

        def planned(definition: Definition) -> Plan:
            return self._test_run_plan(definition, rehearsal, instance_id)

        checked, plan = await self._read(document, planned, tenant)
        assert checked.definition is not None
        refuse_bad_mocks(checked.definition, rehearsal)
        return plan

    async def keep_test_run(self, tenant: str, document: JSON, plan: Plan) -> int:
        """Keep the document of a test run for as long as its instance exists; returns its version.

        Only the test run starts it, and it causes no notifications.
        """
        assert plan.rehearsal is not None
        stored = Stored(definition=document, rehearsal=plan.rehearsal)
        work = partial(msgspec.json.encode, stored)
        content = await self._large.check(document, work, tenant=tenant)
        digest = hashlib.sha256(content).digest()
        now = self._clock.now()
        row = await self._store.definitions.save(tenant, plan.definition.id, content, digest, now)
        self._keep(row, plan)
        return row.version

    def forget(self, tenant: str, id: str) -> None:
        """Forget a definition that was deleted."""
        for key in [each for each in self._deployed if each[:2] == (tenant, id)]:
            self._drop(key)

    async def _compiled(self, row: DefinitionRow) -> Plan:
        work = partial(self._plan_of, row)
        size = len(row.content)
        if _SCHEMA in row.content:
            size *= _TIMES_WITH_SCHEMAS
        return await self._large.read(size, work, tenant=row.tenant, may_refuse=False)

    def _plan_of(self, row: DefinitionRow) -> Plan:
        plan = self._plan_without_bounds(row)
        # Counts the steps of its schema here, which may be in a thread, and not at a start.
        weigh_input_schema(plan.definition)
        return plan

    def _plan_without_bounds(self, row: DefinitionRow) -> Plan:
        if not is_test_run(row.id):
            return self.compile(decode(row.content), is_saved=True)
        stored = read_stored(row.content)
        definition = compile_definition(stored.definition, is_saved=True)
        instance_id = row.id.removeprefix(PREFIX)
        return self._test_run_plan(definition, stored.rehearsal, instance_id)

    def _test_run_plan(
        self, definition: Definition, rehearsal: TestRunSpec, instance_id: str
    ) -> Plan:
        rehearsal = with_mocks(definition, rehearsal)
        return Plan(
            definition_of_test_run(definition, instance_id),
            retry=self._retry,
            limits=self._limits,
            most_entries=self._most_entries,
            timeout=self._timeout,
            rehearsal=rehearsal,
        )

    async def hide(self, tenant: str, id: str) -> DefinitionRow:
        """Hide a definition and its triggers; NotFound. Returns the newest version before.

        Its versions stay for their instances. The removal is a version without content, the newest
        one: saving the definition again makes the version after that.
        """
        newest = await self._store.definitions.get(tenant, id)
        if newest is None or newest.is_removed:
            advice = await self._advice(tenant, id)
            raise NotFound(f"there is no workflow {id}", code="TEN-2002", advice=advice)
        digest = hashlib.sha256(REMOVED).digest()
        try:
            await self._store.definitions.save(
                tenant, id, REMOVED, digest, self._clock.now(), only_after=newest.version
            )
        except Superseded as error:
            raise _not_the_newest(id, error.newest) from None
        self._newest.pop((tenant, id), None)
        self._hidden.add((tenant, id))
        return newest

    def was_hidden(self, tenant: str, id: str) -> bool:
        """Whether this process has hidden a definition that was not saved again since."""
        return (tenant, id) in self._hidden

    async def show_again(self, tenant: str, removed: DefinitionRow) -> None:
        """Restore a definition that was hidden too soon, unless it was saved meanwhile."""
        with suppress(Conflict):
            document = msgspec.json.decode(removed.content)
            await self.save(tenant, document, only_after=removed.version + 1)

    async def check(
        self,
        document: JSON,
        events_kept: timedelta,
        *,
        tenant: str = "",
        may_refuse: bool = True,
    ) -> Checked:
        """All problems of a document; `events_kept`: for how long events are kept."""
        work = partial(check, document, events_kept=events_kept)
        checked = await self._large.check(document, work, tenant=tenant, may_refuse=may_refuse)
        if not checked.code:
            return checked
        return checked.with_problems(await self.code.problems(checked.code, tenant))

    async def read(self, document: JSON, *, tenant: str = "") -> Plan:
        """Check and compile a document from outside; InvalidDefinition names all problems."""
        _, plan = await self._read(document, self._planned, tenant)
        return plan

    async def _read(
        self, document: JSON, planned: Callable[[Definition], Plan], tenant: str
    ) -> tuple[Checked, Plan]:
        """`planned` makes the plan where the document is checked, which may be in a thread."""
        work = partial(_checked, document, planned)
        checked, plan = await self._large.check(document, work, tenant=tenant, may_refuse=True)
        if checked.code:
            checked = checked.with_problems(await self.code.problems(checked.code, tenant))
        if plan is None or checked.definition is None:
            raise invalid_definition(checked.problems)
        return checked, plan

    async def read_to_save(self, tenant: str, document: JSON) -> Plan:
        """Like `read`, by the rules of its time where the document is the newest version already.

        A program that saves its definitions as it begins goes on after an upgrade with new rules.
        """
        try:
            return await self.read(document, tenant=tenant)
        except InvalidDefinition:
            id = document.get("id") if isinstance(document, dict) else None
            row = await self._store.definitions.get(tenant, id) if isinstance(id, str) else None
            if not is_there(row) or row.content_hash != digest_of(document):
                raise
            return await self._compiled(row)

    def compile(self, document: JSON, *, is_saved: bool = False) -> Plan:
        """Check and compile a document; InvalidDefinition names all problems but those of code."""
        return self._planned(compile_definition(document, is_saved=is_saved))

    def _planned(self, definition: Definition) -> Plan:
        plan = Plan(
            definition,
            retry=self._retry,
            limits=self._limits,
            most_entries=self._most_entries,
            timeout=self._timeout,
        )
        # Compiles the templates of inputs here, which may be in a thread, and not in a decision.
        _ = plan.fixed_inputs
        return plan

    async def _newest_row(self, tenant: str, id: str) -> DefinitionRow | None:
        """Read once for all callers that ask before the read begins."""
        reading = self._about_to_read.get((tenant, id))
        if reading is None:
            reading = asyncio.ensure_future(self._read_newest(tenant, id))
            self._about_to_read[tenant, id] = reading
        return await asyncio.shield(reading)

    async def _read_newest(self, tenant: str, id: str) -> DefinitionRow | None:
        async with self._reading:
            del self._about_to_read[tenant, id]
            return await self._store.definitions.get(tenant, id)

    async def _missing(self, tenant: str, saved: Version) -> list[str]:
        """The workflows that steps start and that are not saved; a step fails unless they are."""
        return [
            id if version is None else f"{id} version {version}"
            for id, version in saved.children
            if not is_there(await self._store.definitions.get(tenant, id, version))
        ]

    async def removed(self, tenant: str, id: str, version: int) -> NotFound:
        """Why a version starts nothing, of a workflow that was removed and perhaps saved again."""
        advice, newest = await self._advice(tenant, id), await self._newest_row(tenant, id)
        if newest is None or newest.is_removed:
            return NotFound(f"there is no workflow {id}", code="TEN-2002", advice=advice)
        message = f"version {version} of the workflow {id} was removed, and starts nothing"
        return NotFound(message, code="TEN-2002", advice=advice)

    async def _advice(self, tenant: str, id: str) -> str:
        newest = await self._store.definitions.get(tenant, id)
        if newest is not None and not newest.is_removed:
            return f"Its newest version is {newest.version}."
        names = [each for each in await self._store.definitions.ids(tenant) if each != id]
        otherwise = "Deploy it first: app.deploy(definition) or `tenuto deploy FILE`."
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            otherwise += f" Deployed are {', '.join(sorted(names)[:_NAMED])}{more}."
        return did_you_mean(id, names, otherwise)

    def _keep(self, row: DefinitionRow, plan: Plan) -> Deployed:
        size = len(row.content)
        deployed = Deployed(row.version, plan, row.content_hash, size)
        self._drop((row.tenant, row.id, row.version))
        self._deployed[row.tenant, row.id, row.version] = deployed
        self._kept_bytes += size
        while len(self._deployed) > _KEPT or (
            self._kept_bytes > _KEPT_BYTES and len(self._deployed) > 1
        ):
            self._drop(next(iter(self._deployed)))
        return deployed

    def _drop(self, key: tuple[str, str, int]) -> None:
        dropped = self._deployed.pop(key, None)
        self._kept_bytes -= 0 if dropped is None else dropped.size


def _no_keys() -> InvalidDefinition:
    problem = Problem(
        code=NO_KEYS,
        path="$.options.encrypt",
        message="what its instances store is to be encrypted, and there are no encryption keys",
        advice="Make a key with `tenuto encryption generate`, set TENUTO_ENCRYPTION_KEYS for every "
        "process, and save it again.",
    )
    return InvalidDefinition("the definition cannot be saved here", [problem])


def _checked(document: JSON, planned: Callable[[Definition], Plan]) -> tuple[Checked, Plan | None]:
    checked = check(document)
    definition = checked.definition
    return checked, None if definition is None else planned(definition)
