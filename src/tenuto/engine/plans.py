"""Plans of saved definitions, compiled once and kept."""

from __future__ import annotations

import hashlib

import msgspec

from tenuto.core import Plan
from tenuto.core.plan import TaskPolicies
from tenuto.definition import compile_definition, unavailable
from tenuto.model.errors import NotAvailable, NotFound
from tenuto.model.json import JSON
from tenuto.model.policy import DEFAULT_RETRY, RetryPolicy
from tenuto.ports import Clock
from tenuto.store.protocol import DefinitionRow, Store

_KEPT = 1_000


class Plans:
    """Definition versions by id and number; immutable, so never stale."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        tasks: TaskPolicies,
        retry: RetryPolicy = DEFAULT_RETRY,
    ) -> None:
        self._store = store
        self._clock = clock
        self._tasks = tasks
        self._retry = retry
        self._plans: dict[tuple[str, str, int], Plan] = {}
        self._newest: dict[tuple[str, str], int] = {}

    def known(self, tenant: str, id: str, version: int) -> Plan | None:
        """A plan that has been compiled before."""
        return self._plans.get((tenant, id, version))

    async def get(self, tenant: str, id: str, version: int | None = None) -> tuple[int, Plan]:
        """A version and its plan; without a number the newest. NotFound when there is none."""
        if version is None:
            version = self._newest.get((tenant, id))
        if version is not None:
            plan = self.known(tenant, id, version)
            if plan is not None:
                return version, plan
        row = await self._store.definition(tenant, id, version)
        if row is None:
            which = id if version is None else f"{id} version {version}"
            raise NotFound(
                f"there is no workflow {which}",
                code="TEN-2002",
                advice="Deploy it first: app.deploy(definition) or `tenuto deploy FILE`.",
            )
        return row.version, self._keep(row)

    async def save(self, tenant: str, id: str, document: JSON, plan: Plan) -> DefinitionRow:
        """Save what was checked already; the same content makes no new version."""
        content = msgspec.json.encode(document)
        digest = hashlib.sha256(msgspec.json.encode(document, order="deterministic")).digest()
        row = await self._store.save_definition(tenant, id, content, digest, self._clock.now())
        self._newest[tenant, id] = row.version
        self._plans[tenant, id, row.version] = plan
        return row

    def compile(self, document: JSON) -> Plan:
        """Check and compile a document; InvalidDefinition names all that is wrong."""
        return Plan(compile_definition(document), tasks=self._tasks, retry=self._retry)

    def _keep(self, row: DefinitionRow) -> Plan:
        plan = self.compile(msgspec.json.decode(row.content))
        if len(self._plans) >= _KEPT:
            self._plans.pop(next(iter(self._plans)))
        self._plans[row.tenant, row.id, row.version] = plan
        return plan


def refuse_unavailable(plan: Plan) -> None:
    """NotAvailable when the definition uses what this version does not run."""
    problems = unavailable(plan.definition)
    if problems:
        raise NotAvailable("the definition uses something this version does not run", problems)
