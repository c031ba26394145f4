"""Test runs: definitions that run with mocks before they are saved."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.engine.definitions.start_checks import raise_rejection
from tenuto.engine.engine import Engine
from tenuto.engine.tenancy import held_by
from tenuto.engine.test_runs.mocks import not_run
from tenuto.model.errors import NotFound, TenutoError
from tenuto.model.json import JSON, Given, as_json
from tenuto.model.test_run import Mock, TestRunSpec, inbox_of, is_test_run
from tenuto.workspace.events import Events
from tenuto.workspace.values import Published, TestRun


class TestRuns:
    """The test runs of one tenant; no list shows them, and no subscriber is notified of them."""

    __slots__ = ("_engine", "_tenant")

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant

    async def start(
        self,
        document: Mapping[str, JSON],
        input: Given = None,
        *,
        mocks: Mapping[str, Mock] | None = None,
        skip_delays: bool = False,
        allow_effects: bool = False,
    ) -> TestRun:
        """Run a definition that is not saved, with `mocks` by the ids of steps.

        A step without a mock gives an empty object, or runs if `allow_effects` is set. When this
        returns the run is durable. It is erased when it is stopped, or after an hour.
        """
        engine, given = self._engine, as_json(input)
        id = engine.ids.instance_id(engine.clock.now())
        how = TestRunSpec(mocks=mocks or {}, skips_delays=skip_delays, allows_effects=allow_effects)
        content = dict(document)
        plan = await engine.plans.for_test_run(content, how, id, tenant=self._tenant)
        await engine.plans.inputs.refuse_unfit(
            plan, given, engine.settings, engine.registry, tenant=self._tenant
        )
        started = await engine.test_runs.started(self._tenant, content, plan, given)
        answer = await engine.start(plan, started, instance_id=id, tenant=self._tenant)
        raise_rejection(answer)
        return TestRun(instance_id=id, status=answer.status, not_run=not_run(plan))

    async def publish(self, id: str, document: Given) -> list[Published | TenutoError]:
        """Publish events that this test run alone sees; NotFound."""
        id = await self._required(id)
        return await Events(self._engine, inbox_of(id), self._engine.publish).publish_all(document)

    async def stop(self, id: str) -> None:
        """End a test run and erase it; NotFound."""
        id = await self._required(id)
        await self._engine.test_runs.stop(self._tenant, id)

    async def _required(self, id: str) -> str:
        """The id by which the store has a test run."""
        try:
            held = await held_by(self._engine, self._tenant, id)
        except NotFound:
            held = None
        if held is None or not is_test_run(held.state.definition_id):
            raise NotFound(f"there is no test run {id}", code="TEN-3070")
        return held.state.id
