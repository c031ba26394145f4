"""Another process that has the store open."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.conftest import WAIT, Terminal


@contextmanager
def in_use(terminal: Terminal, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Another process has the store open, and an instance of its own that waits."""
    terminal.write("wait.json", WAIT)
    process = terminal.start("run", "wait.json", "-i", '{"id": 7}', *options)
    with process:
        try:
            assert process.stderr is not None
            while "waiting for paid" not in process.stderr.readline():
                pass
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=30)
