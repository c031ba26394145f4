"""Another process that has the store open."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cli.conftest import PATIENCE, WAIT, Terminal


@contextmanager
def in_use(
    terminal: Terminal, *options: str, is_child: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """Another process has the store open, and an instance of its own that waits.

    `is_child`: of this process, which is told when the other one is stopped.
    """
    terminal.write("wait.json", WAIT)
    words = ("run", "wait.json", "-i", '{"id": 7}', *options)
    process = terminal.start(*words, is_loaded=not is_child)
    with process:
        try:
            told(process, "waiting for paid")
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.communicate(timeout=PATIENCE)


def told(process: subprocess.Popen[str], words: str) -> None:
    """Read what a process says up to a line with these words; it must not end without them."""
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        if words in line:
            return
    raise AssertionError(f"it ended and never said {words!r}:\n{''.join(said)}")
