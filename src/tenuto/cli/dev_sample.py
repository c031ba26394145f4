"""The sample that `tenuto dev` serves in an empty folder: an order that waits for its payment."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tenuto.cli.backends.place import STORE
from tenuto.config.config import Config

FILE: Final = Path(__file__).parent / "templates" / "_sample" / "sample_order.json"
SHOWN: Final = Path("the built-in sample")
"""What it is called in messages: the folder has no such file."""
START: Final = 'sample_order={"orderId": "A1"}'


def is_sample_wanted(config: Config, folder: Path) -> bool:
    """Whether there is nothing to serve, and the store is that of the folder.

    Hidden files do not count: the store is among them.
    """
    if config.dev.files or config.dev.start or config.tasks or config.store != STORE:
        return False
    try:
        return all(each.name.startswith(".") for each in folder.iterdir())
    except OSError:
        return False
