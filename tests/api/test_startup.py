"""Whom a service answers is settled before it listens: nothing is open by default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenuto import Forbidden, InvalidInput
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import LOCAL
from tenuto.app import Tenuto
from tenuto.cli.access_setup import AccessWish, authenticator_of, checked, refuse_open_door
from tenuto.cli.backends.reader import reading
from tenuto.compose import MEMORY, migrate_store
from tenuto.model.errors import Unauthenticated
from tenuto.ports import SystemIds
from tests.kit.command_forks import run

KEY = "a-very-long-admin-key-of-a-test-0123456789"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
BEYOND = ("0.0.0.0", "::", "192.0.2.7")
WISHES = {
    "nothing": AccessWish(),
    "key": AccessWish(),
    "admin key": AccessWish(admin_key=KEY),
    "provider": AccessWish(oidc_issuer="https://id.example.com", oidc_audience="tenuto"),
}


async def store_with(path: Path, *, has_key: bool) -> str:
    url = f"sqlite:///{path}"
    await migrate_store(url)
    if has_key:
        async with reading(url) as reader:
            keys = Keys(reader.store, reader.clock, SystemIds())
            await keys.create(LOCAL, KeyWish(name="first", role="admin"))
    return url


@pytest.mark.asyncio
@pytest.mark.parametrize("how", WISHES)
async def test_an_address_beyond_loopback_is_listened_on_only_where_credentials_are_asked_for(
    how: str, tmp_path: Path
) -> None:
    """Auth is on when a key, `TENUTO_ADMIN_KEY` or an OIDC issuer is configured, or with `--auth
    required`; `Authorization: Bearer <key or JWT>`.

    Six addresses, each with what may and may not be set: 24 ways to start.
    """
    store = await store_with(tmp_path / "store.db", has_key=how == "key")
    wish = WISHES[how]
    for host in (*LOOPBACK, *BEYOND):
        checked(host, 0, wish)
        if host in BEYOND and how == "nothing":
            with pytest.raises(Forbidden) as refused:
                await refuse_open_door(host, store, wish)
            assert refused.value.code == "TEN-5022"
        else:
            await refuse_open_door(host, store, wish)
    async with Tenuto(store) as app:
        authenticator = authenticator_of(app, wish)
        if how == "nothing":
            assert await authenticator.authenticate(None, app.engine.clock.now()) == LOCAL
        else:
            with pytest.raises(Unauthenticated):
                await authenticator.authenticate(None, app.engine.clock.now())
        await authenticator.close()


@pytest.mark.asyncio
async def test_required_is_required_and_a_store_that_is_not_there_has_no_key(
    tmp_path: Path,
) -> None:
    required = AccessWish(auth="required")
    missing = f"sqlite:///{tmp_path / 'none.db'}"
    for store in (MEMORY, missing):
        await refuse_open_door("0.0.0.0", store, required)
        with pytest.raises(Forbidden):
            await refuse_open_door("0.0.0.0", store, AccessWish())
    assert not (tmp_path / "none.db").exists()
    async with Tenuto() as app:
        authenticator = authenticator_of(app, required)
        with pytest.raises(Unauthenticated):
            await authenticator.authenticate(None, app.engine.clock.now())


@pytest.mark.parametrize(
    ("wish", "codes"),
    [
        (AccessWish(admin_key="short"), {"TEN-5031"}),
        (AccessWish(admin_key=f"{KEY} {KEY}"), {"TEN-5031"}),
        (AccessWish(oidc_issuer="https://id.example.com"), {"TEN-5032"}),
        (AccessWish(oidc_audience="tenuto"), {"TEN-5032"}),
        (AccessWish(oidc_issuer="http://id.example.com", oidc_audience="t"), {"TEN-5032"}),
        (AccessWish(oidc_issuer="id.example.com", oidc_audience="t"), {"TEN-5032"}),
        (AccessWish(oidc_issuer="https://[", oidc_audience="t"), {"TEN-5032"}),
        (AccessWish(origins=["*"]), {"TEN-5032"}),
        (AccessWish(origins=["null"]), {"TEN-5032"}),
        (AccessWish(origins=["https://a.example.com/x"]), {"TEN-5032"}),
        (AccessWish(hosts=["*.example.com"]), {"TEN-5032"}),
        (AccessWish(hosts=["a/b"], admin_key="x"), {"TEN-5031", "TEN-5032"}),
    ],
)
def test_what_cannot_be_meant_is_refused_with_every_problem(
    wish: AccessWish, codes: set[str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked("127.0.0.1", 0, wish)
    assert {each.code for each in refused.value.problems} == codes
    assert not any("short" in each.message for each in refused.value.problems)


def test_names_of_this_machine_are_allowed_beside_those_that_are_named() -> None:
    named = AccessWish(hosts=["tenuto.example.com"], origins=["https://ui.example.com"])
    local = checked("127.0.0.1", 0, named)
    names = frozenset({"localhost", "127.0.0.1", "[::1]", "tenuto.example.com"})
    assert local.allowed_hosts == names
    assert local.origins == {"https://ui.example.com"}
    assert checked("0.0.0.0", 0, named).allowed_hosts == frozenset({"tenuto.example.com"})
    assert checked("0.0.0.0", 0, AccessWish()).allowed_hosts is None


def test_a_refused_setting_ends_the_command_with_the_code_for_usage(tmp_path: Path) -> None:
    ended = run(
        *("serve", "--port", "0"),
        cwd=tmp_path,
        env={**os.environ, "TENUTO_ADMIN_KEY": "hunter2", "TENUTO_ALLOW_ORIGIN": "*"},
    )
    assert ended.returncode == 2, ended.stderr
    assert "TEN-5031" in ended.stderr
    assert "TEN-5032" in ended.stderr
    assert "hunter2" not in ended.stderr
    assert not (tmp_path / ".tenuto").exists()
