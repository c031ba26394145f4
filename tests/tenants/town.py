"""Two tenants of one store who have the same of everything: names, keys, ids of events."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tenuto import Settings, TaskError, Tenuto
from tenuto.encryption.key_ring import new_key
from tenuto.encryption.settings import EncryptionSettings
from tenuto.model.json import JSON, Object
from tenuto.model.quotas import Quotas
from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceQuery
from tenuto.workspace.engine_workspace import EngineWorkspace
from tenuto.workspace.instance import InstanceRef
from tests.core.drawing import draw, emit, end, wait
from tests.engine.situations import ONE_WAIT, at_rest, steps, until
from tests.kit.waits import every_wait_has_looked_back
from tests.tenants.rows import Dump, digest_of

LEFT, RIGHT = "left-hand", "right-hand"

ORDER: Object = draw("w>d", w=wait("never"), d=end()) | {
    "id": "order",
    "cancellationTriggers": [
        {
            "eventPattern": "order.cancelled",
            "eventCondition": "event.payload.id === workflow.input.id",
        }
    ],
}
RECEIPT: Object = draw("d", d=end("{{ctx.input}}")) | {
    "id": "receipt",
    "triggers": [{"eventPattern": "order.paid"}],
}
TELLING: Object = draw("e>d", e=emit("order.paid", payload="{{ctx.input}}"), d=end()) | {
    "id": "telling"
}
FOLLOWER: Object = {
    "id": "follower",
    "steps": [
        {
            "stepId": "other",
            "type": "EVENT_WAIT",
            "eventPattern": "workflow.completed",
            "eventCondition": "event.payload.correlationId === workflow.input.order",
        }
    ],
}
PARENT: Object = {
    "id": "parent",
    "steps": [{"stepId": "child", "type": "SUB_WORKFLOW", "workflowId": "flow"}],
}
ASKING: Object = {
    "id": "asking",
    "steps": [{"stepId": "ask", "type": "APPROVAL", "assignees": {"users": ["ann"]}}],
}
DOCUMENTS = (
    ONE_WAIT,
    ORDER,
    RECEIPT,
    TELLING,
    FOLLOWER,
    PARENT,
    ASKING,
    steps("a"),
    steps("broken", task="fail", id="failing"),
)


class Mirrored(NamedTuple):
    """What one of them has, in each of the situations that an instance can be in."""

    waiting: str
    failed: str
    asking: str
    paused: str
    completed: str
    webhook: str
    subscription: str
    dead_letter: str

    @property
    def instances(self) -> tuple[str, ...]:
        return self[:5]


def app_on(store: object) -> Tenuto:
    # A long test furnishes the same tenants again and again.
    settings = Settings(quotas=Quotas(webhooks=1_000_000, subscriptions=1_000_000))
    keys = EncryptionSettings(keys=new_key("k1").text)
    app = Tenuto(store, settings=settings, encryption=keys)  # type: ignore[arg-type]

    @app.task(name="work")
    async def _work(input: JSON) -> JSON:
        return input

    @app.task(name="fail")
    async def _fail(input: JSON) -> JSON:
        raise TaskError("BROKEN", str(input), retryable=False)

    return app


class Town:
    """An app, both tenants as they see it, and all that lies in its store."""

    def __init__(self, app: Tenuto, dump: Dump) -> None:
        self.app = app
        self._dump = dump
        self.left = app.workspace(LEFT, "eve")
        self.right = app.workspace(RIGHT, "ada")

    async def deploy(self) -> None:
        for workspace in (self.left, self.right):
            for document in DOCUMENTS:
                await workspace.deploy(document)

    async def furnish(self) -> tuple[Mirrored, Mirrored]:
        """Have both do the same things, and wait until all of that has come to rest."""
        await self.deploy()
        both = await self._furnished(self.left), await self._furnished(self.right)
        await self.settle()
        return both

    async def _furnished(self, mine: EngineWorkspace) -> Mirrored:
        started = {
            name: await mine.start(name, {"orderId": 1, "id": 1}, key=name, correlation_id="c1")
            for name in ("waiting", "failing", "asking", "order", "flow")
        }
        await self.reach(started["failing"], Status.FAILED)
        await self.reach(started["flow"], Status.COMPLETED)
        await self.reach(started["asking"], Status.WAITING_FOR_EVENT, Status.RUNNING)
        await started["order"].pause("for later")
        await mine.publish("payment.received", {"orderId": 2}, id="e1")
        hook = await mine.webhooks.add("https://hooks.example/here", "order.shipped")
        sub = await mine.subscriptions.add(
            "https://hooks.example/there", "order.shipped", subscriber_id="somebody"
        )
        [letter], _ = await mine.dead_letters.rows(10)
        return Mirrored(
            waiting=started["waiting"].id,
            failed=started["failing"].id,
            asking=started["asking"].id,
            paused=started["order"].id,
            completed=started["flow"].id,
            webhook=hook.id,
            subscription=sub.id,
            dead_letter=letter.id,
        )

    async def reach(self, instance: InstanceRef, *statuses: Status) -> None:
        async def holds() -> bool:
            return await instance.status() in statuses

        await until(self.app, holds)

    async def only(self, mine: EngineWorkspace, workflow: str) -> InstanceRef:
        """The one instance of a workflow, once it is there."""

        async def is_there() -> bool:
            return bool(await mine.instances(workflow=workflow))

        await until(self.app, is_there)
        [found] = await mine.instances(workflow=workflow)
        return mine.at(found.id)

    async def settle(self) -> None:
        """Until nothing happens by itself any more."""
        engine = self.app.engine
        await every_wait_has_looked_back(self.app)
        await at_rest(self.app)
        await engine.outbox.run_once()
        for lane in engine.turns.lanes:
            lane.project()
        await at_rest(self.app)

    async def digest_of(self, tenant: str, others: Collection[str] = ()) -> tuple[int, str]:
        """All rows in which a tenant, or what it has, is named."""
        store = self.app.engine.store
        query = InstanceQuery(tenant=tenant, limit=100_000)
        ids = [row.id for row in (await store.instances.page(query)).items]
        listeners = [
            each.id for each in await store.listeners.of(tenant) if each.kind != "definition"
        ]
        return await digest_of(self._dump, {tenant, *ids, *listeners, *others})
