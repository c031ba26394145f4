"""The command line: terminal words on one side, calls on the other."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """What the script `tenuto` runs."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Closed by whoever started us; nor may a file that is opened next get its number.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    try:
        from tenuto.cli.commands import app

        app(prog_name="tenuto")
    except KeyboardInterrupt:
        # While it was being loaded: there is nothing yet that could tell of it.
        sys.exit(130)
