"""Letters in hand: fetched once, handed over again where that was in vain, left to who owns."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from msgspec.structs import replace

from tenuto import Tenuto, WorkflowCancelled
from tenuto.engine.bounds import Bounds
from tenuto.engine.engine import Engine
from tenuto.engine.settings import Settings
from tenuto.engine.turns.requests import Request
from tenuto.model.effects import SendMail
from tenuto.model.errors import StoreUnavailable
from tenuto.model.family import Parent
from tenuto.model.inputs import CancelAsked, EventCause, Input, Started
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.mailbox import Mail, MailKey
from tenuto.testing.wrapped_store import Call
from tests.cli.waiting import until, waits_for_event
from tests.engine.situations import at_rest
from tests.kit.scripted_store import ScriptedStore
from tests.kit.turns import turns

pytestmark = pytest.mark.asyncio

QUIET = Settings(mail_every=3600, project_every=3600)
"""Looks into the mailbox are the test's."""
WAIT: Object = {
    "id": "wait",
    "steps": [{"stepId": "wait", "type": "EVENT_WAIT", "eventPattern": "go"}],
}
HOLD: Object = {"id": "hold", "steps": [{"stepId": "hold", "type": "TASK", "taskId": "hold"}]}


def letter(engine: Engine, id: str, to: str, input: Input) -> Mail:
    now = engine.clock.now()
    return Mail(id=id, instance_id=to, input=msgspec.json.encode(input), created_at=now)


class Asked(ScriptedStore):
    """Notes which letters each look brought."""

    def __init__(self, disk: MemoryDisk | None = None, *, shared: bool = False) -> None:
        super().__init__(disk, shared=shared)
        self.brought: list[list[str]] = []
        self.is_losing_answers = False

    async def on_mailbox_claim(self, call: Call) -> object:
        found = await call()
        self.brought.append([each.id for each in found])
        if self.is_losing_answers:
            raise StoreUnavailable("the answer got lost")
        return found


class FailingLoads(ScriptedStore):
    """Once cannot be read."""

    is_failing = False

    async def on_turns_load(self, call: Call) -> object:
        if self.is_failing:
            self.is_failing = False
            raise StoreUnavailable("as planned")
        return await call()


async def waiting(app: Tenuto) -> str:
    await app.deploy(WAIT)
    instance = await app.start("wait")
    await until(app, instance, waits_for_event)
    return instance.id


async def test_a_letter_in_hand_is_not_fetched_again() -> None:
    store = Asked()
    async with Tenuto(store, settings=QUIET) as app:
        id, engine = await waiting(app), app.engine
        unreadable = Mail(id="m0", instance_id=id, input=b"?", created_at=engine.clock.now())
        await store.mailbox.send([unreadable, letter(engine, "m1", id, CancelAsked(by="x"))])
        store.brought.clear()
        for _ in range(3):
            await engine.effects.mailbox.run_once()
            await at_rest(app)
        assert store.brought == [["m0", "m1"], [], []]
        assert await (await app.instance(id)).status() is Status.CANCELLED
        # What the log has taken is remembered no longer.
        assert [key.id for key in engine.effects.mailbox._in_hand] == ["m0"]


async def test_a_letter_to_an_instance_not_in_memory_takes_the_turn_of_its_tenant() -> None:
    store = ScriptedStore()
    async with Tenuto(store, settings=QUIET) as app:
        id, engine = await waiting(app), app.engine
        engine.turns.forget(id)
        await store.mailbox.send([letter(engine, "m1", id, CancelAsked(by="x"))])
        await engine.effects.mailbox.run_once()
        [intake] = engine.turns.intakes
        assert list(intake._finish.tenants) == ["default"]


