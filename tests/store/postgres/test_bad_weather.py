"""Connections break, servers restart and refuse: nothing is lost, nothing is written twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from asyncpg import PostgresError  # type: ignore[import-untyped]

from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import CommitUnknown, DataRefused
from tenuto.store.parts.jobs import JobKey, JobRow, Lease
from tenuto.store.parts.members import Orphan
from tenuto.store.parts.turns import Outcome, Ownership, Turn, TurnResult
from tenuto.store.postgres import PostgresStore, server as server_module
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.driver import Row
from tenuto.store.postgres.faults import is_broken, may_go_again, translated
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.session import Session
from tests.kit.postgres_database import connected
from tests.kit.postgres_server import PostgresServer, running_server
from tests.kit.tcp_proxy import TcpProxy, proxy_to
from tests.store import test_access, test_outbox
from tests.store.postgres.conftest import Opener, waits_for_lock
from tests.store.situations import NOON, aside, begin, entry, event, mail, step, turn

SHOWN = "postgresql://ada@db.example/orders"
ADDRESS = read_address(SHOWN)


@pytest_asyncio.fixture
async def proxy(url: str) -> AsyncIterator[TcpProxy]:
    async with proxy_to(url) as made:
        yield made


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with running_server(durable=True) as made:
        yield made


def a_turn(id: str, version: int) -> Turn:
    sent = (mail(f"m-{id}", "i9"),)
    first = begin("i1") if version == 0 else step("i1", version, mail_sent=sent)
    return turn(id, first, process_id="p1", events=(event(f"e-{id}"),))


async def persistently(store: PostgresStore, sent: Turn) -> TurnResult:
    """What the engine does: the same turn again, for as long as it is not known or not possible."""
    while True:
        try:
            return await store.turns.commit(sent)
        except (CommitUnknown, StoreUnavailable):
            await asyncio.sleep(0.02)


@pytest.mark.asyncio
async def test_a_turn_whose_answer_was_lost_is_settled(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    """C1: "cut the response, retry; same answer"."""
    store = await opened(proxy.url(url))
    await store.turns.commit(a_turn("t1", 0))
    proxy.lose_answers()
    under_way = asyncio.create_task(store.turns.commit(a_turn("t2", 1)))
    await proxy.lost.wait()
    proxy.cut()
    with pytest.raises(CommitUnknown):
        await under_way
    proxy.mend()
    again = await persistently(store, a_turn("t2", 1))
    assert again.writes["i1"].outcome is Outcome.WON
    assert again.events["e-t2"].outcome == "stored"
    assert [row.seq for row in await store.instances.entries("i1")] == [1, 2]
    assert [each.id for each in await store.mailbox.claim(10)] == ["m-t2"]


@pytest.mark.asyncio
async def test_a_turn_that_never_arrived_goes_in_when_it_is_sent_again(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    store = await opened(proxy.url(url))
    await store.turns.commit(a_turn("t1", 0))
    proxy.lose_requests()
    under_way = asyncio.create_task(store.turns.commit(a_turn("t2", 1)))
    await proxy.lost.wait()
    proxy.cut()
    with pytest.raises(CommitUnknown):
        await under_way
    proxy.mend()
    assert (await persistently(store, a_turn("t2", 1))).writes["i1"].outcome is Outcome.WON
    assert [row.seq for row in await store.instances.entries("i1")] == [1, 2]


@pytest.mark.asyncio
async def test_where_nobody_answers_nothing_is_unknown(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    store = await opened(proxy.url(url))
    proxy.refuse()
    proxy.cut()
    with pytest.raises(StoreUnavailable):
        await store.turns.commit(a_turn("t1", 0))
    with pytest.raises(StoreUnavailable):
        await store.turns.load(["i1"])
    proxy.mend()
    assert (await store.turns.commit(a_turn("t1", 0))).writes["i1"].outcome is Outcome.WON
    assert len(await store.turns.load(["i1"])) == 1


@pytest.mark.asyncio
async def test_what_a_claim_brought_whose_answer_was_lost_is_told_later(
    url: str, proxy: TcpProxy, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C2: "Worker died between claim and launch; nothing owned the claim"."""
    gone = await opened(url, "gone")
    owned = [aside(f"i{n}", ownership=Ownership.TAKE) for n in range(5)]
    await gone.turns.commit(turn("t1", *owned, process_id="gone"))
    await gone.close(NOON, clean=True)
    heir = await opened(proxy.url(url), "heir")
    assert [each.instance_id for each in await heir.members.claim_orphans(2)] == ["i0", "i1"]
    commit = Session.commit

    async def unanswered(session: Session, *sent: Any) -> list[Row]:  # noqa: ANN401
        proxy.lose_answers()
        return await commit(session, *sent)

    monkeypatch.setattr(Session, "commit", unanswered)
    under_way = asyncio.create_task(heir.members.claim_orphans(2))
    await proxy.lost.wait()
    proxy.cut()
    with pytest.raises(StoreUnavailable):
        await under_way
    proxy.mend()
    monkeypatch.undo()
    assert (await heir.members.beat()).has_orphans
    found = [orphan async for orphan in _all_orphans(heir)]
    assert found == [Orphan(f"i{n}", clean=True) for n in (2, 3, 4)]
    assert not (await heir.members.beat()).has_orphans


