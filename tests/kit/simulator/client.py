"""A client that starts one instance, does to it what is planned, and sees it to its end.

It outlives the processes that it talks to: a request without an answer is unknown, and asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from datetime import timedelta
from random import Random
from typing import Literal, assert_never

from msgspec import UNSET

from tenuto.core.rerun import NOT_FROM_THERE
from tenuto.engine.definitions.reruns import plan_rerun
from tenuto.engine.engine import Engine
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.requests import Answer
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Overloaded, StoreUnavailable
from tenuto.model.events import Event
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import (
    CancelAsked,
    DecisionAsked,
    Input,
    PauseAsked,
    ResumeAsked,
    RetryAsked,
    Started,
)
from tenuto.model.status import Status
from tenuto.store.parts.instances import InstanceQuery
from tenuto.testing.virtual_clock import VirtualClock
from tests.kit.checker.expression import Json
from tests.kit.checker.graph import read
from tests.kit.checker.record import Fields
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.rest import Rest
from tests.kit.simulator.scenario import Job
from tests.kit.workload import Action, Cancel, Decide, Pause, Publish, Resume, Retry
from tests.kit.workload.actions import concrete

_NUDGE_EVERY = 120.0
_NUDGES_UNTIL_CANCEL = 20


class Client:
    """Plays one job, in whatever process there is."""

    def __init__(self, job: Job, own_id: str, ledgers: Ledgers, random: Random) -> None:
        self.job = job
        self.instance_id = own_id
        """The id that the client chooses, or that the engine chose when it was started by key."""
        self.has_ended = False
        self._is_started = False
        self._started_at = 0.0
        self._left = list(job.actions)
        self._ledgers = ledgers
        self._random = random
        self._nudges = 0
        self.earlier_id: str | None = None
        """The instance that this one is a rerun of, once it is one."""
        self.rerun_id: str | None = None

    def _noted(self, op: str, **what: object) -> Fields:
        return self._ledgers.request(op, tenant=self.job.tenant, **what)

    async def play(self, engines: list[Engine], clock: VirtualClock, rest: Rest) -> None:
        """Do what is planned; once everything is at rest, see to it that the instance ends."""
        if not self._is_started and clock.ticks() < self.job.at:
            await clock.sleep(self.job.at - clock.ticks())
        while not self._is_started:
            await self._start(self._random.choice(engines), clock)
        if len(engines) > 1:
            await self._play(engines, clock, rest)
            return
        # Who waits for an end hears of it; of several engines only the one that sees it tells.
        hearing = asyncio.create_task(self._hear(engines[0], clock), name="hearing")
        try:
            await self._play(engines, clock, rest)
            assert await hearing, "the end was heard of before it came"
        finally:
            hearing.cancel()

    async def _hear(self, engine: Engine, clock: VirtualClock) -> bool:
        """Wait for the end; False when it was told as one and is none."""
        while True:
            try:
                return (await engine.final_state(self.instance_id)).state.status.is_final
            except StoreUnavailable:
                await clock.sleep(1.0)
            except NotFound:
                return True

    async def _play(self, engines: list[Engine], clock: VirtualClock, rest: Rest) -> None:
        while self._left:
            moment = self._started_at + self._left[0].at_ms / 1000
            if clock.ticks() < moment:
                await clock.sleep(moment - clock.ticks())
            if await self._is_over(engines, clock) and not await self._may_go_on(engines, clock):
                break
            if await self._act(self._random.choice(engines), clock, self._left[0]):
                self._left.pop(0)
        await rest.reached()
        while True:
            while not await self._is_over(engines, clock):
                await self._nudge(self._random.choice(engines), clock)
                await clock.sleep(_NUDGE_EVERY)
            if self.job.rerun_from is None or self.earlier_id is not None:
                break
            await self._rerun(self._random.choice(engines), clock, self.job.rerun_from)
        self.has_ended = True

    async def _may_go_on(self, engines: list[Engine], clock: VirtualClock) -> bool:
        """Whether it has failed, and is to be retried."""
        is_retried = any(isinstance(action, Retry) for action in self._left)
        return is_retried and await self._status(engines[0], clock) is Status.FAILED

    async def _rerun(self, engine: Engine, clock: VirtualClock, step: str) -> None:
        """Rerun what has ended from a step, under an id that is chosen once."""
        if self.rerun_id is None:
            self.rerun_id = engine.ids.instance_id(clock.now())
        earlier = self.instance_id
        entry = self._noted("rerun", instance=self.rerun_id, of=earlier, kept=[])
        try:
            held = await engine.state_of(earlier)
            await self._ask_for_what_cannot_be(engine, held)
            entry["kept"] = await self._kept(engine, earlier, step)
            rerun = await plan_rerun(engine.store, engine.plans, held, from_step=step)
            plan = rerun.deployed.plan
            start = self._noted("start", instance=self.rerun_id, input=held.state.input)
            answer = await engine.start(
                plan, rerun.started, instance_id=self.rerun_id, tenant=rerun.tenant
            )
        except (StoreUnavailable, Overloaded):
            await clock.sleep(0.5)
            return
        if answer.rejection is not None and answer.rejection.code == NOT_FROM_THERE:
            # What it takes over leads past the step: nothing was begun, and nothing is.
            self.job.rerun_from = self.rerun_id = None
            entry["outcome"] = start["outcome"] = "refused"
            return
        entry["outcome"] = start["outcome"] = "ok"
        self.earlier_id, self.instance_id = earlier, self.rerun_id

    async def _ask_for_what_cannot_be(self, engine: Engine, held: Held) -> None:
        """A rerun from a step that is not there, or inside of a loop, is refused."""
        nodes = read(self.job.document).nodes.values()
        for step in ("nowhere", *(node.id for node in nodes if node.loop is not None)):
            try:
                await plan_rerun(engine.store, engine.plans, held, from_step=step)
            except InvalidInput:
                continue
            raise AssertionError(step)

    async def _kept(self, engine: Engine, instance_id: str, step: str) -> list[str]:
        """What completed and is neither the step nor after it, by the checker's own reading.

        Nor is it undone, or after what is.
        """
        nodes = read(self.job.document).nodes
        pending, completed, after = [step], list[str](), 0
        while rows := await engine.store.instances.entries(instance_id, after=after):
            after = rows[-1].seq
            completed += [
                row.node_id
                for row in rows
                if row.event_type == "NODE_COMPLETED"
                and row.node_id is not None
                and not row.iteration
                and nodes[row.node_id].type != "terminate"
            ]
            for row in rows:
                if row.event_type != "COMPENSATION_PLANNED" or row.payload is None:
                    continue
                for item in json.loads(row.payload).get("plan", ()):
                    id = str(item["compensationFor"])
                    while (loop := nodes[id].loop) is not None:
                        id = loop
                    pending.append(id)
        again = set[str]()
        while pending:
            id = pending.pop()
            if id not in again:
                again.add(id)
                pending += [edge.target for edge in nodes[id].outgoing]
        return sorted(set(completed) - again)

    async def _is_over(self, engines: list[Engine], clock: VirtualClock) -> bool:
        status = await self._status(self._random.choice(engines), clock)
        return status is None or status.is_final

    async def _status(self, engine: Engine, clock: VirtualClock) -> Status | None:
        while True:
            try:
                return (await engine.state_of(self.instance_id)).state.status
            except StoreUnavailable:
                await clock.sleep(1.0)
            except NotFound:
                return None

    async def _start(self, engine: Engine, clock: VirtualClock) -> None:
        job = self.job
        asked: Fields = {"input": job.input}
        if job.has_key:
            asked["key"] = job.key
        else:
            asked["instance"] = self.instance_id
        entry = self._noted("start", **asked)
        try:
            deployed = await engine.plans.get(job.tenant, str(job.document["id"]))
            answer = await engine.start(
                deployed.plan,
                Started(
                    definition_id=str(job.document["id"]),
                    definition_version=deployed.version,
                    input=job.input,
                    user=job.user or UNSET,
                ),
                instance_id=None if job.has_key else self.instance_id,
                key=job.key if job.has_key else None,
                content_hash=hashlib.sha256(json.dumps(job.input).encode()).digest(),
                tenant=job.tenant,
            )
        except (StoreUnavailable, Overloaded):
            entry["outcome"] = "refused"
            await clock.sleep(0.5)
            return
        entry["instance"] = answer.instance_id
        entry["outcome"] = "ok" if answer.rejection is None else "refused"
        self.instance_id = answer.instance_id
        self._is_started = True
        self._started_at = clock.ticks()

    async def _act(self, engine: Engine, clock: VirtualClock, action: Action) -> bool:
        """Whether it was answered, one way or the other."""
        match action:
            case Publish():
                return await self._publish(engine, clock, action.id, action.pattern, action.payload)
            case Cancel():
                return await self._ask(engine, clock, "cancel", CancelAsked(by="client"))
            case Pause(at_ms=at, until_ms=until):
                paused = None if until is None else clock.now() + timedelta(milliseconds=until - at)
                asked = PauseAsked(by="client", until=paused)
                return await self._ask(engine, clock, "pause", asked)
            case Resume():
                return await self._ask(engine, clock, "resume", ResumeAsked(by="client"))
            case Retry():
                return await self._ask(engine, clock, "retry", RetryAsked(by="client"))
            case Decide():
                return await self._decide(engine, clock, action)
            case _:
                assert_never(action)

    async def _publish(
        self, engine: Engine, clock: VirtualClock, id: str, pattern: str, payload: Fields
    ) -> bool:
        event = Event(
            id=id,
            pattern=pattern,
            payload=payload,
            received_at=clock.now(),
            tenant=self.job.tenant,
        )
        entry = self._noted("publish", event=id, pattern=pattern, payload=payload)
        try:
            await engine.publish(event)
        except (StoreUnavailable, Overloaded):
            # It may have been stored before the store went away.
            await clock.sleep(0.5)
            return self._random.random() < 0.5
        except Conflict:
            entry["outcome"] = "refused"
            return True
        entry["outcome"] = "ok"
        return True

    async def _decide(self, engine: Engine, clock: VirtualClock, action: Decide) -> bool:
        """Decide wherever the step is open; where it is nowhere, it is asked for all the same."""
        try:
            found = (await engine.state_of(self.instance_id)).state
        except (StoreUnavailable, NotFound):
            await clock.sleep(0.5)
            return False
        keys = [key for key in found.open_nodes() if key.node == action.step]
        is_answered = True
        for key in sorted(keys) or [NodeKey(action.step)]:
            asked = DecisionAsked(
                node=key.node,
                iteration=key.iteration,
                decision=action.decision,
                by=action.by,
                roles=action.roles,
            )
            is_answered &= await self._say(engine, clock, self.instance_id, asked)
        return is_answered

    async def _say(
        self, engine: Engine, clock: VirtualClock, instance_id: str, asked: DecisionAsked
    ) -> bool:
        said: Fields = {"node": asked.node, "iteration": asked.iteration, "by": asked.by}
        said |= {"decision": asked.decision, "roles": list(asked.roles)}
        return await self._ask(engine, clock, "decide", asked, instance=instance_id, **said)

    async def _ask(
        self, engine: Engine, clock: VirtualClock, op: str, input: Input, **said: Json
    ) -> bool:
        said.setdefault("instance", self.instance_id)
        entry = self._noted(op, **said)
        try:
            answer: Answer = await engine.ask(str(said["instance"]), input)
        except (StoreUnavailable, Overloaded):
            entry["outcome"] = "refused"
            await clock.sleep(0.5)
            return False
        except NotFound:
            entry["outcome"] = "refused"
            return True
        entry["outcome"] = "ok" if answer.rejection is None else "refused"
        return True

    async def _family(self, engine: Engine) -> list[str]:
        """The instance, and those that were started below it."""
        query = InstanceQuery(limit=1_000, tenant=self.job.tenant)
        page = await engine.store.instances.page(query)
        below = [row.id for row in page.items if row.root_id == self.instance_id]
        return [self.instance_id, *sorted(below)]

    async def _nudge(self, engine: Engine, clock: VirtualClock) -> None:
        """Nothing more is planned and it has not ended: give it what it may be waiting for."""
        self._nudges += 1
        try:
            held = await engine.state_of(self.instance_id)
            waits = [
                wait
                for id in await self._family(engine)
                for wait in await engine.store.waits.of(id)
            ]
        except StoreUnavailable:
            return
        if held.state.status is Status.PAUSED:
            await self._ask(engine, clock, "resume", ResumeAsked(by="client"))
        for number, wait in enumerate(waits):
            await self._publish(
                engine,
                clock,
                f"{self.job.key}/nudge-{self._nudges}-{number}",
                concrete(wait.pattern, wait.node),
                {"k": self.job.input["k"], "amount": number},
            )
        await self._decide_all(engine, clock)
        if self._nudges >= _NUDGES_UNTIL_CANCEL:
            await self._ask(engine, clock, "cancel", CancelAsked(by="client"))

    async def _decide_all(self, engine: Engine, clock: VirtualClock) -> None:
        """Decide on whatever is open, of the instance and of those below it."""
        try:
            for id in await self._family(engine):
                state = (await engine.state_of(id)).state
                for key in sorted(state.open_nodes()):
                    if state.nodes[key].approval is not None:
                        word: Literal["approved", "rejected"] = self._random.choice(
                            ("approved", "approved", "rejected")
                        )
                        asked = DecisionAsked(
                            node=key.node, iteration=key.iteration, decision=word, by="ann"
                        )
                        await self._say(engine, clock, id, asked)
        except (StoreUnavailable, NotFound):
            return
