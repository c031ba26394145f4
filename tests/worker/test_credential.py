"""What a worker shows: a token is read again before it expires, and when it is not taken."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path

import jwt
import pytest

from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.access.token_ends import ends_at
from tenuto.cli.worker import work
from tenuto.config.config import Config, WorkerConfig
from tenuto.model.errors import Forbidden, InvalidInput, StoreUnavailable, Unauthenticated
from tenuto.ports import SystemClock
from tenuto.worker import HttpBrokerClient
from tenuto.worker.credential import LONGEST, Credential, Token, token_of_command, token_of_file
from tests.access.hand_clock import HandClock
from tests.api.conftest import served
from tests.worker.test_worker_command import TASKS

pytestmark = pytest.mark.asyncio


def token(clock: HandClock, seconds: float, name: str = "w") -> str:
    claims = {"sub": name, "exp": clock.now().timestamp() + seconds}
    return jwt.encode(claims, "x" * 32, algorithm="HS256")


async def test_a_token_in_a_file_is_read_again_before_it_expires(tmp_path: Path) -> None:
    clock, file = HandClock(), tmp_path / "token"
    first = token(clock, 200, "first")
    file.write_text(first + "\n")
    credential = token_of_file(file, clock, ends_at)
    assert (await credential.shown()).text == first
    second = token(clock, 4_000, "second")
    file.write_text(second)
    clock.move(139)
    assert (await credential.shown()).text == first
    clock.move(2)
    assert (await credential.shown()).text == second
    file.write_text("opaque")
    clock.move(LONGEST - 1)
    assert (await credential.shown()).text == second
    clock.move(2)
    assert (await credential.shown()).text == "opaque"


async def test_a_command_prints_a_token_and_is_run_again_for_the_next(tmp_path: Path) -> None:
    clock, count = HandClock(), tmp_path / "count"
    program = "import sys; f = open(sys.argv[1], 'a+'); f.write('x'); f.seek(0); print(f.read())"
    command = [sys.executable, "-c", program, str(count)]
    credential = token_of_command(command, clock, ends_at)
    assert [(await credential.shown()).text, (await credential.shown()).text] == ["x", "x"]
    clock.move(LONGEST)
    assert (await credential.shown()).text == "xx"


@pytest.mark.parametrize("text", ["", "two words", "a\nb", "käse", "x" * 20_000, "a\x00b"])
async def test_what_is_no_token_is_never_shown_nor_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text, "utf-8")
    with pytest.raises(StoreUnavailable) as raised:
        await token_of_file(file, HandClock(), ends_at).shown()
    assert not text or text not in str(raised.value)


async def test_a_token_that_cannot_be_had_now_is_asked_for_again(tmp_path: Path) -> None:
    clock, file = HandClock(), tmp_path / "token"
    failing: list[Credential] = [
        token_of_file(file, clock, ends_at),
        token_of_command([sys.executable, "-c", "raise SystemExit(3)"], clock, ends_at),
        token_of_command([str(tmp_path / "nothing")], clock, ends_at),
    ]
    for each in failing:
        with pytest.raises(StoreUnavailable):
            await each.shown()
    file.write_text("now")
    assert (await failing[0].shown()).text == "now"


class Door:
    """Takes one token at a time."""

    taken = "first"

    async def authenticate(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        if authorization != f"Bearer {self.taken}":
            raise Unauthenticated("not known here", code="TEN-5011")
        return Principal(tenant="default", name="w", role=Role.OPERATOR, kind="jwt")


async def test_a_token_that_is_not_taken_is_read_again_at_once(tmp_path: Path) -> None:
    door, file = Door(), tmp_path / "token"
    file.write_text("first")
    async with served(authentication=door) as call:
        broker = HttpBrokerClient(call.url, key=token_of_file(file, SystemClock(), ends_at))
        nothing, lease = timedelta(0), timedelta(seconds=30)
        try:
            for door.taken in ("first", "second"):
                file.write_text(door.taken)
                assert await broker.claim("w", ["t"], most=1, wait=nothing, lease=lease) == []
            door.taken = "third"
            with pytest.raises(Forbidden):
                await broker.claim("w", ["t"], most=1, wait=nothing, lease=lease)
        finally:
            await broker.close()


async def test_many_that_are_refused_together_have_a_token_read_once() -> None:
    """Also where it is the same one again: a command may take long, or cost something."""
    door, readings = Door(), 0

    async def read() -> str:
        nonlocal readings
        readings += 1
        return "old"

    async with served(authentication=door) as call:
        broker = HttpBrokerClient(call.url, key=Token(read, SystemClock(), ends_at))
        nothing, lease = timedelta(0), timedelta(seconds=30)

        async def claim() -> None:
            await broker.claim("w", ["t"], most=1, wait=nothing, lease=lease)

        try:
            claims = [claim() for _ in range(20)]
            outcomes = await asyncio.gather(*claims, return_exceptions=True)
            assert {type(each) for each in outcomes} == {Forbidden}
            assert readings == 2
        finally:
            await broker.close()


async def test_a_token_that_cannot_be_read_says_nothing_of_an_address(tmp_path: Path) -> None:
    file = tmp_path / "token"
    async with served(authentication=Door()) as call:
        nobody = "http://127.0.0.1:1"
        broker = HttpBrokerClient(
            [call.url, nobody], key=token_of_file(file, SystemClock(), ends_at)
        )
        nothing, lease = timedelta(0), timedelta(seconds=30)
        try:
            with pytest.raises(StoreUnavailable, match="cannot be read"):
                await broker.claim("w", ["t"], most=1, wait=nothing, lease=lease)
            file.write_text("first")
            assert await broker.claim("w", ["t"], most=1, wait=nothing, lease=lease) == []
        finally:
            await broker.close()


async def test_a_worker_shows_one_credential() -> None:
    for key, command in (("tnt_x", "a"), (None, "'")):
        asked = WorkerConfig(server="http://127.0.0.1:1", key=key, token_command=command)
        with pytest.raises(InvalidInput) as raised:
            await work(Config(tasks=(str(TASKS),), worker=asked))
        assert [each.code for each in raised.value.problems] == ["TEN-2605"]
