"""One PostgreSQL server for a whole test run: the first test that needs it starts it.

Test workers are processes. They find the server by a folder that the process in charge names in the
environment; whoever comes first starts it under a lock, and the process in charge ends it by its
pid when everybody is done. With TENUTO_TEST_POSTGRES the server is somebody else's: its URL names
a role that may create databases and roles.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest

from tests.kit.postgres_server import PostgresServer

GIVEN = "TENUTO_TEST_POSTGRES"
FOLDER = "TENUTO_TEST_POSTGRES_FOLDER"

_in_charge = pytest.StashKey[Path]()
_alive = pytest.StashKey[IO[bytes]]()


def pytest_configure(config: pytest.Config) -> None:
    if FOLDER not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="tenuto-test-run-"))
        folder.chmod(0o755)
        os.environ[FOLDER] = str(folder)
        config.stash[_in_charge] = folder
        # Held until this process is gone: then the server ends too.
        alive = config.stash[_alive] = (folder / "alive").open("wb")
        fcntl.flock(alive, fcntl.LOCK_EX)


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_in_charge, None)
    if folder is not None:
        del os.environ[FOLDER]
        _end(folder)
        config.stash[_alive].close()


def server_url() -> str:
    """The URL of the test run's server, without a database; starts it when nobody has."""
    if given := os.environ.get(GIVEN):
        return given.rstrip("/")
    folder = Path(os.environ[FOLDER])
    known = folder / "url"
    with _locked(folder / "lock"):
        if not known.exists():
            server = PostgresServer(folder / "server", lock=folder / "alive")
            server.start()
            (folder / "pid").write_text(str(server.pid))
            assert server.process is not None
            # It outlives this process, which shall not complain of it when it ends.
            server.process.returncode = 0
            known.write_text(server.url("").rstrip("/"))
    return known.read_text()


def did_not_run(test: str, because: str) -> None:
    """Say at the end of the test run, for everybody to see, that something was not tried."""
    with (Path(os.environ[FOLDER]) / "not-run").open("a") as file:
        file.write(f"{test}: {because}\n")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    folder = config.stash.get(_in_charge, None)
    notes = folder / "not-run" if folder else None
    if notes and notes.exists():
        terminalreporter.section("NOT RUN", sep="!", red=True, bold=True)
        terminalreporter.write(notes.read_text())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _end(folder: Path) -> None:
    pid_file = folder / "pid"
    if pid_file.exists():
        pid = int(pid_file.read_text())
        # Nobody needs its data any more.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)
        _wait_for_end(pid)
    shutil.rmtree(folder, ignore_errors=True)


def _wait_for_end(pid: int, patience: float = 30) -> None:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                return
        except ChildProcessError:
            # A test worker started it.
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
        time.sleep(0.02)
