"""Letters of an event: its payload is kept once, and no turn has more of them than it can hold."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tenuto import Settings, Tenuto
from tenuto.engine.bounds import Bounds
from tenuto.engine.turns.batch import PendingMatch
from tenuto.engine.turns.intake import Intake
from tenuto.model.json import JSON, Object
from tenuto.store.memory import MemoryDisk
from tenuto.store.parts.turns import MatchWrite
from tenuto.testing.wrapped_store import Call
from tests.engine.situations import at_rest, until, until_waiting
from tests.kit.scripted_store import ScriptedStore
from tests.store.situations import NOON, mail

pytestmark = pytest.mark.asyncio

QUIET = Settings(mail_every=3600, project_every=3600)
IN_PARTS = Settings(mail_every=3600, project_every=3600, bounds=Bounds(turn_messages=4))
WAIT: Object = {
    "id": "waiting",
    "steps": [{"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "report"}],
}
LARGE: Object = {"text": "x" * 100_000}


class Noting(ScriptedStore):
    """Notes what was written about matching; may fail to note that it is done."""

    def __init__(self, disk: MemoryDisk | None = None, *, never_done: bool = False) -> None:
        super().__init__(disk)
        self.matches: list[MatchWrite] = []
        self.never_done = never_done
        self.stuck = asyncio.Event()

    async def on_turns_commit(self, call: Call) -> object:
        turn = call.turn
        assert turn is not None
        if self.never_done and any(match.is_done for match in turn.matches):
            self.stuck.set()
            await asyncio.Event().wait()
        result = await call()
        self.matches += turn.matches
        return result


async def waiting(app: Tenuto, count: int) -> None:
    await app.deploy(WAIT)
    for _ in range(count):
        await app.start("waiting")
    await until_waiting(app, count)


async def completed(app: Tenuto, count: int) -> None:
    async def holds() -> bool:
        return len(await app.instances(status="COMPLETED", limit=1_000)) == count

    await until(app, holds)


async def taken(app: Tenuto) -> list[JSON]:
    results = [await (await app.instance(each.id)).result(60) for each in await app.instances()]
    return [result["payload"] for result in results if isinstance(result, dict)]


async def test_fewer_messages_are_written_at_once_while_several_tenants_are_at_work() -> None:
    store = Noting()
    bounds = Bounds(turn_messages=100, shared_messages=5)
    async with Tenuto(store, settings=msgspec.structs.replace(QUIET, bounds=bounds)) as app:
        await waiting(app, 20)
        app.engine.shared.sharing.begin()
        assert (await app.publish("report", {})).resumed == 20
    assert [len(match.mail) for match in store.matches if match.mail] == [5] * 4


async def test_a_large_event_is_not_copied_into_every_letter() -> None:
    store = Noting()
    async with Tenuto(store, settings=QUIET) as app:
        await waiting(app, 20)
        assert (await app.publish("report", LARGE)).resumed == 20
        await completed(app, 20)
        [match] = store.matches
        assert len(match.mail) == 20
        assert sum(len(letter.input) for letter in match.mail) < 20_000
        assert await taken(app) == [LARGE] * 20


@pytest.mark.parametrize("payload", [LARGE, {"text": "small"}])
async def test_a_letter_that_nobody_handed_over_arrives_with_its_whole_event(
    payload: Object,
) -> None:
    async with Tenuto(Noting(), settings=QUIET) as app:
        await waiting(app, 3)
        app.engine.events.router._send = lambda *_: None
        assert (await app.publish("report", payload)).resumed == 3
        app.engine.effects.mailbox._is_in_doubt = True
        assert await app.engine.effects.mailbox.run_once() == 3
        await completed(app, 3)
        assert await taken(app) == [payload] * 3


async def test_a_letter_that_comes_again_after_its_event_is_gone_is_taken_off() -> None:
    store = Noting()
    async with Tenuto(store, settings=QUIET) as app:
        await waiting(app, 1)
        await app.publish("report", LARGE)
        await completed(app, 1)
        await app.publish("another")
        await at_rest(app)
        await store.mailbox.send(store.matches[0].mail)
        assert (await store.inbox.prune("default", app.engine.clock.now(), 10)).gone == 1
        app.engine.effects.mailbox._is_in_doubt = True
        assert await app.engine.effects.mailbox.run_once() == 1
        await at_rest(app)
        assert await store.mailbox.claim(10) == []


async def test_an_event_for_many_is_written_in_parts_and_done_with_the_last() -> None:
    store = Noting()
    async with Tenuto(store, settings=IN_PARTS) as app:
        await waiting(app, 10)
        assert (await app.publish("report", {"n": 1})).resumed == 10
        await completed(app, 10)
    parts = [(len(match.mail), len(match.deliveries), match.is_done) for match in store.matches]
    assert parts[:3] == [(4, 4, False), (4, 4, False), (2, 2, True)]


async def test_an_event_whose_last_part_was_never_written_is_matched_again() -> None:
    """Those of the first parts have it, the others get it; nobody gets it twice."""
    disk = MemoryDisk()
    dying = Noting(disk, never_done=True)
    app = Tenuto(dying, settings=IN_PARTS)
    await app.open()
    await waiting(app, 10)
    publishing = asyncio.ensure_future(app.publish("report", {"n": 1}, id="e"))
    await dying.stuck.wait()
    closing = asyncio.ensure_future(app.close())
    await asyncio.wait([closing], timeout=0)
    closing.cancel()
    await asyncio.gather(closing, publishing, return_exceptions=True)
    assert [len(match.mail) for match in dying.matches] == [4, 4]
    async with Tenuto(Noting(disk), settings=IN_PARTS) as app:
        await completed(app, 10)
        deliveries = await app.engine.store.inbox.deliveries_of("default", "e")
        assert [each.outcome for each in deliveries] == ["resumed"] * 10
        found = await app.engine.store.inbox.get("default", "e")
        assert found is not None
        assert found.resumed < 10
        assert (await app.event("e"))["resumed"] == 10


async def test_a_turn_takes_as_many_matchings_as_it_can_hold() -> None:
    queue = Intake(Bounds(turn_messages=5))
    for n, count in enumerate((2, 3, 1, 9, 1)):
        sent = tuple(mail(f"m{n}-{k}", f"i{k}") for k in range(count))
        match = MatchWrite(
            event_id=f"e{n}", mail=sent, deliveries=(), resumed=count, matched_at=NOON
        )
        queue.store_match(PendingMatch(match, lambda _: None))
    taken = [[each.match.event_id for each in queue.take().matches] for _ in range(4)]
    assert taken == [["e0", "e1"], ["e2"], ["e3"], ["e4"]]
