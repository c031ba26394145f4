"""A key is never more than its maker, is listed under it, and is revoked with it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from tenuto.access.authenticator import Authenticator
from tenuto.access.keys import Keys, KeyWish, NewKey
from tenuto.access.permissions import SCOPES, Permission
from tenuto.access.principal import LOCAL, Principal
from tenuto.access.roles import Role
from tenuto.model.errors import Forbidden, Overloaded, TenutoError, Unauthenticated
from tenuto.ports import SystemIds
from tenuto.store.memory import MemoryStore
from tests.access.hand_clock import BEGIN, HandClock

WISHES = st.builds(
    KeyWish,
    name=st.just("k"),
    role=st.sampled_from(list(Role)),
    scopes=st.none() | st.lists(st.sampled_from(sorted(SCOPES)), min_size=1, max_size=8),
    expires_at=st.none() | st.integers(1, 100).map(lambda s: BEGIN + timedelta(seconds=s)),
)
# A first maker as an identity provider or another key may be, and what each next one asks for.
CHAINS = st.tuples(
    st.sampled_from(list(Role)),
    st.none() | st.frozensets(st.sampled_from(sorted(SCOPES)), min_size=1),
    st.none() | st.integers(1, 100),
    st.lists(WISHES, min_size=1, max_size=6),
)


def after(seconds: float | None) -> datetime | None:
    return None if seconds is None else BEGIN + timedelta(seconds=seconds)


async def opened() -> tuple[MemoryStore, HandClock, Keys, Authenticator]:
    store, clock = MemoryStore(), HandClock()
    await store.open("p1", BEGIN)
    authenticator = Authenticator(store.access, clock)
    keys = Keys(store, clock, SystemIds(), changed=authenticator.ring.forget)
    return store, clock, keys, authenticator


def is_within(child: Principal, maker: Principal) -> bool:
    """Whether a child is nowhere more than its maker."""
    permitted = all(maker.may(each) for each in Permission if child.may(each))
    lives = maker.expires_at is None or (
        child.expires_at is not None and child.expires_at <= maker.expires_at
    )
    # Scopes, not only what they permit today: a later version may have more of a thing.
    scoped = maker.scopes is None or (
        child.scopes is not None
        and all(
            each in maker.scopes or f"{each.partition(':')[0]}:*" in maker.scopes
            for each in child.scopes
        )
    )
    return permitted and lives and scoped and not child.role.is_above(maker.role)


@settings(max_examples=150, deadline=None)
@given(CHAINS)
def test_in_a_chain_of_makers_nobody_is_more_than_the_one_before(
    chain: tuple[Role, frozenset[str] | None, int | None, list[KeyWish]],
) -> None:
    asyncio.run(_check_chain(*chain))


async def _check_chain(
    role: Role, scopes: frozenset[str] | None, seconds: int | None, wishes: list[KeyWish]
) -> None:
    store, clock, keys, authenticator = await opened()
    maker = Principal(
        tenant="acme",
        name="ada",
        role=role,
        scopes=scopes,
        credential="https://idp.example|ada",
        kind="jwt",
        expires_at=after(seconds),
    )
    made: list[NewKey] = []
    for wish in wishes:
        try:
            new = await keys.create(maker, wish)
        except Forbidden:
            continue
        child = await authenticator.authenticate(f"Bearer {new.text}", clock.now())
        assert is_within(child, maker)
        assert new.row.created_by == maker.identity
        made.append(new)
        maker = child
    if made:
        revoked = await keys.revoke("acme", made[0].row.id)
        assert {each.id for each in revoked.others} == {each.row.id for each in made[1:]}
        for each in made:
            with pytest.raises(Unauthenticated):
                await authenticator.authenticate(f"Bearer {each.text}", clock.now())
    await store.close(BEGIN, clean=True)


@pytest.mark.asyncio
async def test_what_an_expiring_maker_leaves_open_expires_with_it() -> None:
    _, clock, keys, authenticator = await opened()
    first = await keys.create(LOCAL, KeyWish(name="a", role="admin", expires_at=after(5)))
    maker = await authenticator.authenticate(f"Bearer {first.text}", clock.now())
    second = await keys.create(maker, KeyWish(name="b", role="admin"))
    assert second.row.expires_at == after(5)
    with pytest.raises(Forbidden, match="TEN-5013"):
        await keys.create(maker, KeyWish(name="b", role="admin", expires_at=after(6)))
    # A token is taken for some seconds after its end, and makes nothing then.
    clock.move(5)
    with pytest.raises(Unauthenticated, match="TEN-5012"):
        await keys.create(maker, KeyWish(name="b", role="viewer"))


@pytest.mark.asyncio
async def test_a_key_that_is_revoked_meanwhile_makes_none() -> None:
    _, clock, keys, authenticator = await opened()
    first = await keys.create(LOCAL, KeyWish(name="a", role="admin"))
    maker = await authenticator.authenticate(f"Bearer {first.text}", clock.now())
    await keys.revoke("default", first.row.id)
    with pytest.raises(Unauthenticated, match="TEN-5012"):
        await keys.create(maker, KeyWish(name="b", role="admin"))
    assert [each.name for each in await keys.list("default")] == ["a"]


@pytest.mark.asyncio
async def test_a_tenant_has_no_more_keys_than_its_quota() -> None:
    store, clock, _, _ = await opened()
    keys = Keys(store, clock, SystemIds(), most=3)

    async def make() -> str:
        try:
            return (await keys.create(LOCAL, KeyWish(name="a", role="viewer"))).row.id
        except TenutoError as refused:
            return refused.code

    ids = await asyncio.gather(*(make() for _ in range(5)))
    assert list(ids[3:]) == ["TEN-4294"] * 2
    # Whoever makes and revokes by turns gets no further on that day.
    await keys.revoke("default", ids[0])
    with pytest.raises(Overloaded, match="quota"):
        await keys.create(LOCAL, KeyWish(name="a", role="viewer"))
    clock.move(24 * 3600)
    assert await make() != "TEN-4294"
    assert await make() == "TEN-4294"
