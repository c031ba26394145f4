"""Runs the commands of a page, and compares what they print with what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import Command

LEFT_OUT = "…"
"""A line of its own: anything may stand here."""

_BEGINS = re.compile(r"● \S+ +running")
"""Progress that is not told if the step ends before anybody looks."""
_KILLED = re.compile(r"(.*) & sleep \d+; kill -9 \$!")
_CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z"), "MOMENT"),
    (re.compile(r"\bjust now\b|\b\d+ s ago\b"), "AGO"),
    (re.compile(r"\b[\d.]+ ?(?:ms|s|m|h|d)\b(?: \d+ ?(?:s|m|h)\b)?"), "SPAN"),
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"[-=_]{5,}"), "RULER"),
    (re.compile(r"\s+"), " "),
)
_PYTEST = ("-p", "no:cacheprovider", "--disable-plugin-autoload", "-p", "tenuto.testing.plugin")
"""Without what only this project has, and with what an installed package brings by itself."""


def run(command: Command, folder: Path) -> tuple[str, int]:
    """What a command prints on both streams, and how it ends."""
    killed = _KILLED.fullmatch(command.line)
    if killed is not None:
        return _run_and_kill(_arguments(killed[1]), folder), command.code
    done = subprocess.run(
        _arguments(command.line),
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=500,
    )
    return done.stdout, done.returncode


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
        if _BEGINS.fullmatch(line):
            continue
        plain = line
        for pattern, instead in _CHANGING:
            plain = pattern.sub(instead, plain)
        lines.append(plain.strip())
    return lines


def _run_and_kill(arguments: list[str], folder: Path) -> str:
    """The process dies once it says that a step runs: a sleep would be too short some day."""
    process = subprocess.Popen(
        arguments,
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("●"):
                break
        process.send_signal(signal.SIGKILL)
    return "".join(lines)


def _arguments(line: str) -> list[str]:
    match shlex.split(line):
        case ["tenuto", *rest]:
            return [sys.executable, "-m", "tenuto", *rest]
        case ["python", *rest]:
            return [sys.executable, *rest]
        case ["pytest", *rest]:
            return [sys.executable, "-m", "pytest", *_PYTEST, *rest]
        case _:
            raise ValueError(f"a page does not know how to run: {line}")


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TENUTO", "PYTEST"))
    }
    return kept | {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "100"}