@pytest.mark.asyncio
async def test_jobs_of_a_claim_whose_answer_was_lost_are_not_claimed_past_it(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    """A claim is not repeated without a word; who made it asks what it has."""
    store = await opened(proxy.url(url), connections=1)
    await store.turns.commit(turn("t1", begin("i1"), begin("i2"), process_id="p1"))
    keys = [JobKey(f"i{n}", "a", "", 1) for n in (1, 2)]
    offers = [
        aside(key.instance_id, jobs_offered=(JobRow(key=key, task_id="ship", offered_at=NOON),))
        for key in keys
    ]
    await store.turns.commit(turn("t2", *offers, process_id="p1"))
    lease = timedelta(seconds=30)
    await store.jobs.claim([], 0, lease, NOON)  # from now on the statement is known
    proxy.lose_answers()
    under_way = asyncio.create_task(store.jobs.claim(["ship"], 1, lease, NOON))
    await proxy.lost.wait()
    proxy.cut()
    with pytest.raises(CommitUnknown):
        await under_way
    proxy.mend()
    assert await store.jobs.leases(NOON) == [Lease(keys[0], 1)]
    assert (await store.jobs.claim(["ship"], 9, lease, NOON)).granted == [Lease(keys[1], 1)]


@pytest.mark.asyncio
@pytest.mark.parametrize("verb", ["put_listener", "put_key", "remove_listener", "keys"])
async def test_what_no_turn_can_tell_is_not_said_to_be_refused(
    url: str, proxy: TcpProxy, opened: Opener, verb: str
) -> None:
    """Whoever takes it for refused makes a second one. What only reads is no matter."""
    store = await opened(proxy.url(url), connections=1)
    asks: dict[str, Callable[[], Awaitable[object]]] = {
        "put_listener": lambda: store.listeners.put(test_outbox.listener("hook")),
        "put_key": lambda: store.access.put_key(test_access.key("k1")),
        "remove_listener": lambda: store.listeners.remove("default", "webhook", "hook"),
        "keys": lambda: store.access.keys("acme"),
    }
    await asks[verb]()  # from now on the statement is known
    if verb in ("put_key", "remove_listener"):
        proxy.lose_answers_after(b"COMMIT;")
    else:
        proxy.lose_answers()
    under_way = asyncio.ensure_future(asks[verb]())
    await proxy.lost.wait()
    proxy.refuse()
    proxy.cut()
    with pytest.raises(StoreUnavailable) as unknown:
        await under_way
    assert (unknown.value.code == "TEN-4019") == (verb != "keys")


@pytest.mark.asyncio
@pytest.mark.parametrize(("verb", "code"), [("put_listener", "TEN-4019"), ("keys", "TEN-4023")])
async def test_without_a_budget_for_retries_a_broken_write_is_not_said_to_be_refused(
    url: str, proxy: TcpProxy, opened: Opener, verb: str, code: str
) -> None:
    store = await opened(proxy.url(url), connections=1)
    asks: dict[str, Callable[[], Awaitable[object]]] = {
        "put_listener": lambda: store.listeners.put(test_outbox.listener("hook")),
        "keys": lambda: store.access.keys("acme"),
    }
    await asks[verb]()  # from now on the statement is known
    while store._database.pool._server.budget.take():
        pass
    proxy.lose_answers()
    under_way = asyncio.ensure_future(asks[verb]())
    await proxy.lost.wait()
    proxy.mend()
    proxy.cut()
    with pytest.raises(StoreUnavailable, match="too many operations are repeated") as broken:
        await under_way
    assert broken.value.code == code
    await asks[verb]()


@pytest.mark.asyncio
async def test_a_letter_of_which_nothing_was_heard_is_not_sent_again(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    """If somebody has taken it meanwhile, the command in it would be done twice."""
    sender = await opened(proxy.url(url), connections=1)
    worker = await opened(url, "p2")
    await worker.turns.commit(turn("t1", begin("i1"), process_id="p2"))
    await sender.mailbox.send([mail("m1", "i1")])  # from now on the statement is known
    proxy.lose_answers()
    under_way = asyncio.create_task(sender.mailbox.send([mail("m2", "i1")]))
    await proxy.lost.wait()
    taken = aside("i1", version=1, mail_taken=("m1", "m2"))
    await worker.turns.commit(turn("t2", taken, process_id="p2"))
    proxy.mend()
    proxy.cut()
    with pytest.raises(StoreUnavailable, match="broke while messages were sent") as unknown:
        await under_way
    assert unknown.value.code == "TEN-4019"
    assert await worker.mailbox.claim(10) == []
    await sender.mailbox.send([mail("m3", "i1")])
    assert [each.id for each in await worker.mailbox.claim(10)] == ["m3"]


@pytest.mark.asyncio
async def test_letters_that_were_rolled_back_because_of_others_are_sent_again(
    url: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(url)
    send = Session._send
    left = 2

    async def rolled_back(session: Session, *sent: Any) -> list[Row]:  # noqa: ANN401
        nonlocal left
        left -= 1
        if left >= 0:
            error = PostgresError("deadlock detected")
            error.sqlstate = "40P01"
            raise error
        return await send(session, *sent)

    monkeypatch.setattr(Session, "_send", rolled_back)
    await store.mailbox.send([mail("m1", "i1")])
    monkeypatch.undo()
    assert [each.id for each in await store.mailbox.claim(10)] == ["m1"]


@pytest.mark.asyncio
async def test_a_definition_of_which_nothing_was_heard_is_saved_once(
    url: str, proxy: TcpProxy, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if another was saved meanwhile, which stays the newest."""
    store = await opened(proxy.url(url), connections=1)
    other = await opened(url, "p2")
    await store.definitions.save("default", "w", b"1", b"1", NOON)
    rows = Pool.rows

    async def unanswered(pool: Pool, name: str, *given: Any) -> list[Row]:  # noqa: ANN401
        if name == "insert_definition":
            proxy.lose_answers()
        return await rows(pool, name, *given)

    monkeypatch.setattr(Pool, "rows", unanswered)
    saving = asyncio.create_task(store.definitions.save("default", "w", b"2", b"2", NOON))
    await proxy.lost.wait()
    monkeypatch.undo()
    await other.definitions.save("default", "w", b"3", b"3", NOON)
    proxy.mend()
    proxy.cut()
    assert (await saving).version == 2
    newest = await store.definitions.get("default", "w")
    assert newest is not None
    assert (newest.version, newest.content) == (3, b"3")


async def _all_orphans(store: PostgresStore) -> AsyncIterator[Orphan]:
    while batch := await store.members.claim_orphans(2):
        for orphan in batch:
            yield orphan


@pytest.mark.asyncio
async def test_no_error_is_said_to_be_its_own_cause(
    url: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opened(url, "p1")
    with pytest.raises(ValueError, match="used before") as again:
        await opened(url, "p1")
    monkeypatch.setattr(server_module, "OLDEST_SERVER", 990_000)
    with pytest.raises(StoreUnavailable, match="is PostgreSQL") as too_old:
        await opened(url, "p2")
    assert (again.value.__cause__, too_old.value.__cause__) == (None, None)


@pytest.mark.asyncio
async def test_a_read_whose_connection_broke_is_read_again(
    url: str, proxy: TcpProxy, opened: Opener
) -> None:
    store = await opened(proxy.url(url))
    await store.turns.commit(a_turn("t1", 0))
    await store.turns.load(["i1"])
    proxy.cut()
    assert len(await store.turns.load(["i1"])) == 1
    assert (await store.members.beat()).at is not None


@pytest.mark.asyncio
async def test_every_connection_may_be_ended_by_an_administrator(url: str, opened: Opener) -> None:
    store = await opened(url)
    await store.turns.commit(a_turn("t1", 0))
    for version in range(1, 6):
        async with connected(url) as connection:
            await connection.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'tenuto' AND datname = current_database()"
            )
        done = await persistently(store, a_turn(f"t{version + 1}", version))
        assert done.writes["i1"].outcome is Outcome.WON
        assert len(await store.instances.entries("i1")) == version + 1


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_server_that_restarts_has_what_it_acknowledged(
    server: PostgresServer, opened: Opener
) -> None:
    """R7: "pg_ctl -m immediate, -m fast, SIGKILL of postmaster"."""
    store = await opened(server.url())
    await store.turns.commit(a_turn("t0", 0))
    ends: list[Callable[[], None]] = [
        server.kill,
        server.stop,
        lambda: server.stop("immediate"),
    ]
    for version, end in enumerate(ends, 1):
        end()
        with pytest.raises((CommitUnknown, StoreUnavailable)):
            await store.turns.commit(a_turn(f"t{version}", version))
        with pytest.raises(StoreUnavailable) as refused:
            await store.turns.load(["i1"])
        assert refused.value.code == "TEN-4008"
        server.start()
        done = await persistently(store, a_turn(f"t{version}", version))
        assert done.writes["i1"].outcome is Outcome.WON
        assert len(await store.instances.entries("i1")) == version + 1
    assert not (await store.members.beat()).has_orphans


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_server_that_takes_no_more_connections_says_so(opened: Opener) -> None:
    settings = {"max_connections": "3", "superuser_reserved_connections": "0"}
    server = PostgresServer(settings=settings)
    try:
        server.start()
        await PostgresStore(server.url()).migrate()
        async with connected(server.url()), connected(server.url()), connected(server.url()):
            with pytest.raises(StoreUnavailable) as refused:
                await opened(server.url())
        assert refused.value.code == "TEN-4010"
        assert "max_connections" in refused.value.advice
        await opened(server.url(), "p2")
    finally:
        for store in opened.stores:
            store.abandon()
        server.remove()


@pytest.mark.asyncio
async def test_a_read_only_server_is_told_as_such(url: str, opened: Opener) -> None:
    store = await opened(url)
    async with connected(url) as connection:
        [(name,)] = await connection.fetch("SELECT current_database()")
        read_only = f'ALTER DATABASE "{name}" SET default_transaction_read_only'
        await connection.execute(f"{read_only} = on")
        try:
            with pytest.raises(StoreUnavailable) as refused:
                await store.turns.commit(a_turn("t1", 0))
        finally:
            await connection.execute(f"SET default_transaction_read_only = off; {read_only} = off")
    assert refused.value.code == "TEN-4004"


@pytest.mark.asyncio
async def test_a_turn_in_a_deadlock_goes_in_after_it(url: str, opened: Opener) -> None:
    """C22: "Deadlocks from two orders of locking"; others may have them with us."""
    store = await opened(url)
    await store.turns.commit(turn("t1", begin("i1"), begin("i2"), process_id="p1"))
    row = (
        "INSERT INTO tenuto.workflow_execution_history"
        " VALUES ($1, 2, 'X', NULL, '', 0, NULL, NULL, NULL, NULL, 0, NULL)"
    )
    async with connected(url) as other:
        await other.execute("BEGIN")
        await other.fetch(row, "i2")
        under_way = asyncio.create_task(
            store.turns.commit(turn("t2", step("i1", 1), step("i2", 1), process_id="p1"))
        )
        await waits_for_lock(url)
        with suppress(PostgresError):
            # The server chooses whom it rolls back.
            await other.fetch(row, "i1")
        await other.execute("ROLLBACK")
    done = await under_way
    assert {each.outcome for each in done.writes.values()} == {Outcome.WON}


@pytest.mark.asyncio
async def test_a_turn_that_was_rolled_back_because_of_others_is_tried_again(
    url: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(url)
    send = Session._send
    failures = iter(["40P01", "40001", None, "40P01"])

    async def unlucky(session: Session, *rest: Any) -> list[Row]:  # noqa: ANN401
        if state := next(failures, None):
            raise PostgresError.new({"C": state, "M": "again", "S": "ERROR"})
        return await send(session, *rest)

    monkeypatch.setattr(Session, "_send", unlucky)
    done = await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    assert done.writes["i1"].outcome is Outcome.WON
    assert len(await store.turns.load(["i1"])) == 1
    failures = iter(["40P01"] * 100)
    with pytest.raises(StoreUnavailable) as refused:
        await store.turns.commit(turn("t2", step("i1", 1), process_id="p1"))
    assert refused.value.code == "TEN-4011"


@pytest.mark.asyncio
@pytest.mark.parametrize("text", ["\x00", "\ud800", "a\udfffb"])
async def test_text_that_cannot_be_kept_is_refused_everywhere(
    url: str, opened: Opener, text: str
) -> None:
    store = await opened(url)
    await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
    for number, bad in enumerate(
        [
            step("i1", 1, entry(2, error_message=text)),
            step("i1", 1, mail_sent=(mail(text, "i2"),)),
            begin("i2", correlation_id=text),
            begin("i2", current_steps=(text,)),
            begin("i2", key=text),
            aside("i1", version=1, mail_taken=(text,)),
        ]
    ):
        with pytest.raises(DataRefused):
            await store.turns.commit(turn(f"bad{number}", bad, begin("i3"), process_id="p1"))
    with pytest.raises(DataRefused):
        await store.turns.commit(turn("t2", process_id="p1", events=(event(text),)))
    with pytest.raises(DataRefused):
        await store.mailbox.send([mail("m1", text)])
    assert set(await store.turns.load(["i1", "i2", "i3"])) == {"i1"}
    assert len(await store.instances.entries("i1")) == 1
    assert await store.mailbox.claim(10) == []


@pytest.mark.asyncio
async def test_a_number_that_is_too_large_is_refused(url: str, opened: Opener) -> None:
    store = await opened(url)
    with pytest.raises(DataRefused):
        await store.turns.commit(turn("t1", begin("i1", entry(1, at_ms=1 << 63)), process_id="p1"))
    assert await store.turns.load(["i1"]) == {}


@pytest.mark.asyncio
async def test_a_commit_that_is_called_off_leaves_the_lane_usable(url: str, opened: Opener) -> None:
    """C23: "Cancel 10,000 requests mid-transaction; pool full again"."""
    store = await opened(url, connections=1)
    await store.turns.commit(turn("t0", begin("i1"), process_id="p1"))
    async with connected(url) as other:
        await other.execute("BEGIN; LOCK TABLE tenuto.workflow_execution_history IN EXCLUSIVE MODE")
        for number in range(5):
            under_way = asyncio.create_task(
                store.turns.commit(turn(f"t{number + 1}", step("i1", 1), process_id="p1"))
            )
            await waits_for_lock(url)
            under_way.cancel()
            with pytest.raises(asyncio.CancelledError):
                await under_way
        await other.execute("ROLLBACK")
    done = await store.turns.commit(turn("t9", step("i1", 1), process_id="p1"))
    assert done.writes["i1"].outcome is Outcome.WON


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("28P01", "TEN-4009"),
        ("28000", "TEN-4009"),
        ("3D000", "TEN-4009"),
        ("25006", "TEN-4004"),
        ("42501", "TEN-4004"),
        ("53100", "TEN-4003"),
        ("53200", "TEN-4001"),
        ("53300", "TEN-4010"),
        ("55P03", "TEN-4011"),
        ("57014", "TEN-4011"),
        ("40P01", "TEN-4011"),
        ("40001", "TEN-4011"),
        ("57P01", "TEN-4001"),
        ("57P02", "TEN-4001"),
        ("57P03", "TEN-4001"),
        ("42P01", "TEN-4006"),
        ("58030", "TEN-4001"),
        ("XX001", "TEN-4001"),
        ("0LP01", "TEN-4001"),
    ],
)
def test_what_the_server_says_is_said_so_that_somebody_can_act(state: str, code: str) -> None:
    error = PostgresError.new({"C": state, "M": "its words", "S": "ERROR"})
    meant = translated(error, ADDRESS)
    assert isinstance(meant, StoreUnavailable)
    assert meant.code == code
    assert SHOWN in meant.message
    assert "its words" in meant.message
    assert meant.advice


@pytest.mark.parametrize("state", ["42P01", "23505", "08006"])
def test_of_what_the_server_says_only_the_first_line_is_passed_on(state: str) -> None:
    fields = {"C": state, "M": "its words", "S": "ERROR", "D": "a row", "H": "some advice"}
    meant = translated(PostgresError.new(fields), ADDRESS)
    assert "its words" in str(meant)
    assert "DETAIL" not in str(meant)
    assert "HINT" not in str(meant)


def test_a_user_who_is_denied_something_is_told_of_everything_that_is_needed() -> None:
    meant = translated(PostgresError.new({"C": "42501", "M": "no", "S": "ERROR"}), ADDRESS)
    assert isinstance(meant, StoreUnavailable)
    for needed in (
        "ON DATABASE orders TO ada",
        "ON SCHEMA",
        "ON ALL TABLES",
        "USAGE ON ALL SEQUENCES",
    ):
        assert needed in meant.advice


@pytest.mark.parametrize("state", ["22021", "22P05", "22003", "23505", "23502", "54000"])
def test_data_that_the_server_refuses_are_at_fault_themselves(state: str) -> None:
    error = PostgresError.new({"C": state, "M": "its words", "S": "ERROR"})
    assert isinstance(translated(error, ADDRESS), DataRefused)


def test_a_last_word_of_the_server_leaves_open_what_happened() -> None:
    last = PostgresError.new({"C": "57P01", "M": "bye", "S": "FATAL", "V": "FATAL"})
    refused = PostgresError.new({"C": "57014", "M": "no", "S": "ERROR", "V": "ERROR"})
    assert (is_broken(last), is_broken(refused)) == (True, False)
    assert may_go_again(PostgresError.new({"C": "40P01", "M": "", "S": "ERROR"}))


@pytest.mark.slow
@pytest.mark.asyncio
async def test_an_open_that_failed_can_be_tried_again(server: PostgresServer) -> None:
    server.stop()
    store = PostgresStore(server.url())
    with pytest.raises(StoreUnavailable):
        await store.open("p1", NOON)
    server.start()
    await store.open("p1", NOON)
    store.abandon()
