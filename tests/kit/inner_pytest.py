"""Runs of pytest that tests start: those of a project that has Tenuto installed."""

from __future__ import annotations

from typing import Final

ALONE: Final = (
    *("-p", "no:cacheprovider"),
    *("--disable-plugin-autoload", "-p", "tenuto.testing.plugin"),
)
"""Without what only this project has, and with what an installed package brings by itself."""
