"""Through PgBouncer, which hands out another server for each transaction, everything holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from tenuto.cli import backends
from tenuto.cli.doctor import examine
from tenuto.model.errors import StoreUnavailable
from tenuto.store.errors import CommitUnknown
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.turns import Outcome, Ownership
from tenuto.store.postgres import PostgresStore, server
from tenuto.store.postgres.address import read_address
from tenuto.store.postgres.server import Server
from tests.kit.pgbouncer import pgbouncer, pgbouncer_program
from tests.kit.postgres_database import fresh_database
from tests.kit.postgres_plugin import did_not_run
from tests.kit.tcp_proxy import proxy_to
from tests.store.postgres.conftest import Opener
from tests.store.postgres_place import TestedStore
from tests.store.situations import NOON, begin, event, mail, moment, step, timer, turn, wait
from tests.store.test_differential import Scenario, compare_on

ACCEPTING = (
    "ignore_startup_parameters = extra_float_digits, idle_in_transaction_session_timeout,"
    " lock_timeout, statement_timeout, enable_seqscan, enable_hashjoin, enable_mergejoin,"
    " plan_cache_mode, jit, default_transaction_isolation"
)


@pytest.fixture(params=["", ACCEPTING], ids=["strict", "accepting"])
def pooled(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The test database by way of PgBouncer, or None where there is none."""
    url = asyncio.run(fresh_database())
    program = pgbouncer_program()
    if program is None:
        did_not_run(request.node.nodeid, "PgBouncer is not installed (apt-get install pgbouncer)")
        yield None
        return
    with pgbouncer(program, url, request.param) as through:
        yield through


@pytest.fixture
def direct() -> str:
    return asyncio.run(fresh_database())


def test_a_pooler_is_recognised(pooled: str | None) -> None:
    async def connect() -> bool:
        assert pooled is not None
        server = Server(read_address(pooled))
        (await server.connect()).terminate()
        return server.is_pooled

    assert pooled is None or asyncio.run(connect())


def refused(url: str) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as refusal:
        asyncio.run(Server(read_address(url)).connect())
    return refusal.value


def test_a_pooler_that_has_no_such_database_refuses(
    pooled: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_CONNECT_PATIENCE", 1.0)
    if pooled is not None:
        missing = refused(f"{pooled.rpartition('/')[0]}/nowhere")
        assert missing.code == "TEN-4009"
        assert 'refuses: database "nowhere" does not exist' in missing.message
        unknown = refused(f"{pooled}?bogus=1")
        assert (unknown.code, "bogus" in unknown.message) == ("TEN-4009", True)


@pytest.mark.slow
def test_random_operations_agree_with_memory(pooled: str | None, direct: str) -> None:
    if pooled is not None:
        asyncio.run(compare_on(Scenario(1, TestedStore(pooled, [], direct=direct)), 80))


@pytest.mark.asyncio
async def test_turns_go_through_or_lose_as_ever(pooled: str | None, opened: Opener) -> None:
    if pooled is None:
        return
    first, second = await opened(pooled, "p1"), await opened(pooled, "p2")
    for number in range(20):
        start = begin(f"i{number}")
        everything = step(
            f"i{number}",
            1,
            ownership=Ownership.TAKE,
            mail_sent=(mail(f"m{number}", "x"),),
            timers_set=(timer(f"i{number}", number),),
            waits_opened=(wait(f"i{number}"),),
        )
        await first.turns.commit(turn(f"s{number}", start, process_id="p1"))
        results = await asyncio.gather(
            first.turns.commit(turn(f"a{number}", everything, process_id="p1")),
            second.turns.commit(
                turn(f"b{number}", everything, process_id="p2", events=(event("e1"),))
            ),
        )
        outcomes = sorted(result.writes[f"i{number}"].outcome for result in results)
        assert outcomes == [Outcome.LOST, Outcome.WON]
    timers = [
        each for store in (first, second) for each in (await store.timers.due(moment(99), 9))[0]
    ]
    assert len({each.instance_id for each in timers}) == len(timers) == 18
    assert not (await first.members.beat()).has_orphans
    await asyncio.gather(*[first.turns.load(["i1"]) for _ in range(30)])


@pytest.mark.asyncio
async def test_a_lost_answer_is_settled(pooled: str | None, opened: Opener) -> None:
    if pooled is None:
        return
    async with proxy_to(pooled) as proxy:
        store = await opened(proxy.url(pooled), "p1")
        await store.turns.commit(turn("t0", begin("i1"), process_id="p1"))
        sent = turn("t1", step("i1", 1, mail_sent=(mail("m1", "i2"),)), process_id="p1")
        proxy.lose_answers_after(b"COMMIT;")
        under_way = asyncio.create_task(store.turns.commit(sent))
        await proxy.lost.wait()
        proxy.cut()
        with pytest.raises(CommitUnknown):
            await under_way
        proxy.mend()
        assert (await store.turns.commit(sent)).writes["i1"].outcome is Outcome.WON
        assert [row.seq for row in await store.instances.entries("i1")] == [1, 2]
        assert [each.id for each in await store.mailbox.claim(10)] == ["m1"]


@pytest.mark.asyncio
async def test_nothing_is_heard_through_a_pooler_unless_the_server_is_named(
    pooled: str | None, direct: str, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    if pooled is None:
        return
    deaf = await opened(pooled, "p1")
    await deaf.members.listen(lambda: None)
    assert not deaf.is_listening
    assert "listen_url=" in caplog.text
    heard = asyncio.Event()
    hearing = await opened(pooled, "p2", listen_url=direct)
    await hearing.members.listen(heard.set)
    assert hearing.is_listening
    await deaf.members.hint(["p2"])
    await heard.wait()


def test_the_doctor_asks_who_is_there_and_guesses_at_no_port(
    pooled: str | None, direct: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if pooled is None:
        return
    asyncio.run(_made(direct))
    for url, expected in ((pooled, True), (direct, False)):
        asyncio.run(_examined(url))
        found = {each["what"] for each in json.loads(capsys.readouterr().out)["findings"]}
        assert ("pooler" in found) is expected


async def _examined(url: str) -> None:
    async with backends.opened(url) as backend:
        await examine(backend, is_json=True)


async def _made(url: str) -> None:
    store = PostgresStore(url)
    await store.open("p1", NOON)
    await store.close(NOON, clean=True)


def test_what_is_read_for_a_tenant_passes_the_wall(pooled: str | None) -> None:
    """Another client's transaction in between is neither narrowed nor widened by it."""

    async def read(url: str) -> list[int]:
        store = PostgresStore(url)
        await store.open("p1", NOON)
        await store.turns.commit(turn("t1", begin("i1"), process_id="p1"))
        query = InstanceQuery(limit=1, tenant="default")
        looks = (store.seen_by("default"), store.seen_by("other"), store)
        seen = [len((await look.instances.page(query)).items) for look in looks]
        wall = await store.upkeep.row_security()
        assert wall is not None
        assert wall.is_up
        await store.close(NOON, clean=True)
        return seen

    assert pooled is None or asyncio.run(read(pooled)) == [1, 0, 1]
