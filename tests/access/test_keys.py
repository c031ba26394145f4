"""API keys: shown once, kept as a hash, scoped, expiring, revoked."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from tenuto.access.authenticator import ADMIN_KEY, Authenticator
from tenuto.access.key_names import RESERVED
from tenuto.access.key_ring import KeyRing
from tenuto.access.keys import Keys, KeyWish, NewKey
from tenuto.access.permissions import Permission
from tenuto.access.principal import LOCAL, Principal
from tenuto.access.roles import Role
from tenuto.cli.backends.place import ACTOR
from tenuto.model.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    StoreUnavailable,
    Unauthenticated,
)
from tenuto.ports import SystemIds
from tenuto.workspace.instance import EMBEDDED
from tests.access.conftest import CountingStore
from tests.access.hand_clock import BEGIN, HandClock

pytestmark = pytest.mark.asyncio

ADMIN = Principal(tenant="acme", name="ada", role=Role.ADMIN, kind="key")


@pytest.fixture
def keys(store: CountingStore, clock: HandClock) -> Keys:
    return Keys(store, clock, SystemIds())


@pytest.fixture
def authenticator(store: CountingStore, clock: HandClock) -> Authenticator:
    return Authenticator(store.access, clock)


async def made(keys: Keys, role: str = "operator", **wish: object) -> NewKey:
    return await keys.create(ADMIN, KeyWish(name="build", role=role, **wish))  # type: ignore[arg-type]


async def refusal(
    authenticator: Authenticator, credential: str | None, clock: HandClock
) -> Unauthenticated:
    with pytest.raises(Unauthenticated) as refused:
        await authenticator.authenticate(credential, clock.now())
    return refused.value


async def test_a_key_opens_what_it_was_made_for(
    keys: Keys, authenticator: Authenticator, clock: HandClock
) -> None:
    new = await made(keys, scopes=("instances:*", "events:publish"))
    principal = await authenticator.authenticate(f"Bearer {new.text}", clock.now())
    assert (principal.tenant, principal.name, principal.kind) == ("acme", "build", "key")
    assert [each.value for each in Permission if principal.may(each)] == [
        "instances:read",
        "instances:start",
        "instances:control",
        "instances:decide",
        "events:publish",
    ]


async def test_a_secret_is_kept_by_nobody(keys: Keys, store: CountingStore) -> None:
    new = await made(keys)
    secret = new.text.rpartition("_")[2]
    assert len(bytes.fromhex(secret)) == 32
    everything = store.disk.cold.session.connection.serialize("main")
    assert secret.encode() not in everything
    assert bytes.fromhex(secret) not in everything
    assert (await made(keys)).text.rpartition("_")[2] != secret


async def test_where_there_is_no_key_everybody_is_local_until_there_is_one(
    keys: Keys, authenticator: Authenticator, clock: HandClock
) -> None:
    assert await authenticator.authenticate(None, clock.now()) == LOCAL
    new = await made(keys)
    clock.move(0.5)
    assert (await refusal(authenticator, None, clock)).code == "TEN-5010"
    await keys.revoke("acme", new.row.id)
    clock.move(60)
    assert (await refusal(authenticator, None, clock)).code == "TEN-5010"


@pytest.mark.parametrize(
    "credential",
    [
        *("", "Bearer", "Bearer ", "Bearer x", "Basic eDp5", "tnt_1_2", "Bearer a.b.c", "Bearer é"),
        "Bearer tnt_0_1",
        f"Bearer tnt_{'0' * 16}_{'0' * 64}",
        "Bearer a b",
        f"Bearer {'a' * 99999}",
    ],
)
async def test_a_wrong_credential_is_refused_also_where_none_is_needed(
    authenticator: Authenticator, clock: HandClock, credential: str
) -> None:
    assert (await refusal(authenticator, credential, clock)).code == "TEN-5011"


async def test_a_refusal_does_not_tell_which_part_was_wrong(
    keys: Keys, authenticator: Authenticator, clock: HandClock
) -> None:
    new = await made(keys)
    revoked = await made(keys)
    await keys.revoke("acme", revoked.row.id)
    head, _, secret = new.text.rpartition("_")
    other = "1" if secret[0] != "1" else "2"
    refusals = [
        await refusal(authenticator, f"Bearer {text}", clock)
        for text in (
            f"{head}_{other}{secret[1:]}",
            f"tnt_{'f' * 16}_{secret}",
            f"{head}_{secret[:-1]}",
            new.text.upper(),
            f"{revoked.text[:-1]}{'0' if revoked.text[-1] != '0' else '1'}",
            "nothing like it",
        )
    ]
    assert {str(each) for each in refusals} == {str(refusals[0])}
    assert refusals[0].code == "TEN-5011"


async def test_a_key_opens_nothing_from_the_moment_it_expires(
    keys: Keys, authenticator: Authenticator, clock: HandClock
) -> None:
    new = await made(keys, expires_at=BEGIN + timedelta(seconds=10))
    clock.move(9.999)
    await authenticator.authenticate(f"bearer {new.text}", clock.now())
    clock.move(0.001)
    assert (await refusal(authenticator, f"Bearer {new.text}", clock)).code == "TEN-5012"


@pytest.mark.parametrize(
    "moment", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2999-01-01T00:00:00"]
)
async def test_a_key_that_expires_at_no_moment_of_utc_is_not_made(keys: Keys, moment: str) -> None:
    with pytest.raises(InvalidInput, match=r"\$.expiresAt"):
        await made(keys, expires_at=datetime.fromisoformat(moment))
    assert await keys.list("default") == []


async def test_a_known_key_is_not_looked_up_again_for_half_a_second(
    keys: Keys, authenticator: Authenticator, store: CountingStore, clock: HandClock
) -> None:
    new = await made(keys)
    for _ in range(50):
        await authenticator.authenticate(f"Bearer {new.text}", clock.now())
        clock.move(0.009)
    assert store.looks == 1
    clock.move(0.1)
    await asyncio.gather(
        *(authenticator.authenticate(f"Bearer {new.text}", clock.now()) for _ in range(50))
    )
    assert store.looks == 2


async def test_whether_there_are_keys_is_asked_once_for_all_who_come_at_once(
    keys: Keys, authenticator: Authenticator, store: CountingStore, clock: HandClock
) -> None:
    store.is_away = True
    for refused in await asyncio.gather(
        *(authenticator.authenticate(None, clock.now()) for _ in range(50)), return_exceptions=True
    ):
        assert isinstance(refused, StoreUnavailable)
    store.is_away = False
    for _ in range(2):
        await asyncio.gather(*(authenticator.authenticate(None, clock.now()) for _ in range(50)))
    assert store.looks_for_any == 2, "the one that failed, and one that counts for half a second"
    await made(keys)
    clock.move(0.5)
    await refusal(authenticator, None, clock)
    clock.move(0.5)
    await refusal(authenticator, None, clock)
    assert store.looks_for_any == 3, "that there are some needs no second look"


async def test_made_up_keys_are_looked_up_once_and_drive_none_out(
    keys: Keys, authenticator: Authenticator, store: CountingStore, clock: HandClock
) -> None:
    authenticator.ring = KeyRing(store.access, clock, most=10)
    new = await made(keys)
    await authenticator.authenticate(f"Bearer {new.text}", clock.now())
    for number in range(40):
        await refusal(authenticator, f"Bearer tnt_{number:016x}_{'0' * 64}", clock)
        await refusal(authenticator, f"Bearer tnt_{number:016x}_{'0' * 64}", clock)
    assert store.looks == 41
    await authenticator.authenticate(f"Bearer {new.text}", clock.now())
    assert store.looks == 41
    assert len(authenticator.ring._unknown) <= 10


async def test_a_revoked_key_opens_nothing_within_a_second_and_at_once_here(
    keys: Keys, store: CountingStore, authenticator: Authenticator, clock: HandClock
) -> None:
    elsewhere = Authenticator(store.access, clock)
    here = Keys(store, clock, SystemIds(), changed=authenticator.ring.forget)
    new = await made(keys)
    for each in (authenticator, elsewhere):
        await each.authenticate(f"Bearer {new.text}", clock.now())
    await here.revoke("acme", new.row.id)
    assert (await refusal(authenticator, f"Bearer {new.text}", clock)).code == "TEN-5012"
    clock.move(0.5)
    assert (await refusal(elsewhere, f"Bearer {new.text}", clock)).code == "TEN-5012"


async def test_without_the_store_nobody_is_let_in_on_old_knowledge(
    keys: Keys, store: CountingStore, authenticator: Authenticator, clock: HandClock
) -> None:
    new = await made(keys)
    await authenticator.authenticate(f"Bearer {new.text}", clock.now())
    store.is_away = True
    await authenticator.authenticate(f"Bearer {new.text}", clock.now())
    clock.move(0.5)
    with pytest.raises(StoreUnavailable):
        await authenticator.authenticate(f"Bearer {new.text}", clock.now())
    store.is_away = False
    await authenticator.authenticate(f"Bearer {new.text}", clock.now())


async def test_when_a_key_was_used_is_written_once_a_minute_and_later(
    keys: Keys, store: CountingStore, authenticator: Authenticator, clock: HandClock
) -> None:
    one, other = await made(keys), await made(keys)

    async def used() -> list[float | None]:
        return [
            None if row.last_used_at is None else (row.last_used_at - BEGIN).total_seconds()
            for row in sorted(await store.access.keys("acme"), key=lambda row: row.id != one.row.id)
        ]

    await authenticator.authenticate(f"Bearer {one.text}", clock.now())
    clock.move(1)
    await authenticator.authenticate(f"Bearer {other.text}", clock.now())
    assert await used() == [None, None]
    clock.move(4)
    writing = authenticator._uses._writing._writing
    assert writing is not None
    await writing
    assert await used() == [0, 1]
    clock.move(50)
    await authenticator.authenticate(f"Bearer {one.text}", clock.now())
    assert not authenticator._uses._unwritten
    clock.move(10)
    await authenticator.authenticate(f"Bearer {one.text}", clock.now())
    await authenticator.close()
    assert await used() == [65, 1]


async def test_the_admin_key_opens_every_tenant_and_no_other_names_one(
    keys: Keys, store: CountingStore, clock: HandClock
) -> None:
    authenticator = Authenticator(store.access, clock, admin_key="a long secret".replace(" ", "-"))
    now = clock.now()
    admin = await authenticator.authenticate("Bearer a-long-secret", now)
    assert (admin.tenant, admin.role, admin.kind) == ("default", Role.ADMIN, "system")
    assert (
        await authenticator.authenticate("Bearer a-long-secret", now, tenant="acme")
    ).tenant == "acme"
    with pytest.raises(InvalidInput):
        await authenticator.authenticate("Bearer a-long-secret", now, tenant="../acme")
    assert (await refusal(authenticator, "Bearer a-long-secre", clock)).code == "TEN-5011"
    assert (await refusal(authenticator, None, clock)).code == "TEN-5010"
    new = await made(keys)
    assert (
        await authenticator.authenticate(f"Bearer {new.text}", now, tenant="acme")
    ).tenant == "acme"
    with pytest.raises(Forbidden):
        await authenticator.authenticate(f"Bearer {new.text}", now, tenant="default")


async def test_a_local_user_names_no_other_tenant(
    authenticator: Authenticator, clock: HandClock
) -> None:
    with pytest.raises(Forbidden):
        await authenticator.authenticate(None, clock.now(), tenant="acme")


async def test_where_auth_is_required_nobody_is_local(
    store: CountingStore, clock: HandClock
) -> None:
    authenticator = Authenticator(store.access, clock, is_required=True)
    assert (await refusal(authenticator, None, clock)).code == "TEN-5010"


async def test_everything_wrong_with_a_key_that_is_asked_for_is_told(keys: Keys) -> None:
    wish = KeyWish(
        name="a\nb",
        role="king",
        scopes=("instances:*", "instances:fly", "*"),
        expires_at=BEGIN,
        tenant="/",
    )
    with pytest.raises(InvalidInput) as refused:
        await keys.create(ADMIN, wish)
    assert [problem.path for problem in refused.value.problems] == [
        *("$.name", "$.role", "$.scopes[1]", "$.scopes[2]", "$.expiresAt", "$.tenant")
    ]
    with pytest.raises(InvalidInput, match="has no permission"):
        await made(keys, scopes=())


NAMES_OF_OTHERS = [
    *(
        "key:8d553c149da3b432",
        "KEY:8d55",
        "\uff4b\uff45\uff59:8d55",
        "https://issuer.example|alice",
        "a|b",
    ),
    *("admin\u3164", "a\ufe0fda", "ada\u034f"),
    *("admin", "Admin", "admin-key", "system", "local", "cli", "app", "widget"),
    *("callback:x", "schedule:nightly", "outside schedule:x"),
    *(" alice", "alice ", "\u3000alice", "al\tice", "al\nice", "al\u202eice", "\0"),
]


@pytest.mark.parametrize("name", NAMES_OF_OTHERS)
async def test_no_new_key_is_called_like_an_identity_or_like_the_program(
    keys: Keys, name: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await keys.create(ADMIN, KeyWish(name=name, role="viewer"))
    [problem] = refused.value.problems
    assert (problem.code, problem.path) == ("TEN-2401", "$.name")
    assert await keys.list("acme") == []


@pytest.mark.parametrize("name", ["build", "ops", "local builds", "the admin", "keys: all", "Änne"])
async def test_other_names_of_keys_are_taken(keys: Keys, name: str) -> None:
    assert (await keys.create(ADMIN, KeyWish(name=name, role="viewer"))).row.name == name


async def test_the_names_under_which_the_program_acts_are_reserved(store: CountingStore) -> None:
    secret = "x" * 32
    by_admin_key = Authenticator(store.access, HandClock(), admin_key=secret)
    admin = await by_admin_key.authenticate(f"Bearer {secret}", BEGIN)
    assert {LOCAL.name, ADMIN_KEY, ACTOR, EMBEDDED, admin.name} <= RESERVED


async def test_a_key_that_has_the_name_of_another_already_stays_valid(
    keys: Keys, store: CountingStore, authenticator: Authenticator, clock: HandClock
) -> None:
    new = await made(keys)
    older = replace(new.row, id="0123456789abcdef", name="key:8d553c149da3b432")
    await store.access.put_key(older)
    credential = new.text.replace(new.row.id, older.id)
    principal = await authenticator.authenticate(f"Bearer {credential}", clock.now())
    assert (principal.name, principal.identity) == (older.name, f"key:{older.id}")


async def test_nobody_hands_on_what_they_do_not_have(keys: Keys) -> None:
    narrow = Principal(
        tenant="acme",
        name="ops",
        role=Role.ADMIN,
        scopes=frozenset({"keys:manage", "instances:*"}),
        kind="key",
    )
    wishes = [
        KeyWish(name="x", role="admin"),
        KeyWish(name="x", role="viewer"),
        KeyWish(name="x", role="admin", scopes=("audit:read",)),
        KeyWish(name="x", role="viewer", scopes=("instances:read",), tenant="other"),
    ]
    for wish in wishes:
        with pytest.raises(Forbidden) as refused:
            await keys.create(narrow, wish)
        assert refused.value.code == "TEN-5013"
    assert await keys.list("acme") == []
    await keys.create(narrow, KeyWish(name="x", role="editor", scopes=("instances:start",)))


async def test_a_key_of_another_tenant_is_not_there(keys: Keys) -> None:
    new = await made(keys)
    with pytest.raises(NotFound) as refused:
        await keys.revoke("other", new.row.id)
    assert refused.value.code == "TEN-5016"
    with pytest.raises(NotFound) as unknown:
        await keys.revoke("other", "f" * 16)
    assert str(unknown.value).replace("f" * 16, "") == str(refused.value).replace(new.row.id, "")
    assert [row.revoked_at for row in await keys.list("acme")] == [None]
