"""The program that is killed: an ordinary one, which does the same whenever it is started.

`python -m tenuto.demo.program FOLDER [--pay]`
"""

from __future__ import annotations

import asyncio
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

from tenuto import Context, Tenuto, task
from tenuto.model.json import Object

DATABASE: Final = "orders.db"
SEEN: Final = "what-the-tasks-saw.txt"
ORDER: Final[Object] = {"orderId": "A1", "items": ["metronome"]}
PAYMENT: Final[Object] = {"orderId": "A1", "id": "payment-1", "amount": 42}
_folder = Path()


@task
async def order_processing_task(ctx: Context, order: dict[str, Any]) -> dict[str, Any]:
    """Two seconds of work, long enough to be killed in the middle of it."""
    _note(ctx)
    await asyncio.sleep(2.0)  # noqa: TID251 - this is what takes so long
    return {"orderId": order["orderId"], "reserved": order["items"]}


@task
async def complete_order_task(ctx: Context, order: dict[str, Any]) -> dict[str, Any]:
    _note(ctx)
    await asyncio.sleep(0.8)  # noqa: TID251 - this is what takes so long
    return {"orderId": order["orderId"], "shipped": order["items"]}


@task
async def payment_reminder_task(ctx: Context, order: dict[str, Any]) -> dict[str, Any]:
    _note(ctx)
    return {"orderId": order["orderId"], "reminded": True}


def definition() -> Object:
    """The order of the specification, with an id."""
    text = files("tenuto.demo").joinpath("order.json").read_bytes()
    document: Object = msgspec.json.decode(text)
    return {"id": "order", **document}


def url(folder: Path) -> str:
    """The store of the demonstration."""
    return f"sqlite:///{folder / DATABASE}"


async def main(folder: Path, *, pays: bool) -> None:
    """Start the order, unless it was started before, and see it to its end."""
    async with Tenuto(url(folder)) as app:
        await app.deploy(definition())
        order = await app.start("order", ORDER, key="order-A1")
        if pays:
            await app.publish("payment.received", PAYMENT, id="payment-1")
        await order.result()


def _note(ctx: Context) -> None:
    """What the world outside sees of an attempt."""
    with (_folder / SEEN).open("a", encoding="utf-8") as file:
        file.write(f"{ctx.step_id} {ctx.attempt} {ctx.idempotency_key}\n")


if __name__ == "__main__":
    _folder = Path(sys.argv[1])
    asyncio.run(main(_folder, pays="--pay" in sys.argv))
