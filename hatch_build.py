"""Build hook: a wheel or an sdist without the built web UI is not made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_INDEX = Path("src", "tenuto", "api", "ui", "assets", "index.html")


class CustomBuildHook(BuildHookInterface[Any]):
    """Looks for the page of the web UI, which `make ui` builds."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """An editable installation serves a checkout: its page says that the UI is not built."""
        if version != "editable" and not Path(self.root, _INDEX).is_file():
            raise SystemExit(
                f"tenuto: the web UI is not built ({_INDEX} is missing), and the package must have"
                " it. Build it first, in the checkout: make ui"
            )