async def test_a_file_is_read_seldom_while_thousands_of_its_letters_are_in_hand() -> None:
    """A read returns each of them, and most are in hand since they were written."""
    store = Asked()
    async with Tenuto(store, settings=QUIET) as app:
        mailbox = app.engine.effects.mailbox
        full = [MailKey(f"m{number}", "i") for number in range(2_001)]
        mailbox._in_hand.update(dict.fromkeys(full, False))
        store.brought.clear()
        for _ in range(10):
            await mailbox.run_once()
        assert len(store.brought) == 2
        mailbox._in_hand.pop(full[0])
        for _ in range(3):
            await mailbox.run_once()
        assert len(store.brought) == 5


async def test_letters_of_a_look_whose_answer_got_lost_are_handed_over_by_the_next() -> None:
    store = Asked()
    async with Tenuto(store, settings=QUIET) as app:
        id, engine = await waiting(app), app.engine
        await store.mailbox.send([letter(engine, "m1", id, CancelAsked(by="x"))])
        store.is_losing_answers = True
        with pytest.raises(StoreUnavailable):
            await engine.effects.mailbox.run_once()
        store.is_losing_answers = False
        assert await engine.effects.mailbox.run_once() == 1
        with pytest.raises(WorkflowCancelled):
            await (await app.instance(id)).result(10)


async def test_a_start_by_letter_survives_that_the_store_cannot_be_read() -> None:
    store = FailingLoads()
    async with Tenuto(store, settings=QUIET) as app:
        id, engine = await waiting(app), app.engine
        started = Started(definition_id="wait", definition_version=1, input=None, rerun_of=id)
        await store.mailbox.send([letter(engine, "m1", "new", started)])
        store.is_failing = True
        with pytest.raises(StoreUnavailable):
            await engine.effects.mailbox.run_once()
        assert await engine.effects.mailbox.run_once() == 1
        await at_rest(app)
        assert list(await store.turns.load(["new"])) == ["new"]


@pytest.mark.parametrize("shared", [False, True])
async def test_a_letter_starts_nothing_of_a_workflow_that_was_removed(shared: bool) -> None:
    """An event that was matched before, and a rerun; a child was promised to its parent."""
    store = Asked(shared=shared)
    async with Tenuto(store, settings=QUIET) as app:
        id, engine = await waiting(app), app.engine
        await engine.plans.hide("default", "wait")
        start = Started(definition_id="wait", definition_version=1, input=None)
        cause = EventCause(event_id="e", trigger=0, tenant="default")
        parent = Parent(id=id, node="n", iteration="", root_id=id, depth=1)
        await store.mailbox.send(
            [
                letter(engine, "m1", "of-event", replace(start, cause=cause)),
                letter(engine, "m2", "again", replace(start, rerun_of=id)),
                letter(engine, "m3", "child", replace(start, parent=parent)),
            ]
        )
        assert await engine.effects.mailbox.run_once() == 3
        sent = SendMail(
            to="at-once", id="m4", at=engine.clock.now(), input=replace(start, cause=cause)
        )
        engine.effects.mailbox.send(sent, "default")
        await at_rest(app)
        await turns(20)
        await at_rest(app)
        ids = {row.id for row in (await store.instances.page(InstanceQuery(limit=9))).items}
        assert ids == {id, "child"}
        assert await engine.effects.mailbox.run_once() == 0


async def test_a_letter_for_what_another_process_owns_by_now_is_put_back_for_it() -> None:
    disk = MemoryDisk()
    settings = Settings(mail_every=0.05)
    begun = asyncio.Event()
    stores = [MemoryStore(disk, shared=True) for _ in range(2)]
    async with Tenuto(stores[0], settings=settings) as one:
        two = Tenuto(stores[1], settings=settings)

        @two.task
        async def hold() -> None:
            begun.set()
            await asyncio.Event().wait()

        async with two:
            await two.deploy(HOLD)
            instance = await two.start("hold")
            await begun.wait()
            cancel = CancelAsked(by="x")
            await stores[0].mailbox.send([letter(one.engine, "m1", instance.id, cancel)])
            # As if it had come to the first before the second took the instance.
            [number] = disk.mail
            disk.claims[number] = one.engine.process_id
            disk.unseen.discard(number)
            one.engine.turns.report(Request(instance.id, cancel, mail_id="m1"))
            with pytest.raises(WorkflowCancelled):
                await instance.result(20)
            assert disk.mail == {}


