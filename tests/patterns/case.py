"""A case: one instance of a workflow that a pattern is written as, on a real store."""

from __future__ import annotations

from tenuto import InstanceRef, Tenuto
from tenuto.model.ids import NodeKey
from tenuto.model.json import JSON, Object
from tenuto.model.status import NodeStatus, Status
from tests.engine.situations import until

PATIENCE = 30
"""Seconds after which a test gives up; nothing is measured by it."""


class Cases:
    """Starts cases, sends them events, and tells how far they are."""

    def __init__(self, app: Tenuto) -> None:
        self.app = app

    async def start(self, document: Object, input: JSON = None) -> Case:
        await self.app.deploy({**document, "id": "case"})
        started = await self.app.start("case", input)
        return Case(self.app, started)


class Case:
    """One instance."""

    def __init__(self, app: Tenuto, instance: InstanceRef) -> None:
        self.app = app
        self.instance = instance

    async def publish(self, pattern: str, payload: JSON = None, id: str | None = None) -> None:
        await self.app.publish(pattern, payload, id=id)

    async def statuses(self) -> dict[str, NodeStatus]:
        """Of each step that has begun or was skipped; of those in iterations `a[0]`."""
        state = (await self.app.engine.state_of(self.instance.id)).state
        return {_name(key): node.status for key, node in state.nodes.items()}

    async def until(self, **wanted: str) -> Case:
        """Return once these steps are as wanted: `until(a="WAITING")`."""

        async def holds() -> bool:
            found = await self.statuses()
            return all(found.get(name) == status for name, status in wanted.items())

        await until(self.app, holds)
        return self

    async def until_waiting(self, *names: str) -> Case:
        """Return once these steps wait; those in iterations are `a[0]`."""
        return await self.until(**dict.fromkeys(names, "WAITING"))

    async def until_begun(self, loop: str, count: int) -> Case:
        """Return once so many iterations of a loop have begun."""

        async def holds() -> bool:
            state = (await self.app.engine.state_of(self.instance.id)).state
            found = state.loops.get(NodeKey(loop))
            return found is not None and found.started >= count

        await until(self.app, holds)
        return self

    async def output(self) -> JSON:
        result: JSON = await self.instance.result(PATIENCE)
        return result

    async def is_over(self) -> bool:
        return (await self.instance.status()) is Status.COMPLETED


def _name(key: NodeKey) -> str:
    return f"{key.node}[{key.iteration}]" if key.iteration else key.node
