"""A mutex of a step within a loop, or within a child: in order of asking, and back by any ending.

In virtual time: who has the mutex has it for a minute, or until something ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from tenuto import InstanceRef, Tenuto, WorkflowCancelled, WorkflowFailed
from tenuto.model.errors import TaskError
from tenuto.model.json import Object
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tests.kit.scripted_store import ScriptedStore

MINUTE = 60.0
USE: Object = {
    "stepId": "use",
    "type": "TASK",
    "taskId": "use",
    "mutex": "printer {{ctx.input.room}}",
    "retry": {"maxAttempts": 1},
}


class Room:
    """An app, and who has the printer of a room."""

    def __init__(self, app: Tenuto, clock: VirtualClock) -> None:
        self.app = app
        self.clock = clock
        self.order: list[str] = []
        """Who has begun to print, in this order."""
        self._inside: set[str] = set()
        app.task(name="use")(self._use)

    async def _use(self, input: Object) -> str:
        who = str(input["who"])
        assert not self._inside, f"{who} beside {self._inside}"
        self._inside.add(who)
        self.order.append(who)
        try:
            match input.get("how"):
                case "fails":
                    await self.clock.sleep(MINUTE)
                    raise TaskError("NO_PAPER", "as planned", retryable=False)
                case "stays":
                    await self.clock.sleep(1_000 * MINUTE)
                case _:
                    await self.clock.sleep(MINUTE)
        finally:
            self._inside.discard(who)
        return who

    async def until(self, who: str) -> None:
        """Until one has the printer."""
        async with asyncio.timeout(60 * MINUTE):
            while who not in self.order:
                await self.clock.sleep(1)

    async def over(self, run: InstanceRef) -> str:
        """How an instance has ended."""
        with suppress(WorkflowCancelled, WorkflowFailed):
            await run.result(timeout=60 * MINUTE)
        return str(await run.status())

    async def is_free(self) -> bool:
        slots = self.app.engine.store.slots
        while not (await slots.admit(self.clock.now())).is_done:
            pass
        counts = await slots.counts(["mutex:default/printer 1"])
        return not counts and not await slots.held("default")


def play(scenario: Callable[[Room], Awaitable[None]], *documents: Object) -> None:
    """Play a scenario with these workflows; at its end nobody has the printer."""
    loop = VirtualLoop()
    clock = VirtualClock(loop, Wall())

    async def whole() -> None:
        async with Tenuto(ScriptedStore(), clock=clock) as app:
            room = Room(app, clock)
            for document in documents:
                await app.deploy(document)
            await scenario(room)
            assert await room.is_free()

    loop.run_until_complete(whole())
    loop.close()


def looping(mode: str, **settings: Any) -> Object:  # noqa: ANN401
    """Each item of a list is printed."""
    return {
        "id": "looping",
        "steps": [
            {
                "stepId": "each",
                "type": "LOOP",
                "source": "{{ctx.input.pages}}",
                "mode": mode,
                "onItemError": "continue",
                "transitions": {"loop": "use"},
                **settings,
            },
            {
                **USE,
                "input": {"who": "{{ctx.input.name}} {{item.n}}", "how": "{{item.how ?? ''}}"},
            },
        ],
    }


def pages(count: int, **how: str) -> list[Object]:
    """`_2="fails"`: what becomes of page 2."""
    return [{"n": n, "how": how.get(f"_{n}", "")} for n in range(count)]


def test_iterations_of_two_loops_have_a_mutex_by_turns() -> None:
    """An iteration asks once the one before it has ended: behind the other loop, which waits."""

    async def scenario(room: Room) -> None:
        runs = [
            await room.app.start("looping", {"name": name, "room": 1, "pages": pages(3)})
            for name in "ab"
        ]
        assert [await room.over(run) for run in runs] == ["COMPLETED"] * 2
        assert room.order == ["a 0", "b 0", "a 1", "b 1", "a 2", "b 2"]

    play(scenario, looping("sequential"))


def test_iterations_that_ask_at_once_have_a_mutex_one_after_the_other_and_before_later_ones() -> (
    None
):
    async def scenario(room: Room) -> None:
        run = await room.app.start(
            "looping", {"name": "a", "room": 1, "pages": pages(12, _3="fails")}
        )
        late = await room.app.start("looping", {"name": "b", "room": 1, "pages": pages(1)})
        assert [await room.over(each) for each in (run, late)] == ["COMPLETED"] * 2
        assert sorted(room.order[:12]) == sorted(f"a {n}" for n in range(12))
        assert room.order[12:] == ["b 0"]

    play(scenario, looping("parallel", concurrency=12))


def test_a_loop_that_is_cancelled_in_an_iteration_leaves_its_mutex_to_the_next() -> None:
    async def scenario(room: Room) -> None:
        first = await room.app.start(
            "looping", {"name": "a", "room": 1, "pages": pages(3, _1="stays")}
        )
        await room.until("a 1")
        second = await room.app.start("looping", {"name": "b", "room": 1, "pages": pages(2)})
        await first.cancel("not needed")
        assert [await room.over(run) for run in (first, second)] == ["CANCELLED", "COMPLETED"]
        assert room.order == ["a 0", "a 1", "b 0", "b 1"]

    play(scenario, looping("sequential"))


def child(**settings: Any) -> Object:  # noqa: ANN401
    """A workflow of one step that prints; its input says for whom, where, and how that ends."""
    options = settings.pop("options", {})
    step = {**USE, "input": "{{ctx.input}}", **settings}
    return {"id": "child", "steps": [step], "options": options}


def parent(**settings: Any) -> Object:  # noqa: ANN401
    """It has a child print, and fails where it is told to stop meanwhile."""
    return {
        "id": "parent",
        "steps": [
            {
                "stepId": "begin",
                "type": "SET",
                "values": {"begun": "yes"},
                "transitions": {"default": ["sub", "wait"]},
            },
            {
                "stepId": "sub",
                "type": "SUB_WORKFLOW",
                "workflowId": "child",
                "input": "{{ctx.input}}",
                "retry": {"maxAttempts": 1},
                **settings,
            },
            {
                "stepId": "wait",
                "type": "EVENT_WAIT",
                "eventPattern": "stop",
                "eventCondition": "event.payload === ctx.input.who",
                "eventTimeout": {"duration": "PT40M"},
                "transitions": {"default": "stop", "timeout": "end"},
            },
            {"stepId": "stop", "type": "TERMINATE", "status": "FAILED", "reason": "as planned"},
            {"stepId": "end", "type": "END"},
        ],
    }


class Ending(NamedTuple):
    """How the child that has the printer ends, and its parent."""

    how: str
    child: str
    parent: str
    end: Callable[[Room, InstanceRef, InstanceRef], Awaitable[object]] | None = None
    of_child: Object = {}  # noqa: RUF012 - it is not changed
    of_step: Object = {}  # noqa: RUF012
    others_after: float = 0.0
    """Seconds: they have a time-out of their own, and are to have begun by then."""


async def _cancel_child(_: Room, __: InstanceRef, child: InstanceRef) -> None:
    await child.cancel("not needed")


async def _cancel_parent(_: Room, parent: InstanceRef, __: InstanceRef) -> None:
    await parent.cancel("not needed")


async def _stop_parent(room: Room, _: InstanceRef, __: InstanceRef) -> None:
    await room.app.publish("stop", "first")


ENDINGS = {
    "it completes": Ending("", "COMPLETED", "COMPLETED"),
    "it fails": Ending("fails", "FAILED", "FAILED"),
    "it is cancelled": Ending("stays", "CANCELLED", "FAILED", _cancel_child),
    "its step times out": Ending("stays", "FAILED", "FAILED", of_child={"timeout": "PT10M"}),
    "it times out": Ending(
        "stays",
        "CANCELLED",
        "FAILED",
        of_child={"options": {"timeout": "PT10M"}},
        others_after=5 * MINUTE,
    ),
    "its parent is cancelled": Ending("stays", "CANCELLED", "CANCELLED", _cancel_parent),
    "its parent terminates": Ending("stays", "CANCELLED", "FAILED", _stop_parent),
    "the step of its parent times out": Ending(
        "stays", "FAILED", "FAILED", of_step={"timeout": "PT10M"}, others_after=5 * MINUTE
    ),
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_a_child_leaves_its_mutex_to_those_of_other_parents_in_their_order(ending: Ending) -> None:
    async def start(room: Room, who: str, how: str = "", number: int = 1) -> InstanceRef:
        return await room.app.start("parent", {"who": who, "room": number, "how": how})

    async def scenario(room: Room) -> None:
        first = await start(room, "first", ending.how)
        await room.until("first")
        [held] = await room.app.engine.store.slots.held("default")
        await room.clock.sleep(ending.others_after)
        others = []
        for who in ("second", "third", "fourth"):
            others.append(await start(room, who))
            await room.clock.sleep(1)
        assert room.order == ["first"], "the others wait"
        child = await room.app.instance(held.instance_id)
        if ending.end is not None:
            await ending.end(room, first, child)
        assert [await room.over(first), await room.over(child)] == [ending.parent, ending.child]
        assert [await room.over(each) for each in others] == ["COMPLETED"] * 3
        assert room.order == ["first", "second", "third", "fourth"]

    play(scenario, child(**ending.of_child), parent(**ending.of_step))


@pytest.mark.parametrize("how", ["cancelled", "terminated"])
def test_a_child_that_ends_while_it_waits_for_a_mutex_leaves_no_gap_in_its_line(how: str) -> None:
    async def scenario(room: Room) -> None:
        runs = {}
        for who in ("first", "second", "third"):
            runs[who] = await room.app.start("parent", {"who": who, "room": 1})
            await room.clock.sleep(1)
        if how == "cancelled":
            await runs["second"].cancel("not needed")
        else:
            await room.app.publish("stop", "second")
        ends = [await room.over(run) for run in runs.values()]
        assert ends == ["COMPLETED", "CANCELLED" if how == "cancelled" else "FAILED", "COMPLETED"]
        assert room.order == ["first", "third"]

    play(scenario, child(), parent())
