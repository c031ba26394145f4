"""When a published event is certain to find who waits for it by itself."""

from __future__ import annotations

from tenuto import Tenuto
from tests.kit.patience import patience
from tests.kit.turns import turns


async def every_wait_has_looked_back(app: Tenuto) -> None:
    """Until then an event may be found by the wait instead of finding it, and counts as such."""
    async with patience("every wait has looked back"):
        while await app.engine.store.waits.unlooked(1):
            await turns(1)
