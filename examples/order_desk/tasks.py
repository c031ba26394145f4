r"""An order desk: its tasks write invoices; every other step is done by Tenuto itself.

The page beside it says how the stock and the carrier are started.

tenuto run examples/order_desk/order_desk.yaml \
    --input '{"orderId": "A1", "to": "Rome", "lines": [{"sku": "oak", "quantity": 2, "price": 40}]}'

The delivery is a workflow of its own:

tenuto run examples/order_desk/delivery.yaml \
    --input '{"orderId": "A1", "to": "Rome", "pieces": 2, "carrier": "http://127.0.0.1:8485"}'
"""

from __future__ import annotations

from typing import Any

from tenuto import task


@task
async def send_invoice(orderId: str, total: float) -> dict[str, Any]:  # noqa: N803 - as in the input
    return {"number": f"i-{orderId}", "total": total}


@task
async def refund_invoice(invoice: str, reason: str) -> dict[str, Any]:
    return {"status": "refunded", "invoice": invoice, "because": reason}
