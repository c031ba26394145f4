"""Every example is valid and does what its page says."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any, cast

import pytest

from tenuto import Status, Tenuto, WorkflowFailed, WorkflowFunction
from tenuto.cli.records import record_in
from tenuto.cli.sources import Source, read_source
from tenuto.cli.task_modules import load_tasks, refuse_unknown_tasks
from tenuto.model.json import JSON
from tenuto.tasks.registry import DEFAULT_REGISTRY
from tenuto.testing import Engine
from tests.cli.waiting import until, waits_for_event
from tests.docs.page import follow
from tests.kit.waits import every_wait_has_looked_back

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = [file for file in EXAMPLES.glob("*/*.py") if file.name != "tasks.py"]
DOCUMENTS = [*EXAMPLES.glob("*/*.json"), *EXAMPLES.glob("*/*.yaml")]
FILES = sorted([*(each for each in DOCUMENTS if record_in(each) is None), *PROGRAMS])
"""Those with workflows; the others are data sources and data queries."""
CHOSEN = {"parent_child": "trip", "saga": "saga"}
"""The workflow that is meant where a file has several."""

PAGES = sorted(file.relative_to(EXAMPLES.parent).as_posix() for file in EXAMPLES.rglob("*.md"))


def serves(page: str) -> bool:
    """Whether a page starts a service."""
    return " &\n" in (EXAMPLES.parent / page).read_text(encoding="utf-8")


SEED = {
    "steps": [
        {
            "stepId": "process_order",
            "type": "TASK",
            "taskId": "order_processing_task",
            "transitions": {"default": "wait_for_payment"},
        },
        {
            "stepId": "wait_for_payment",
            "type": "EVENT_WAIT",
            "eventPattern": "payment.received",
            "eventCondition": "event.payload.orderId === workflow.input.orderId",
            "eventTimeout": {
                "duration": "P3D",
                "timeoutHandlerStepId": "handle_payment_timeout",
            },
            "eventPayloadMapping": {"paymentId": "id", "paymentAmount": "amount"},
            "transitions": {"default": "complete_order"},
        },
        {"stepId": "complete_order", "type": "TASK", "taskId": "complete_order_task"},
        {
            "stepId": "handle_payment_timeout",
            "type": "TASK",
            "taskId": "payment_reminder_task",
        },
    ]
}


def source_of(path: Path) -> Source:
    name = CHOSEN.get(path.stem)
    return read_source(path if name is None else Path(f"{path}:{name}"))


async def run(name: str, input: object, *events: tuple[str, object], store: Path) -> JSON:
    """Run an example's definition with its own tasks; events come once it waits."""
    [path] = (each for each in FILES if each.stem == name)
    source = source_of(path)
    load_tasks([], path)
    async with Tenuto(f"sqlite:///{store / 'store.db'}") as app:
        document = source.document
        assert isinstance(document, dict)
        await app.deploy(source.flow or document)
        instance = await app.start(source.checked().id, cast("JSON", input))
        for pattern, payload in events:
            await until(app, instance, waits_for_event)
            await every_wait_has_looked_back(app)
            assert (await app.publish(pattern, cast("JSON", payload))).resumed == 1
        return await instance.result(timeout=20)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_example_is_valid_and_has_its_tasks_and_a_page(path: Path) -> None:
    source = source_of(path)
    assert source.problems == ()
    refuse_unknown_tasks(source, DEFAULT_REGISTRY, load_tasks([], path))
    assert f"examples/{path.parent.name}/{path.name}" in (path.parent / "README.md").read_text()
    assert f"]({path.parent.name})" in (EXAMPLES / "README.md").read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_example_says_in_its_code_how_it_is_run(path: Path) -> None:
    code = path if path.suffix == ".py" else path.with_name("tasks.py")
    docstring = ast.get_docstring(ast.parse(code.read_text(encoding="utf-8"))) or ""
    assert f"tenuto run examples/{path.parent.name}/{path.name}" in docstring


# A page with a service has a test of its own in one process, and is followed in `make soak`.
@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(each, marks=[pytest.mark.soak] if serves(each) else []) for each in PAGES],
)
def test_every_page_of_the_examples_can_be_followed(page: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    follow(page, tmp_path)


def test_the_order_is_that_of_the_specification() -> None:
    assert json.loads((EXAMPLES / "order" / "order.json").read_text()) == SEED


@pytest.mark.asyncio
async def test_the_order_completes_with_its_payment(tmp_path: Path) -> None:
    paid = {"orderId": "A1", "id": "p-1", "amount": 12}
    order = {"orderId": "A1", "workSeconds": 0}
    output = await run("order", order, ("payment.received", paid), store=tmp_path)
    assert output == {"orderId": "A1", "paidWith": "p-1"}


@pytest.mark.asyncio
async def test_three_branches_are_joined_once(tmp_path: Path) -> None:
    output = await run("fan_out", {"picture": "cello.png"}, store=tmp_path)
    assert output == {"gallery": ["cello-160.png", "cello-640.png", "cello-1920.png"]}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("decision", "output"),
    [
        ("approved", {"expense": "e-7", "paid": "yes", "approvedBy": "ada"}),
        ("rejected", {"expense": "e-7", "paid": "no", "because": "a good talk"}),
    ],
)
async def test_a_decision_leads_to_its_step(
    tmp_path: Path, decision: str, output: dict[str, str]
) -> None:
    load_tasks([], EXAMPLES / "approval" / "approval.json")
    expense: JSON = {"expenseId": "e-7", "amount": 90, "manager": "ada"}
    async with Tenuto(f"sqlite:///{tmp_path / 'store.db'}") as app:
        await app.deploy(json.loads((EXAMPLES / "approval" / "approval.json").read_text()))
        instance = await app.start("expense_approval", expense)
        await until(app, instance, waits_for_event)
        await instance.decide("review", decision, by="ada", form={"note": "a good talk"})
        assert await instance.result(timeout=20) == output


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("amount", "events", "approver"),
    [
        (12, [], "nobody"),
        (2000, [("order.approved", {"paymentId": "p-7", "by": "Ada"})], "Ada"),
    ],
)
async def test_a_function_describes_an_order(
    tmp_path: Path, amount: int, events: list[tuple[str, object]], approver: str
) -> None:
    order = {"orderId": 7, "amount": amount}
    output = await run("order_flow", order, *events, store=tmp_path)
    assert output == {"shipped": "r-7", "approvedBy": approver}


