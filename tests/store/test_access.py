"""Keys and the audit log, on every store."""

# ruff: noqa: ANN401 - what a test names is handed on as it is

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tenuto.store.parts.access import KeyRow
from tenuto.store.parts.audit import NO_HEAD, AuditEntry, AuditHead, AuditQuery, chained
from tenuto.store.protocol import Store
from tests.store.conftest import Place
from tests.store.situations import NOON, moment

pytestmark = pytest.mark.asyncio


def key(id: str = "k1", **fields: Any) -> KeyRow:
    standard = KeyRow(
        id=id,
        tenant="acme",
        name="build",
        role="operator",
        scopes=("instances:*", "events:publish"),
        hash=b"\x00\xff" * 16,
        created_at=NOON,
        created_by="ada",
    )
    return msgspec.structs.replace(standard, **fields)


def entry(id: str, tenant: str = "acme", **fields: Any) -> AuditEntry:
    standard = AuditEntry(
        id=id,
        tenant=tenant,
        at=NOON,
        actor="ada",
        kind="key",
        action="instances.cancel",
        target="i1",
        outcome="done",
    )
    return msgspec.structs.replace(standard, **fields)


async def test_a_key_is_given_back_as_it_was_kept(store: Store) -> None:
    assert not await store.access.has_keys()
    first = key(expires_at=moment(5))
    second = key("k2", scopes=None, role="admin", created_at=moment(1))
    assert await store.access.put_key(second)
    assert await store.access.put_key(first)
    assert await store.access.put_key(key("k3", tenant="other"))
    assert await store.access.has_keys()
    assert await store.access.key("k1") == first
    assert await store.access.key("k9") is None
    assert await store.access.key("\0") is None
    assert await store.access.keys("acme") == [first, second]
    assert await store.access.keys("nobody") == []


async def test_a_key_kept_twice_is_one_and_no_other_gets_its_id(store: Store) -> None:
    assert await store.access.put_key(key())
    assert await store.access.put_key(key())
    assert not await store.access.put_key(key(hash=b"other", tenant="other"))
    assert await store.access.key("k1") == key()


async def test_a_key_is_revoked_once_and_in_its_tenant_alone(store: Store) -> None:
    await store.access.put_key(key())
    assert await store.access.revoke_key("other", "k1", moment(1)) == []
    assert await store.access.key("k1") == key()
    revoked = key(revoked_at=moment(1))
    assert await store.access.revoke_key("acme", "k1", moment(1)) == [revoked]
    assert await store.access.revoke_key("acme", "k1", moment(2)) == [revoked]
    assert await store.access.key("k1") == revoked
    assert await store.access.has_keys()


async def test_a_key_is_revoked_with_all_that_were_made_by_it(store: Store) -> None:
    access = store.access
    rows = [
        key("root"),
        key("child", created_by="key:root"),
        key("gone", created_by="key:root"),
        key("grandchild", created_by="key:gone"),
        # By name, of another tenant, and by another key.
        key("namesake", created_by="root"),
        key("stranger", tenant="other", created_by="key:root"),
        key("sibling", created_by="ada"),
    ]
    for row in rows:
        assert await access.put_key(row)
    await access.revoke_key("acme", "gone", moment(1))
    await access.put_key(key("late", created_by="key:child"))
    revoked = await access.revoke_key("acme", "root", moment(2))
    assert revoked[0].id == "root"
    assert {each.id for each in revoked[1:]} == {"child", "late"}
    assert {each.revoked_at for each in revoked} == {moment(2)}
    alive = [each.id for each in await access.keys("acme") if each.revoked_at is None]
    assert alive == ["namesake", "sibling"]
    assert (await access.revoke_key("acme", "root", moment(3))) == [revoked[0]]
    # A revoked key makes no key, and a repeat of one that was made finds it.
    assert not await access.put_key(key("too late", created_by="key:child"))
    assert not await access.put_key(key("too late", created_by="key:unknown"))
    assert await access.put_key(key("late", created_by="key:child"))


class _Death(Exception):
    """Of the process, in the midst of a revocation."""


class _Breaking:
    """A row port on which a process dies after the first statement of a revocation."""

    def __init__(self, port: Any) -> None:
        self._port = port

    async def write_beside(self, name: str, parameters: Any) -> Any:
        if name == "revoke_made_keys":
            raise _Death
        return await self._port.write_beside(name, parameters)

    async def transaction(self, script: Any) -> Any:
        def broken_off() -> Any:
            yield next(script())
            raise _Death

        return await self._port.transaction(broken_off)


