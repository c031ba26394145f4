"""PgBouncer in front of the test server, one server connection for each transaction."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.kit.postgres_server import _free_port, _identity

_PATIENCE = 20.0

_SETTINGS = """\
[databases]
* = host={host} port={port} user={user}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
{more}
"""


def pgbouncer_program() -> str | None:
    """Where it is installed, if it is."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pgbouncer(program: str, url: str, more: str = "") -> Iterator[str]:
    """The same database by way of PgBouncer."""
    parts = urlsplit(url)
    own_port = _free_port()
    folder = Path(tempfile.mkdtemp(prefix="tenuto-pgbouncer-"))
    folder.chmod(0o755)
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        _SETTINGS.format(
            host=parts.hostname,
            port=parts.port,
            user=parts.username,
            own_port=own_port,
            more=more,
        )
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **_identity(),
        )
    try:
        _wait_for(own_port, process, folder / "log")
        yield f"postgresql://{parts.username}@127.0.0.1:{own_port}{parts.path}"
    finally:
        process.kill()
        process.wait(_PATIENCE)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PgBouncer did not start:\n{log.read_text()}") from None
            time.sleep(0.02)
        else:
            return
