"""What is made of a whole instance of a tenant to be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenuto.engine.definitions import whole_instances
from tenuto.engine.turns.held import Held
from tenuto.workspace.source import Source

Made = TypeVar("Made")


async def of_whole(
    source: Source, held: Held, work: Callable[[], Made], *, is_large: bool = False
) -> Made:
    """What `work` makes of all of an instance, see `whole_instances`; Overloaded."""
    return await whole_instances.of_whole(source.plans.values, held, work, is_large=is_large)
