"""Restate's server and SDK, pinned, in an environment of their own; put there when first needed."""

from __future__ import annotations

import shutil
import subprocess
import venv
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ENVIRONMENT = ROOT / ".bench" / "restate"


class Restate(NamedTuple):
    """Where its programs are."""

    server: Path
    python: Path
    """With its SDK."""


def installed() -> Restate:
    """The programs, which are fetched the first time."""
    python = _sdk(ENVIRONMENT / "python")
    return Restate(_server(ENVIRONMENT / "server"), python)


def _sdk(folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        pinned = ["--require-hashes", "-r", str(ROOT / "requirements" / "restate.txt")]
        subprocess.run([python, "-m", "pip", "install", "-q", *pinned], check=True)
    return python


def _server(folder: Path) -> Path:
    """The binary itself: its npm package only starts it, and scripts at installing are left out."""
    found = list(folder.glob("node_modules/@restatedev/restate-server-*/bin/restate-server"))
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, folder)
        subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True)
        return _server(folder)
    return found[0]