@pytest.mark.asyncio
async def test_a_failing_gateway_is_tried_again(tmp_path: Path) -> None:
    order = {"customer": "Ada", "amount": 12, "failures": 1}
    assert await run("retry", order, store=tmp_path) == {"receiptFor": "Ada"}


@pytest.mark.asyncio
async def test_a_declined_card_leads_to_another_step(tmp_path: Path) -> None:
    order = {"customer": "Ada", "amount": 12, "card": "declined"}
    output = await run("retry", order, store=tmp_path)
    assert output == {"asked": "Ada", "because": "insufficient funds"}


@pytest.mark.asyncio
async def test_a_delay_is_as_long_as_the_input_says(tmp_path: Path) -> None:
    output = await run("delay", {"about": "the plants", "after": "PT0.05S"}, store=tmp_path)
    assert output == {"reminder": "Do not forget: the plants", "about": "the plants"}


@pytest.mark.asyncio
async def test_a_bad_account_spoils_its_own_bill_alone(tmp_path: Path) -> None:
    output = await run("nightly_batch", {"night": "2026-03-01"}, store=tmp_path)
    assert output == {
        "night": "2026-03-01",
        "sent": ["ada owes 12 (bill 0)", "ben owes 30 (bill 1)", "dora owes 7 (bill 3)"],
        "failed": ["nobody knows where cleo lives"],
    }


@pytest.mark.asyncio
async def test_a_report_is_looked_for_until_it_is_ready(tmp_path: Path) -> None:
    output = await run("polling", {"report": "sales", "every": "PT0.01S"}, store=tmp_path)
    assert output == {
        "file": "job-sales.csv",
        "looks": ["still working", "still working", "ready"],
    }


@pytest.mark.asyncio
async def test_a_trip_is_booked_by_its_children(tmp_path: Path) -> None:
    output = await run("parent_child", {"to": "Rome", "nights": 2}, store=tmp_path)
    assert output == {"for": ["flight to Rome", "2 nights in Rome"], "total": 280}


@pytest.mark.asyncio
async def test_a_failing_child_fails_the_trip(tmp_path: Path) -> None:
    with pytest.raises(WorkflowFailed, match="no hotel keeps a guest for ever") as caught:
        await run("parent_child", {"to": "Rome", "nights": 99}, store=tmp_path)
    assert caught.value.error.code == "CHILD_FAILED"


@pytest.mark.asyncio
async def test_an_order_that_is_shipped_stays_as_it_is(tmp_path: Path) -> None:
    order = {"orderId": 7, "items": ["oak", "ash"], "to": "Rome"}
    output = await run("saga", order, store=tmp_path)
    assert output == {"shipped": ["box of oak", "box of ash"], "to": "Rome"}


def saga(name: str) -> WorkflowFunction[..., Any]:
    flow = read_source(EXAMPLES / "saga" / f"saga.py:{name}").flow
    assert flow is not None
    return flow


def test_an_order_that_cannot_be_shipped_is_undone() -> None:
    order = {"orderId": 7, "items": ["oak", "ash"], "to": "Atlantis"}
    with Engine() as engine:
        failed = engine.start(saga("saga"), order).finished()
        assert failed.status is Status.FAILED
        assert failed.undone == ["pack_item[1]", "pack_item[0]", "paid", "held"]


def test_an_order_that_is_cancelled_is_undone_also_across_a_crash() -> None:
    order = {"orderId": 7, "items": ["oak", "ash"], "to": "Rome"}
    with Engine() as engine:
        flow = saga("patient_saga")
        waiting = engine.start(flow, order).until(waiting_for="order.confirmed")
        engine.crash_once("bill_card.undo", "after")
        waiting.cancel("changed my mind")
        engine.recover()
        assert waiting.finished().status is Status.CANCELLED
        assert waiting.undone == ["paid", "held"]
        refunds = engine.calls("bill_card.undo")
        assert [call.outcome for call in refunds] == ["lost", "done"]
        assert len({call.key for call in refunds}) == 1
        assert "refunded 20 of p-7 (changed my mind)" in str(waiting.history)