@pytest.mark.parametrize("noticed", ["during the read", "after the read"])
async def test_a_letter_that_another_process_sends_again_while_the_first_is_taken_is_taken_too(
    noticed: str,
) -> None:
    """Two processes match one event: the second writes the letter when the first one is gone."""
    disk = MemoryDisk()
    store, other = ScriptedStore(disk, shared=True), MemoryStore(disk, shared=True)
    async with Tenuto(store, settings=QUIET) as app, Tenuto(other, settings=QUIET):
        id = await waiting(app)
        mailbox = app.engine.effects.mailbox
        # As if the turn that takes the first one were durable, and its end not yet noticed here.
        mailbox._in_hand[MailKey("m1", id)] = False
        await other.mailbox.send([letter(app.engine, "m1", id, CancelAsked(by="x"))])

        async def notice(call: Call) -> object:
            found = await call()
            if noticed == "during the read":
                mailbox.taken(id, ["m1"])
            return found

        store.on("mailbox.claim", notice)
        assert await mailbox.run_once() == 0
        mailbox.taken(id, ["m1"])
        await _is_handed_over(app, store)


async def test_a_letter_that_this_process_sends_again_while_the_first_is_taken_is_taken_too() -> (
    None
):
    """As above; the first was that of the other process."""
    store = ScriptedStore(shared=True)
    async with Tenuto(store, settings=QUIET) as app:
        id = await waiting(app)
        mailbox, now = app.engine.effects.mailbox, app.engine.clock.now()
        mailbox._in_hand[MailKey("m1", id)] = False
        cancel = CancelAsked(by="x")
        await store.mailbox.send([letter(app.engine, "m1", id, cancel)])
        mailbox.send(SendMail(to=id, id="m1", at=now, input=cancel), "default")
        # It is the sender's: later reads do not return it.
        [number] = store.disk.mail
        store.disk.claims[number] = app.engine.process_id
        store.disk.unseen.discard(number)
        mailbox.taken(id, ["m1"])
        await _is_handed_over(app, store)


async def test_a_letter_that_was_sent_again_is_found_behind_more_than_one_pass_reads() -> None:
    store = ScriptedStore(shared=True)
    async with Tenuto(store, settings=replace(QUIET, bounds=Bounds(mail_batch=1))) as app:
        other, id = await waiting(app), await waiting(app)
        mailbox, cancel = app.engine.effects.mailbox, CancelAsked(by="x")
        await store.mailbox.send([letter(app.engine, "m0", other, cancel)])
        mailbox._in_hand[MailKey("m1", id)] = False
        await store.mailbox.send([letter(app.engine, "m1", id, cancel)])
        mailbox.send(SendMail(to=id, id="m1", at=app.engine.clock.now(), input=cancel), "default")
        # It is the sender's: later reads do not return it.
        number = max(store.disk.mail)
        store.disk.claims[number] = app.engine.process_id
        store.disk.unseen.discard(number)
        mailbox.taken(id, ["m1"])
        assert await mailbox.begin(), "the pass ends with the first"
        await at_rest(app)
        assert await mailbox.run_once() == 1
        await at_rest(app)
        assert store.disk.mail == {}


async def _is_handed_over(app: Tenuto, store: ScriptedStore) -> None:
    """The next read hands the letter over, and later ones search no longer."""
    mailbox = app.engine.effects.mailbox
    store.on("mailbox.claim", Call.__call__)
    assert await mailbox.run_once() == 1
    await at_rest(app)
    assert store.disk.mail == {}
    store.calls.clear()
    assert await mailbox.run_once() == 0
    assert not store.made("mailbox.waiting")
    assert [call.kwargs["again"] for call in store.made("mailbox.claim")] == [False]
