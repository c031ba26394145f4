"""The command line: terminal words on one side, calls on the other."""

from __future__ import annotations


def main() -> None:
    """What the script `tenuto` runs."""
    from tenuto.cli.commands import app

    app(prog_name="tenuto")
