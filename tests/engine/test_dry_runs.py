"""A dry run says what publishing then does, whatever waits, arms and triggers are open."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.model.json import JSON, Object
from tenuto.store.parts.inbox import Delivery
from tenuto.testing.seeded_ids import SeededIds
from tenuto.testing.virtual_clock import VirtualClock, Wall
from tenuto.testing.virtual_loop import VirtualLoop
from tenuto.testing.wrapped_store import Call
from tests.core.drawing import box, draw, end
from tests.kit.scripted_store import ScriptedStore

NAMES = ("a.b", "a.c", "b")
PATTERNS = (*NAMES, "a.*", "**")
ALWAYS_ASKED = (
    None,
    "event.payload.n === 1",
    "event.payload.n > 1 && event.payload.text.trim() === 'x'",
    "event.pattern === 'a.b' || event.payload.n",
)
INSTANCE_ASKED = (
    *ALWAYS_ASKED,
    "event.payload.n === workflow.input.n",
    "event.payload.n === workflow.input.n && event.payload.text",
    "event.payload.n === ctx.n && event.payload.n >= workflow.input.n",
    "workflow.input.missing.deep === event.payload.n",
)
DEFINITIONS = ("one", "two", "three")
SCHEMA: Object = {"type": "object", "properties": {"n": {"type": "integer"}}}


class Recording(ScriptedStore):
    """Keeps whom each event was found to be for, before anything follows from it."""

    def __init__(self) -> None:
        super().__init__()
        self.matched: dict[str, tuple[Delivery, ...]] = {}

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        self.matched |= {match.event_id: match.deliveries for match in turn.matches}
        return await call()


def _asked(chance: Random, conditions: tuple[str | None, ...]) -> Object:
    condition = chance.choice(conditions)
    asked: Object = {"eventPattern": chance.choice(PATTERNS)}
    return asked if condition is None else asked | {"eventCondition": condition}


def _wait(chance: Random) -> Object:
    named: Object = {"correlationId": "{{workflow.input.c}}"} if chance.random() < 0.2 else {}
    if chance.random() < 0.5:
        return box("eventWait", **_asked(chance, INSTANCE_ASKED), **named)
    listed: list[JSON] = [
        {"id": name, **_asked(chance, INSTANCE_ASKED)} for name in ("x", "y", "z")
    ]
    return box("eventWait", arms=listed, **named)


def _definition(chance: Random, id: str) -> Object:
    first, second = _wait(chance), _wait(chance)
    handles = ("x", "y", "z") if "arms" in first["config"] else ("default",)  # type: ignore[operator]
    edges = " ".join(f"v:{handle}>w" for handle in handles)
    ends = ("x", "y", "z") if "arms" in second["config"] else ("default",)  # type: ignore[operator]
    edges += "".join(f" w:{handle}>d" for handle in ends)
    document = draw(edges, v=first, w=second, d=end()) | {"id": id}
    if chance.random() < 0.5:
        document["cancellationTriggers"] = [
            _asked(chance, INSTANCE_ASKED) for _ in range(chance.randint(1, 2))
        ]
    if chance.random() < 0.5:
        mapping: Object = {"n": chance.choice(("n", "text"))}
        document["inputSchema"] = SCHEMA
        document["triggers"] = [
            {**_asked(chance, ALWAYS_ASKED), "inputMapping": mapping}
            for _ in range(chance.randint(1, 2))
        ]
    return document


async def _compare(app: Tenuto, store: Recording, clock: VirtualClock, chance: Random) -> int:
    """Some instances, some events; returns how many targets were compared."""
    for id in DEFINITIONS:
        await app.deploy(_definition(chance, id))
        for _ in range(3):
            await app.start(id, {"n": chance.randint(0, 3), "c": "c"})
    compared = 0
    for number in range(6):
        await clock.sleep(30)
        event_id = f"e{number}"
        payload: JSON = {"n": chance.randint(0, 3), "text": chance.choice(["x", None, 5])}
        given: Any = {"id": event_id, "correlation_id": chance.choice(["c", None])}
        name = chance.choice(NAMES)
        dry = await app.publish(name, payload, **given, dry_run=True)
        published = await app.publish(name, payload, **given)
        counts = (dry.resumed, dry.cancelled, dry.started)
        assert counts == (published.resumed, published.cancelled, published.started)
        found = store.matched[event_id]
        assert sorted(map(_target, dry.targets)) == sorted(map(_delivered, found))
        for each in dry.near_misses:
            assert each["failed"]
            assert _target(each) not in map(_delivered, found)
        compared += len(dry.targets)
    return compared


def _target(target: Object) -> tuple[str, ...]:
    """Where it is, and whether it is refused; an instance that is to be has no id before."""
    is_refused = str(target["what"] == "refused")
    if "workflowId" in target:
        return "", str(target["workflowId"]), "", str(target["trigger"]), is_refused
    names = ("instanceId", "stepId", "iteration")
    arm = target.get("armId", target.get("trigger", ""))
    return (*(str(target.get(name, "")) for name in names), str(arm), is_refused)


def _delivered(delivery: Delivery) -> tuple[str, ...]:
    instance_id = "" if delivery.node in DEFINITIONS else delivery.instance_id
    place = (instance_id, delivery.node, delivery.iteration, delivery.arm)
    return (*place, str(delivery.outcome == "refused"))


def _run(seed: int) -> int:
    loop = VirtualLoop(Random(seed))
    clock = VirtualClock(loop, Wall())
    chance = Random(f"dry run {seed}")

    async def live() -> int:
        store = Recording()
        app = Tenuto(store, clock=clock, ids=SeededIds(Random(seed)))
        await app.engine.open()
        try:
            return await _compare(app, store, clock, chance)
        finally:
            await app.engine.close()

    try:
        return loop.run_until_complete(live())
    finally:
        loop.close()


def test_a_dry_run_says_what_publishing_then_does() -> None:
    assert sum(_run(seed) for seed in range(25)) > 100, "something was compared"


@pytest.mark.soak
def test_a_dry_run_says_what_publishing_then_does_however_often(seeds: Iterator[int]) -> None:
    for seed in seeds:
        _run(seed)
