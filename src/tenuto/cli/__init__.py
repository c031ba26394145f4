"""The command line: terminal words on one side, calls on the other."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """The entry point of the script `tenuto`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Closed by the parent process; a file that is opened next must not get its number.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    try:
        from tenuto.cli.loading import begin_loading

        begin_loading()
        from tenuto.cli.encoding import tolerate
        from tenuto.cli.program import program

        tolerate((sys.stdout, sys.stderr))
        program(_words())(prog_name="tenuto")
    except ModuleNotFoundError as error:
        from tenuto.cli.exits import show_missing_package

        sys.exit(show_missing_package(error))
    except Exception as error:  # noqa: BLE001 - from outside the work of a command
        from tenuto.cli.exits import show_defect
        from tenuto.cli.wrong_usage import is_json_asked

        sys.exit(show_defect(error, is_json=is_json_asked(sys.argv[1:])))
    except KeyboardInterrupt:
        # While it was being loaded: nothing yet could print a message.
        sys.exit(130)


def _words() -> list[str]:
    """The words of the command line; of the one that a shell completes, those before the last."""
    if "_TENUTO_COMPLETE" not in os.environ:
        return sys.argv[1:]
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    words = line.split()[1:]
    return words if line.endswith(" ") else words[:-1]
