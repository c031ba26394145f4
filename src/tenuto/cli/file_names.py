"""The names of files that hold definitions."""

from __future__ import annotations

FILES = (".json", ".yaml", ".yml", ".py")
