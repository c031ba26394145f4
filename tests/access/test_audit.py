"""The audit log: durable before the answer, without secrets, and chained."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tenuto.access.audit import AuditLog
from tenuto.access.chain import ChainFault, ChainReader, verify_chain
from tenuto.access.principal import LOCAL, Principal
from tenuto.access.roles import Role
from tenuto.access.shown import plain
from tenuto.model.errors import StoreUnavailable
from tenuto.ports import SystemIds
from tenuto.store.audit_chain import line_hash
from tenuto.store.parts.audit import NO_HEAD, AuditHead, AuditRow, chained
from tests.access.conftest import CountingStore
from tests.access.hand_clock import HandClock

pytestmark = pytest.mark.asyncio

ADA = Principal(tenant="acme", name="ada", role=Role.ADMIN, kind="key")


@pytest.fixture
def audit(store: CountingStore, clock: HandClock) -> AuditLog:
    return AuditLog(store.audit, clock, SystemIds())


async def lines(store: CountingStore, tenant: str = "acme") -> list[AuditRow]:
    return await store.audit.lines(tenant, after=0, limit=1_000)


async def note(audit: AuditLog, target: str, **more: object) -> None:
    await audit.record(
        principal=ADA,
        action="instances.cancel",
        target=target,
        outcome="done",
        **more,  # type: ignore[arg-type]
    )


async def test_a_line_says_who_did_what_to_what_and_from_where(
    audit: AuditLog, store: CountingStore, clock: HandClock
) -> None:
    await note(audit, "i1", source="10.0.0.1", request_id="r1", before={"a": 1}, after=[1, None])
    [row] = await lines(store)
    entry = row.entry
    assert (entry.actor, entry.kind, entry.action, entry.target) == (
        *("ada", "key", "instances.cancel", "i1"),
    )
    assert (entry.outcome, entry.source, entry.request_id) == ("done", "10.0.0.1", "r1")
    assert (entry.at, entry.before, entry.after) == (clock.now(), b'{"a":1}', b"[1,null]")


async def test_whoever_is_refused_without_being_known_is_recorded_too(
    audit: AuditLog, store: CountingStore
) -> None:
    await audit.record(
        principal=None,
        action="start",
        target="/api/v1/x",
        outcome="refused",
        details={"code": "TEN-5011"},
    )
    [row] = await lines(store, "default")
    assert (row.entry.actor, row.entry.kind, row.entry.outcome) == ("nobody", "nobody", "refused")
    assert row.entry.after == b'{"code":"TEN-5011"}'
    with pytest.raises(ValueError, match="asked, done, failed, refused"):
        await audit.record(principal=None, action="a", target="b", outcome="maybe")


async def test_unauthenticated_clients_of_one_network_have_one_line_for_their_first_refusal(
    audit: AuditLog, store: CountingStore
) -> None:
    for source in ("2001:db8::1", "2001:db8::2", "10.0.0.1"):
        await audit.refuse_unauthenticated(
            code="TEN-5010", action="a", target="b", source=source, request_id="r"
        )
    told = [row.entry.source for row in await lines(store, "default")]
    assert told == ["2001:db8::1", "10.0.0.1"]


async def test_what_comes_at_once_is_written_together_and_each_waits_for_it(
    audit: AuditLog, store: CountingStore
) -> None:
    await asyncio.gather(*(note(audit, f"i{n}") for n in range(500)))
    assert store.batches == [200, 200, 100]
    assert [row.entry.target for row in await lines(store)] == [f"i{n}" for n in range(500)]
    assert (await verify_chain(store.audit, "acme")).fault is None


async def test_what_is_not_durable_is_not_answered(audit: AuditLog, store: CountingStore) -> None:
    store.is_away = True
    with pytest.raises(StoreUnavailable):
        await note(audit, "i1")
    store.is_away = False
    await note(audit, "i2")
    assert [row.entry.target for row in await lines(store)] == ["i2"]


async def test_what_was_done_is_recorded_also_when_whoever_asked_has_gone(
    audit: AuditLog, store: CountingStore
) -> None:
    asking = asyncio.ensure_future(note(audit, "i1"))
    after = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(after.set_result, None)
    await after
    asking.cancel()
    await note(audit, "i2")
    assert [row.entry.target for row in await lines(store)] == ["i1", "i2"]


async def test_secrets_are_in_no_line(audit: AuditLog, store: CountingStore) -> None:
    canary = "CANARY0123456789"
    key = f"tnt_{'0' * 16}_{canary}"
    await note(
        audit,
        "keys",
        before={"secret": canary, "deep": [{"password": canary, "Authorization": canary}]},
        after={
            "key": canary,
            "apiKey": canary,
            "refresh_token": {"value": canary},
            "text": f"made {key} and whsec_{canary} and eyJ{canary}.eyJ{canary}.{canary}",
            "url": f"https://ada:{canary}@example.com/",
            "name": "kept",
        },
    )
    [row] = await lines(store)
    written = (row.entry.before or b"") + (row.entry.after or b"")
    assert canary.encode() not in written
    assert b'"name":"kept"' in written
    assert b"example.com" in written


async def test_what_no_store_takes_and_what_is_endless_is_recorded_as_it_can_be(
    audit: AuditLog, store: CountingStore
) -> None:
    await note(audit, "a\0b\ud800c" + "x" * 9_999, after={"a\ud800": "x" * 99_999})
    [row] = await lines(store)
    assert row.entry.target.startswith("a\\u0000b?c")
    assert len(row.entry.target) < 520
    assert json.loads(row.entry.after or b"")["tooLarge"] > 99_999


async def test_names_are_shown_without_doing_anything() -> None:
    assert plain("ada") == "ada"
    assert plain("Zoë 🙂") == "Zoë 🙂"
    assert plain("a\r\nb\x1b[31mc\u202ed\x9be\U000e0001") == (
        "a\\u000d\\u000ab\\u001b[31mc\\u202ed\\u009be\\udb40\\udc01"
    )
    name = 'x"\\\n\u202e\U000e0001'
    assert json.loads(plain(json.dumps(name, ensure_ascii=False))) == name


Damage = Callable[[list[AuditRow]], list[AuditRow]]


def rechained(row: AuditRow, **fields: object) -> AuditRow:
    """A changed line with a hash that fits it, as somebody clever would write it."""
    changed = replace(row, entry=replace(row.entry, **fields))
    return replace(changed, hash=line_hash(row.number, changed.entry, row.previous_hash))


DAMAGES: dict[str, tuple[Damage, int]] = {
    "an actor": (
        lambda r: [*r[:2], replace(r[2], entry=replace(r[2].entry, actor="eve")), *r[3:]],
        3,
    ),
    "a value": (lambda r: [replace(r[0], entry=replace(r[0].entry, after=b"{")), *r[1:]], 1),
    "a value added": (
        lambda r: [replace(r[0], entry=replace(r[0].entry, before=b"null")), *r[1:]],
        0,
    ),
    "a hash": (lambda r: [*r[:4], replace(r[4], hash=b"x" * 32), *r[5:]], 5),
    "changed and hashed anew": (lambda r: [*r[:2], rechained(r[2], actor="eve"), *r[3:]], 4),
    "taken out": (lambda r: [*r[:2], *r[3:]], 3),
    "taken out and numbered anew": (
        lambda r: [*r[:2], *(replace(each, number=each.number - 1) for each in r[3:])],
        3,
    ),
    "the first taken out": (lambda r: r[1:], 1),
    "the last taken out": (lambda r: r[:-1], 6),
    "all taken out": (lambda _: [], 1),
    "moved": (lambda r: [r[0], r[2], r[1], *r[3:]], 2),
    "moved and numbered anew": (
        lambda r: [r[0], replace(r[2], number=2), replace(r[1], number=3), *r[3:]],
        2,
    ),
    "put in": (
        lambda r: [
            *r[:3],
            replace(r[0], number=4),
            *(replace(x, number=x.number + 1) for x in r[3:]),
        ],
        4,
    ),
    "put at the end": (
        lambda r: [*r, *chained(AuditHead(6, r[5].hash), [replace(r[0].entry, id="new")])],
        7,
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_chain_tells_what_was_done_to_it(
    audit: AuditLog, store: CountingStore, damage: str
) -> None:
    for number in range(6):
        await note(audit, f"i{number}", after={"n": number})
    whole = await lines(store)
    assert await verify_chain(store.audit, "acme") == (AuditHead(6, whole[-1].hash), None)
    make, broken_at = DAMAGES[damage]
    reader = ChainReader()
    fault = reader.read(make(whole)) or reader.end(await store.audit.head("acme"))
    if not broken_at:
        # Nothing and null are the same in a line as people see it.
        assert fault is None
        return
    assert fault is not None
    assert fault.number == broken_at


async def test_a_chain_is_read_page_by_page_while_it_grows(
    audit: AuditLog, store: CountingStore
) -> None:
    for number in range(5):
        await note(audit, f"i{number}")
    verdict = await verify_chain(store.audit, "acme", page=2)
    assert (verdict.head.number, verdict.fault) == (5, None)
    assert await verify_chain(store.audit, "nobody", page=2) == (NO_HEAD, None)
    gone = "DELETE FROM audit_log WHERE tenant = 'acme' AND number = 5"
    store.disk.cold.session.execute(gone, ())
    verdict = await verify_chain(store.audit, "acme", page=2)
    assert verdict.fault == ChainFault(5, "lines 5 to 5 are missing")


async def test_tenants_have_chains_of_their_own(audit: AuditLog, store: CountingStore) -> None:
    await note(audit, "i1")
    await audit.record(principal=LOCAL, action="a", target="t", outcome="done")
    await note(audit, "i2")
    assert [row.number for row in await lines(store)] == [1, 2]
    assert [row.number for row in await lines(store, "default")] == [1]


async def test_a_line_that_is_not_waited_for_is_written_with_the_next_that_is(
    audit: AuditLog, store: CountingStore
) -> None:
    """Each transaction delays the turns of instances."""
    await note(audit, "i1", is_waited_for=False)
    assert await lines(store) == []
    await note(audit, "i2")
    assert [row.entry.target for row in await lines(store)] == ["i1", "i2"]


async def test_a_line_that_is_not_waited_for_does_not_wait_for_long(
    audit: AuditLog, store: CountingStore, clock: HandClock
) -> None:
    await note(audit, "i1", is_waited_for=False)
    clock.move(0.1)
    await asyncio.gather(*audit._unwaited)
    assert [row.entry.target for row in await lines(store)] == ["i1"]


async def test_a_line_that_comes_while_others_are_written_does_not_wait_for_long_either(
    audit: AuditLog, store: CountingStore, clock: HandClock
) -> None:
    await note(audit, "i1", is_waited_for=False)
    clock.move(0.1)
    await asyncio.sleep(0)  # the first one is taken
    await note(audit, "i2", is_waited_for=False)
    clock.move(0.1)
    async with asyncio.timeout(5):
        await asyncio.gather(*audit._unwaited)
    assert [row.entry.target for row in await lines(store)] == ["i1", "i2"]
