"""Three branches at once, and a join that fires once when all have arrived.

tenuto run examples/fan_out/fan_out.json --input '{"picture": "cello.png"}'
"""

from __future__ import annotations

import asyncio

from tenuto import task


@task
async def fetch_picture(picture: str) -> dict[str, str]:
    return {"name": picture.removesuffix(".png")}


@task
async def resize(picture: str, width: int) -> str:
    """Several parameters are bound by name from the input object."""
    await asyncio.sleep(width / 4000)
    return f"{picture}-{width}.png"


@task
def publish_gallery(files: list[str]) -> dict[str, list[str]]:
    """Sync functions are fine: they run in a thread."""
    return {"gallery": files}
