"""The fixture and the hook that an installed package brings through its entry point."""

from __future__ import annotations

from tenuto.testing.plugin import engine, pytest_runtest_makereport

__all__ = ["engine", "pytest_runtest_makereport"]
