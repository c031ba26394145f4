"""The parts of cold records, which every store makes alike."""

from __future__ import annotations

from typing import Any

from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import RowPort
from tenuto.store.protocol import PARTS


def cold_parts(port: RowPort) -> dict[str, Any]:
    """The parts of `Parts` that are cold, by their names, over the tables that a port reaches."""
    return {name: part(port) for name, part in PARTS.items() if issubclass(part, ColdPart)}
