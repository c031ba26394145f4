"""What is made of a whole instance to be shown: in a thread, where it has many steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenuto.engine.definitions.large_documents import LargeDocuments
from tenuto.engine.turns.held import Held

Made = TypeVar("Made")

MANY = 500
"""So many parts of an instance and its definition together take some ten milliseconds."""


async def of_whole(
    values: LargeDocuments, held: Held, work: Callable[[], Made], *, is_large: bool = False
) -> Made:
    """What `work` makes of all of an instance; Overloaded.

    `is_large`: it may take long for one with few steps too.
    """
    if not is_large and len(held.plan.nodes) + held.state.weight < MANY:
        return work()
    return await values.aside(work, tenant=held.tenant)
