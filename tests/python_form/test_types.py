"""A type checker sees a task's call as its result, and finds wrong wiring."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]

WIRED = """
from __future__ import annotations

from typing import Any, assert_type

from tenuto import (
    Context, Tenuto, approval, child, for_each, one_of, otherwise, set_values, task,
    event, wait_event, wait_first, when, workflow,
)
from tenuto.python_form.approvals import Decision


class Payment:
    amount: float
    id: str


@task
async def charge(ctx: Context, order: dict[str, Any]) -> Payment: ...  # type: ignore[empty-body]


@task(timeout="PT20S")
def pack(item: str) -> int:
    return len(item)


@task
def label(item: str, colour: str) -> str:
    return f"{colour} {item}"


@task
def weigh(ctx: Context, item: str) -> float:
    return len(item)


@task
def tag(ctx: Context, item: str, colour: str) -> str:
    return f"{colour} {item}"


@task
def count(item: str, times: int) -> int:
    return len(item) * times


@task
def pick(item: Any) -> int:
    return len(item)


@charge.undo
async def refund(ctx: Context, paid: Payment) -> bool: ...  # type: ignore[empty-body]


@pack.undo(timeout="PT20S")
def unpack(size: int) -> str:
    return str(size)


@workflow
def order_flow(order: dict[str, Any]) -> Payment:
    paid = charge(order)
    assert_type(paid, Payment)
    assert_type(charge.after(paid)(order), Payment)
    assert_type(pack.map(["a"]), list[int])
    assert_type(label.map(["a"], colour="red"), list[str])
    assert_type(label.map([{"item": "a", "colour": "red"}]), list[str])
    assert_type(weigh.map(["a"], at_most=2), list[float])
    assert_type(weigh.after(paid).map(["a"]), list[float])
    assert_type(tag.map(["a"], colour="red"), list[str])
    assert_type(tag.map([{"item": "a", "colour": "red"}], on_error="continue"), list[str])
    assert_type(label.map(["red"], item="a"), list[str])
    assert_type(tag.map(["red"], item="a"), list[str])
    assert_type(count.map([7], item="a"), list[int])
    assert_type(pick.map([7]), list[int])
    assert_type(refund(paid), bool)
    assert_type(unpack(7), str)
    assert_type(charge.undo(by=refund)(order), Payment)
    assert_type(charge.undo(when="ctx.order.id")(order), Payment)
    assert_type(charge.after(paid).undo(by=lambda given: refund(given))(order), Payment)
    assert_type(pack.undo(by=None).map(["a"]), list[int])
    with when(paid.amount > 1000):
        asked = wait_event("a.b", Payment, timeout="P3D")
        assert_type(asked, Payment)
    with otherwise():
        other = label(paid.id, colour="red")
    assert_type(one_of(asked, other), Payment | str)
    assert_type(child(parcel, "a", weight=2), bool)
    assert_type(child.after(paid)(parcel, "a", weight=2), bool)
    assert_type(child.map(sized, ["a"], at_most=2), list[int])
    assert_type(child.map(parcel, ["a"], weight=2), list[bool])
    assert_type(pack.options(timeout="PT5S")("a"), int)
    assert_type(wait_event("a.b", Payment, count=2), list[Payment])
    assert_type(wait_event("a.b", count=2), list[dict[str, Any]])
    assert_type(set_values(total=1), dict[str, Any])
    assert_type(pack.after_any(paid, at_least=1, cancel_rest=True)("a"), int)
    wait_first(paid=event("a.b"), timeout="PT1H")
    boxes = for_each(["a"], at_most=2)
    with boxes as item:
        assert_type(item, str)
        boxes.gives(pack(item))
        with for_each([1]) as number:
            pack(number)  # wrong
    review = approval(users=["ann"], form=Payment)
    assert_type(review, Decision[Payment])
    assert_type(review.form.amount, float)
    assert_type(review.approved, bool)
    with when(review.approved):
        pack(review.by)
        pack(review.form)  # wrong
    pack(7)  # wrong
    pack()  # wrong
    pack("a", 2)  # wrong
    pack.map([7])  # wrong
    label.map([7], colour="red")  # wrong
    weigh.map([7])  # wrong
    weigh.after(paid).map([7], at_most=2)  # wrong
    weigh.map(7)  # wrong
    tag.map(7, colour="red")  # wrong
    charge("order")  # wrong
    charge.after(paid)(7)  # wrong
    charge.after(charge)({})  # wrong
    charge.undo(by=refund)(7)  # wrong
    charge.undo(by=7)(order)  # wrong
    refund(order)  # wrong
    paid.amuont  # wrong
    label(paid, colour="red")  # wrong
    child(parcel, 7, weight=2)  # wrong
    child.map(sized, [7])  # wrong
    review.approvd  # wrong
    approval(users=["ann"], deadline=5)  # wrong
    wait_event("a.b", count="2")  # wrong
    pack.options(timout="PT5S")  # wrong
    for_each(7)  # wrong
    set_values(7)  # wrong
    wait_first(paid="a.b")  # wrong
    wait_event("a.b", timeout=3)  # wrong
    return paid


@workflow
def sized(ctx: Context, item: str) -> int:
    return pack(item)


@workflow("parcel")
def parcel(ctx: Context, address: str, weight: int) -> bool:
    return pack(address)  # wrong


async def main() -> None:
    async with Tenuto() as app:
        await app.start(order_flow, {"orderId": 7}, key="order-7")
        await app.deploy(parcel)
        await app.start(7)  # wrong
"""


PLANTED = {number for number, line in enumerate(WIRED.splitlines(), start=1) if "# wrong" in line}


@pytest.mark.slow
def test_mypy_finds_exactly_the_planted_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "wired.py"
    file.write_text(WIRED)
    out, err, _ = api.run(
        ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path), str(file)]
    )
    found = {int(line) for line in re.findall(r"wired\.py:(\d+): error:", out)}
    assert err == ""
    assert found == PLANTED, out


@pytest.mark.slow
def test_pyright_finds_exactly_the_planted_mistakes(tmp_path: Path) -> None:
    """As editors show it: in pyright's standard mode."""
    (tmp_path / "wired.py").write_text(WIRED)
    settings = {
        "typeCheckingMode": "standard",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    checked = subprocess.run(
        [
            *(sys.executable, "-m", "basedpyright", "--outputjson"),
            *("--pythonpath", sys.executable, "--project", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    diagnostics = json.loads(checked.stdout)["generalDiagnostics"]
    errors = [each for each in diagnostics if each["severity"] == "error"]
    found = {each["range"]["start"]["line"] + 1 for each in errors}
    assert found == PLANTED, [
        (each["range"]["start"]["line"] + 1, each["message"]) for each in errors
    ]