async def test_a_revocation_that_breaks_off_leaves_no_key_without_its_maker(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.access.put_key(key("root"))
    await store.access.put_key(key("child", created_by="key:root"))
    with monkeypatch.context() as patched:
        patched.setattr(store.access, "_port", _Breaking(store.access._port))
        with pytest.raises(_Death):
            await store.access.revoke_key("acme", "root", moment(1))
    assert not any(each.revoked_at for each in await store.access.keys("acme"))
    assert len(await store.access.revoke_key("acme", "root", moment(2))) == 2


async def test_of_a_chain_that_grows_while_it_is_revoked_no_key_is_left(
    shared_place: Place,
) -> None:
    stores = [await shared_place.opened(name, shared=True) for name in ("p1", "p2")]
    await stores[0].access.put_key(key("0"))

    has_grown = asyncio.Event()

    async def grow() -> None:
        for at in range(1, 60):
            made = key(str(at), created_by=f"key:{at // 2}", created_at=moment(at))
            await stores[0].access.put_key(made)
            if at == 9:
                has_grown.set()

    async def revoke() -> None:
        await has_grown.wait()
        await stores[1].access.revoke_key("acme", "0", moment(1))

    await asyncio.gather(grow(), revoke())
    assert all(each.revoked_at for each in await stores[1].access.keys("acme"))


async def test_when_keys_were_used_never_goes_back(store: Store) -> None:
    await store.access.put_key(key())
    await store.access.put_key(key("k2"))
    await store.access.touch_keys({"k1": moment(5), "k2": moment(1), "k9": moment(1)})
    await store.access.touch_keys({"k1": moment(2), "k2": moment(3)})
    used = {each.id: each.last_used_at for each in await store.access.keys("acme")}
    assert used == {"k1": moment(5), "k2": moment(3)}


async def test_lines_are_numbered_and_chained_in_each_tenant(store: Store) -> None:
    assert await store.audit.head("acme") == NO_HEAD
    mine = [entry("a", before=b'{"a":1}'), entry("b", after=b"[1,2]"), entry("c")]
    theirs = entry("a", "other")
    written = await store.audit.append([mine[0], theirs, mine[1]])
    written += await store.audit.append([mine[2]])
    expected = chained(NO_HEAD, mine)
    assert [row for row in written if row.entry.tenant == "acme"] == expected
    assert await store.audit.lines("acme", after=0, limit=9) == expected
    assert await store.audit.lines("acme", after=1, limit=1) == expected[1:2]
    assert await store.audit.lines("other", after=0, limit=9) == chained(NO_HEAD, [theirs])
    assert await store.audit.head("acme") == AuditHead(3, expected[2].hash)


async def test_an_entry_sent_twice_is_written_once(store: Store) -> None:
    [first] = await store.audit.append([entry("a")])
    again = await store.audit.append([entry("a"), entry("b"), entry("b")])
    assert again == [first, *chained(AuditHead(1, first.hash), [entry("b")]) * 2]
    assert (await store.audit.head("acme")).number == 2


async def test_lines_are_listed_newest_first_by_what_is_asked(store: Store) -> None:
    rows = await store.audit.append(
        [
            entry(str(number), at=moment(number), actor=f"u{number % 2}", target=f"i{number % 3}")
            for number in range(6)
        ]
        + [entry("other", "other")]
    )
    mine = rows[:6][::-1]

    async def numbers(**asked: Any) -> list[int]:
        found = await store.audit.query(AuditQuery(tenant="acme", **asked))
        assert all(row in mine for row in found)
        return [row.number for row in found]

    assert await numbers() == [6, 5, 4, 3, 2, 1]
    assert await numbers(limit=2) == [6, 5]
    assert await numbers(limit=2, below=5) == [4, 3]
    assert await numbers(actor="u1") == [6, 4, 2]
    assert await numbers(actor="u1", target="i0") == [4]
    assert await numbers(action="instances.cancel", below=3) == [2, 1]
    assert await numbers(action="keys.create") == []
    assert await numbers(since=moment(2), until=moment(4)) == [4, 3]
    assert await numbers(target="\0") == []


async def test_what_is_kept_survives_its_process(place: Place) -> None:
    first = await place.opened("p1")
    await first.access.put_key(key())
    rows = await first.audit.append([entry("a")])
    first.abandon()
    second = await place.opened("p2")
    assert await second.access.key("k1") == key()
    assert await second.audit.lines("acme", after=0, limit=9) == rows


async def test_processes_that_write_at_once_keep_one_chain(shared_place: Place) -> None:
    stores = [await shared_place.opened(name, shared=True) for name in ("p1", "p2", "p3")]
    await asyncio.gather(
        *(
            store.audit.append([entry(f"{n}-{at}", tenant) for tenant in ("b", "a")])
            for n, store in enumerate(stores)
            for at in range(8)
        )
    )
    for tenant in ("a", "b"):
        rows = await stores[0].audit.lines(tenant, after=0, limit=99)
        assert rows == chained(NO_HEAD, [row.entry for row in rows])
        assert {row.entry.id for row in rows} == {f"{n}-{at}" for n in range(3) for at in range(8)}
        assert await stores[1].audit.head(tenant) == AuditHead(24, rows[-1].hash)
