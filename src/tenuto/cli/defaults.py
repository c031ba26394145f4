"""What holds when nothing else is said; imported by what must be quick to load."""

from __future__ import annotations

from typing import Final

STORE: Final = "sqlite:///.tenuto/tenuto.db"
