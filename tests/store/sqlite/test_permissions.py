"""The files of a store belong to the user of the engine alone."""

from __future__ import annotations

import logging
import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenuto.ports import SystemClock
from tenuto.store.sqlite import SqliteStore
from tests.cli.conftest import Terminal

FILES = ("store.db", "store.db-wal", "store.db-shm", "store.db.lock")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def modes_while_open(folder: Path, process_id: str = "p1") -> dict[str, int]:
    """The permissions of all files of a store that is open and has been written."""
    store = SqliteStore(folder / "store.db")
    await store.open(process_id, SystemClock().now())
    try:
        return {name: mode(folder / name) for name in FILES}
    finally:
        await store.close(SystemClock().now(), clean=True)


@pytest.mark.asyncio
@pytest.mark.parametrize("mask", [0o022, 0o000])
async def test_every_file_of_a_new_store_is_its_owners_alone(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        assert await modes_while_open(tmp_path) == dict.fromkeys(FILES, 0o600)


@pytest.mark.asyncio
@pytest.mark.parametrize("mask", [0o022, 0o000])
async def test_an_existing_store_is_closed_to_others_when_it_is_opened(
    tmp_path: Path, mask: int, caplog: pytest.LogCaptureFixture
) -> None:
    with umask(mask):
        await modes_while_open(tmp_path)
        for name in FILES:
            (tmp_path / name).touch()
            (tmp_path / name).chmod(0o644)
        with caplog.at_level(logging.WARNING, "tenuto.store"):
            assert await modes_while_open(tmp_path, "p2") == dict.fromkeys(FILES, 0o600)
    assert "other users could read" in caplog.text


@pytest.mark.asyncio
async def test_a_store_behind_a_link_to_nothing_is_private_too(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "store.db")
    store = SqliteStore(tmp_path / "link.db")
    with umask(0):
        await store.open("p1", SystemClock().now())
    await store.close(SystemClock().now(), clean=True)
    assert mode(tmp_path / "real" / "store.db") == 0o600


@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_the_folder_of_the_default_store_is_its_owners_alone(tmp_path: Path, mask: int) -> None:
    terminal = Terminal(tmp_path)
    del terminal.environment["TENUTO_STORE"]
    with umask(mask):
        assert terminal.call("migrate").code == 0
    assert mode(tmp_path / ".tenuto") == 0o700
    assert mode(tmp_path / ".tenuto" / "tenuto.db") == 0o600


def test_the_doctor_says_how_to_close_a_store_to_others(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    del terminal.environment["TENUTO_STORE"]
    terminal.call("migrate")
    (tmp_path / ".tenuto").chmod(0o755)
    (tmp_path / ".tenuto" / "tenuto.db").chmod(0o644)
    found = terminal.call("doctor", "-o", "json").json["findings"]
    (files,) = [each for each in found if each["what"] == "files"]
    assert files["state"] == "warning"
    commands = files["advice"].removeprefix("Take their rights: ").split(" && ")
    for command in commands:
        subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    found = terminal.call("doctor", "-o", "json").json["findings"]
    assert [each["state"] for each in found if each["what"] == "files"] == ["ok"]


@pytest.mark.parametrize(("rights", "state"), [(0o755, "warning"), (0o1777, "ok"), (0o700, "ok")])
def test_the_doctor_warns_of_a_named_folder_that_others_may_read(
    tmp_path: Path, rights: int, state: str
) -> None:
    folder = tmp_path / "data of all"
    folder.mkdir()
    folder.chmod(rights)
    terminal = Terminal(tmp_path)
    terminal.environment["TENUTO_STORE"] = f"sqlite:///{folder}/store.db"
    terminal.call("migrate")
    assert mode(folder) == rights, "a folder that was made by others stays as it is"
    said = terminal.call("doctor", "-o", "json")
    (files,) = [each for each in said.json["findings"] if each["what"] == "files"]
    assert (said.code, files["state"]) == (0, state)
    if state == "warning":
        assert str(folder) in files["message"]
        command = files["advice"].removeprefix("Take their rights: ")
        subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
        assert mode(folder) == 0o700
