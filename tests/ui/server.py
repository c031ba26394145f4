"""A real `tenuto serve` on a store of its own, with sample workflows and tasks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.kit.command_forks import ForkedCommand

SAMPLES = Path(__file__).parent / "samples"
_SERVING = re.compile(r"serving (http://\S+) ")


class Server:
    """A running service, and the ways to call it that a journey needs."""

    def __init__(self, folder: Path, flags: tuple[str, ...], key: str | None) -> None:
        self._folder = folder
        self.database = folder / "store.db"
        self._flags = flags
        self.key = key
        self.url = ""
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        """Start it, or start it again at the same address and with the same store."""
        variables = {**os.environ, "TENUTO_STORE": f"sqlite:///{self.database}"}
        if self.key is not None:
            variables["TENUTO_ADMIN_KEY"] = self.key
        command = ["dev", *map(str, sorted(SAMPLES.glob("*.json")))]
        command += ["--no-reload", "--tasks", str(SAMPLES / "tasks.py"), "--port", str(self._port)]
        self._process = ForkedCommand(
            [*command, *self._flags],
            cwd=self._folder,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert self._process.stdout is not None
        said: list[str] = []
        for line in self._process.stdout:
            said.append(line)
            if (found := _SERVING.search(line)) is not None:
                self.url = found[1]
                self._port = int(self.url.rpartition(":")[2])
                # Read on, so that it never waits for a reader.
                self._reader = threading.Thread(target=list, args=(self._process.stdout,))
                self._reader.start()
                return
        raise AssertionError("".join(said))

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        if self._process is not None:
            self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(timeout=60)
        assert self._process.stdout is not None
        if self._reader is not None:
            self._reader.join(60)
        self._process.stdout.close()
        self._process = None

    def api(self, method: str, path: str, body: object = None, **headers: str) -> Any:  # noqa: ANN401
        """Call an operation: `server.api("POST", "/workflows/order/start", {"input": {}})`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key is not None:
            given.setdefault("authorization", f"Bearer {self.key}")
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            given["content-type"] = "application/json"
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}", data=data, headers=given, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                text = reply.read()
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{method} {path}: {refused.read().decode()}") from None
        return json.loads(text) if text else None


@contextmanager
def running(folder: Path, *flags: str, key: str | None = None) -> Iterator[Server]:
    """A service with the samples; `key` is its admin key, without one no credential is needed."""
    server = Server(folder, flags, key)
    server.start()
    try:
        yield server
    finally:
        server.stop()
