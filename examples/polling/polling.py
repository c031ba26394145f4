"""Polling with a while loop: ask, sleep, ask again, until the other side is done.

tenuto run examples/polling/polling.py --input '{"report": "sales", "every": "PT1S"}'
"""

from __future__ import annotations

from tenuto import Context, repeat_while, sleep, task, workflow


@task
def order_report(report: str) -> str:
    return f"job-{report}"


@task
def look(ctx: Context, job: str) -> str:
    """The service needs three looks; a real one would be asked over HTTP."""
    rounds = int(ctx.idempotency_key.rpartition(":")[2])
    return "ready" if rounds >= 2 else "still working"


@task
def download(job: str) -> str:
    return f"{job}.csv"


@workflow("polling")
def polling(report: str, every: str = "PT10S") -> dict[str, object]:
    """Each round is durable: a process that stops between two looks loses nothing."""
    job = order_report(report)
    with repeat_while("ctx.last !== 'ready'", at_most=100) as looks:
        sleep(every)
        looks.gives(look(job))
    file = download.after(looks.results)(job)
    return {"file": file, "looks": looks.results}
