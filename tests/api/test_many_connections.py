"""Connections beyond what the limit of open files allows are refused aloud, and others go on."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tenuto.api.connections import ConnectionBounds, Connections, bounds_of
from tests.access.hand_clock import HandClock
from tests.api.conftest import Caller, Serve, until
from tests.api.test_live import socket_of

HALF = b"GET /health HTTP/1.1\r\nhost: localhost\r\n"


@contextmanager
def running(folder: Path, soft: int, hard: int) -> Iterator[tuple[int, str]]:
    """A service that may have so many files open: its port, and what it has said of that."""
    limits = f"ulimit -Sn {soft} && ulimit -Hn {hard}"
    served = f"exec {sys.executable} -m tenuto serve --port 0 --store sqlite:///store.db"
    process = subprocess.Popen(
        ["sh", "-c", f"{limits} && {served}"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        said = ""
        while (found := re.search(r"http://127.0.0.1:(\d+)", said)) is None:
            line = process.stderr.readline()
            assert line, said
            said += line
        yield int(found[1]), said
    finally:
        process.terminate()
        _, more = process.communicate(timeout=60)
        (folder / "log").write_text(said + more, encoding="utf-8")


def connected(port: int, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))


def answer(connection: socket.socket) -> bytes:
    """The first line of what is answered; a connection that is reset has none."""
    try:
        return connection.recv(4_096).partition(b"\r\n")[0]
    except ConnectionResetError:
        return b""


@pytest.mark.slow
def test_half_open_connections_of_one_address_refuse_no_other(tmp_path: Path) -> None:
    bounds = bounds_of(256)
    with running(tmp_path, soft=256, hard=256) as (port, said), ExitStack() as opened:
        assert bounds.described in said
        held = [opened.enter_context(connected(port, "127.0.0.2")) for _ in range(300)]
        refused = held[bounds.each :]
        assert {answer(each) for each in refused} <= {b"HTTP/1.1 503 Service Unavailable", b""}
        for each in held[: bounds.each]:
            each.sendall(HALF)
        with connected(port, "127.0.0.1") as other:
            other.sendall(HALF + b"\r\n")
            assert answer(other) == b"HTTP/1.1 200 OK"
        for each in held[: bounds.each]:
            each.sendall(b"connection: close\r\n\r\n")
            assert answer(each) == b"HTTP/1.1 200 OK"
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "connections: 1 refused, the last one of 127.0.0.2" in log


@pytest.mark.slow
def test_many_addresses_together_leave_the_files_that_the_store_needs(tmp_path: Path) -> None:
    bounds = bounds_of(256)
    with running(tmp_path, soft=256, hard=256) as (port, _), ExitStack() as opened:
        sources = [f"127.0.1.{each % 5 + 1}" for each in range(bounds.total + 20)]
        held = [opened.enter_context(connected(port, each)) for each in sources]
        assert {answer(each) for each in held[bounds.total :]} <= {
            b"HTTP/1.1 503 Service Unavailable",
            b"",
        }
        first = held[0]
        first.sendall(b"GET /health/ready HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert answer(first) == b"HTTP/1.1 200 OK"


@pytest.mark.slow
def test_the_soft_limit_is_raised_to_the_hard_one(tmp_path: Path) -> None:
    with running(tmp_path, soft=256, hard=1_024) as (_, said):
        assert bounds_of(1_024).described in said


@pytest.mark.parametrize("files", [16, 64, 256, 1_024, 4_096, 65_536, 1_048_576])
def test_bounds_leave_a_reserve_and_room_for_a_second_address(files: int) -> None:
    bounds = bounds_of(files)
    assert 0 < bounds.each <= bounds.total - bounds.each
    assert files - bounds.total >= min(files // 2, 128)


def test_refusals_are_said_once_in_a_while_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    connections = Connections(clock, ConnectionBounds(10, 3, 2))
    assert [connections.begin(each) for each in ("a", "a", "a", "b", "b")] == [
        *(True, True, False, True, False)
    ]
    assert len(caplog.records) == 1
    clock.move(10)
    assert not connections.begin("a")
    assert [each.getMessage().split(",")[0] for each in caplog.records] == [
        "connections: 1 refused",
        "connections: 2 refused",
    ]
    connections.end("a")
    assert connections.begin("b")
    assert (connections.open, connections.refused) == (3, 3)


async def open_connections(call: Caller) -> int:
    page = (await call.get("/metrics")).text
    found = re.search(r"\ntenuto_connections_open (\d+)", page)
    assert found is not None
    return int(found[1])


@pytest.mark.asyncio
async def test_a_socket_counts_until_it_is_closed(serve: Serve) -> None:
    async with serve() as call:
        before = await open_connections(call)
        async with socket_of(call):
            assert await open_connections(call) == before + 1

        async def is_closed() -> bool:
            return await open_connections(call) == before

        await until(is_closed)
