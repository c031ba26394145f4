"""Restate as it is measured: a new server, and one process that runs the steps."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.restate.installed import HERE, installed

_PATIENCE = 60.0


@contextmanager
def running() -> Iterator[str]:
    """The address at which workflows are started; defaults but for addresses and telemetry."""
    programs = installed()
    ports = {name: _free_port() for name in ("node", "ingress", "admin", "steps")}
    admin = f"http://127.0.0.1:{ports['admin']}"
    with tempfile.TemporaryDirectory(prefix="restate-bench-") as folder:
        processes = [
            subprocess.Popen(
                [programs.server, "--no-logo", "--base-dir", folder],
                env={**os.environ, **_environment(ports)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ),
            subprocess.Popen([programs.python, HERE / "steps.py", str(ports["steps"])]),
        ]
        try:
            _until_ready(f"{admin}/health")
            _until_connected(ports["steps"])
            _post(f"{admin}/deployments", {"uri": f"http://127.0.0.1:{ports['steps']}"})
            yield f"http://127.0.0.1:{ports['ingress']}"
        finally:
            for process in processes:
                # Nothing of it is needed any more, and asked politely it takes a minute.
                process.kill()
                process.wait()


def durability() -> dict[str, str]:
    """What its server says, by itself, of how it keeps what it has acknowledged."""
    said = subprocess.run(
        [installed().server, "--dump-config"], check=True, capture_output=True, text=True
    ).stdout
    lines = said.partition("[log-server]")[2].splitlines()
    lines += [line for line in said.splitlines() if line.startswith("default-re")]
    shown = ("rocksdb-disable-wal-fsync =", "default-replication =")
    return dict(line.split(" = ", 1) for line in lines if line.startswith(shown))


def _environment(ports: dict[str, int]) -> dict[str, str]:
    return {
        "RESTATE_DISABLE_TELEMETRY": "true",
        "RESTATE_LISTEN_MODE": "tcp",
        "RESTATE_BIND_IP": "127.0.0.1",
        "RESTATE_BIND_PORT": str(ports["node"]),
        "RESTATE_INGRESS__BIND_PORT": str(ports["ingress"]),
        "RESTATE_ADMIN__BIND_PORT": str(ports["admin"]),
    }


def _until_ready(url: str) -> None:
    _retried(lambda: urllib.request.urlopen(url, timeout=5).close())


def _until_connected(port: int) -> None:
    _retried(lambda: socket.create_connection(("127.0.0.1", port), timeout=5).close())


def _retried(work: Callable[[], None]) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return work()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _post(url: str, body: object) -> None:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    urllib.request.urlopen(request, timeout=_PATIENCE).close()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
