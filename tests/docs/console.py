"""Runs the commands of a page, and compares what they print with what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.docs.blocks import Command
from tests.kit.command_forks import ForkedCommand
from tests.kit.inner_pytest import ALONE

CURL = Path(__file__).with_name("curl.py")
LEFT_OUT = "…"
"""A line of its own: anything may stand here."""

_BEGINS = re.compile(r"● \S+ +running")
"""Progress that is not told if the step ends before anybody looks."""
_PLACE = re.compile(r"(?:from|in) \S+")
"""Which store or server a command uses, which it says each time."""
_KILLED = re.compile(r"(.*) & sleep \d+; kill -9 \$!")
_KEPT = re.compile(r"(.*) &")
"""A service or a worker, which runs until the page ends."""
_READY = re.compile(r"(serving|working for) http|INFO: +Uvicorn running on http")
_SETTING = re.compile(r"([A-Z_]+)=(.*)")
_CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z"), "MOMENT"),
    (re.compile(r"\bjust now\b|\b\d+ s ago\b"), "AGO"),
    (re.compile(r"\b[\d.]+ ?(?:ms|s|m|h|d)\b(?: \d+ ?(?:s|m|h)\b)?"), "SPAN"),
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"[-=_]{5,}"), "RULER"),
    (re.compile(r"\s+"), " "),
)


class Console:
    """A terminal in a folder; what it runs in the background ends with it."""

    def __init__(self, folder: Path, kept: ExitStack, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._kept = kept
        self._environment = {**_environment(), **settings}

    def run(self, command: Command) -> tuple[str, int]:
        """What a command prints on both streams, and how it ends."""
        if killed := _KILLED.fullmatch(command.line):
            return _run_and_kill(self._started(killed[1])), command.code
        if kept := _KEPT.fullmatch(command.line):
            return self._kept.enter_context(_running(self._started(kept[1]))), command.code
        with self._started(command.line) as process:
            printed, _ = process.communicate(timeout=500)
        return printed, process.returncode

    def _started(self, line: str) -> subprocess.Popen[str]:
        line, _, given = line.partition(" < ")
        settings, arguments = _arguments(line)
        with (self._folder / given if given else Path(os.devnull)).open("rb") as stdin:
            options: dict[str, Any] = {
                "cwd": self._folder,
                "env": self._environment | settings,
                "stdin": stdin,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.STDOUT,
                "text": True,
            }
            if arguments[0] == "tenuto":
                return ForkedCommand(arguments[1:], **options)
            return subprocess.Popen(arguments, **options)


@contextmanager
def console(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Console]:
    with ExitStack() as kept:
        yield Console(folder, kept, settings or {})


def program(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of a page."""
    return subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )


def agrees(shown: str, printed: str) -> bool:
    """Whether a command printed what the page shows, but for ids, times and spaces."""
    patterns = [
        r"(?:.*\n)*?" if line == LEFT_OUT else re.escape(line) + r"\n" for line in _plain(shown)
    ]
    plain = "".join(f"{each}\n" for each in _plain(printed))
    return re.fullmatch("".join(patterns), plain) is not None


def _plain(text: str) -> list[str]:
    lines = []
    for line in text.strip().splitlines():
        if _BEGINS.fullmatch(line) or _PLACE.fullmatch(line):
            continue
        plain = line
        for pattern, instead in _CHANGING:
            plain = pattern.sub(instead, plain)
        lines.append(plain.strip())
    return lines


def _run_and_kill(process: subprocess.Popen[str]) -> str:
    """The process dies once it says that a step runs: a sleep would be too short some day."""
    with process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("●"):
                break
        process.send_signal(signal.SIGKILL)
    return "".join(lines)


@contextmanager
def _running(process: subprocess.Popen[str]) -> Iterator[str]:
    """A service or a worker, and what it prints until it is ready."""
    with process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if _READY.match(line):
                break
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        try:
            yield "".join(lines)
        finally:
            process.terminate()
            reader.join()


def _arguments(line: str) -> tuple[dict[str, str], list[str]]:
    """The variables that a line sets for its command, and the command."""
    words = shlex.split(line)
    settings = {}
    while setting := _SETTING.fullmatch(words[0]):
        settings[setting[1]] = setting[2]
        words.pop(0)
    match words:
        case ["tenuto", *_]:
            return settings, words
        case ["uvicorn", *rest]:
            return settings, [sys.executable, "-m", "uvicorn", *rest]
        case ["python", *rest]:
            return settings, [sys.executable, *rest]
        case ["pytest", *rest]:
            return settings, [sys.executable, "-m", "pytest", *ALONE, *rest]
        case ["apsw", *rest]:
            return settings, [sys.executable, "-m", "apsw", *rest]
        case ["curl", *rest]:
            return settings, [sys.executable, str(CURL), *rest]
        case _:
            raise ValueError(f"a page does not know how to run: {line}")


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TENUTO", "PYTEST"))
    }
    return kept | {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100"}
