r"""A report of expenses: each is converted and booked, and a person decides before they are paid.

tenuto run examples/expenses/expenses.py \
    --input '{"manager": "ada", "items": [{"what": "train", "amount": 80, "currency": "EUR"}]}'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tenuto import approval, for_each, one_of, otherwise, task, when, workflow


@dataclass
class Expense:
    what: str
    amount: float
    currency: Literal["EUR", "USD"] = "EUR"


@dataclass
class Answer:
    """The form that the manager fills in."""

    note: str


@task
async def to_euros(expense: Expense) -> float:
    return round(expense.amount * {"EUR": 1, "USD": 0.9}[expense.currency], 2)


@task
async def book_expense(what: str, euros: float) -> dict[str, Any]:
    return {"what": what, "euros": euros}


@task
async def sum_up(booked: list[dict[str, Any]]) -> float:
    return round(sum(float(each["euros"]) for each in booked), 2)


@task
async def pay_report(euros: float) -> str:
    return f"paid {euros} EUR"


@task
async def decline_report(note: str) -> str:
    return f"not paid: {note}"


@workflow("expenses")
def expenses(manager: str, items: list[Expense]) -> dict[str, Any]:
    """Book every expense, ask the manager if they are many euros, and pay or decline."""
    booked = for_each(items, at_most=5)
    with booked as item:
        euros = to_euros(item)
        booked.gives(book_expense(item.what, euros))
    total = sum_up(booked.results)
    with when(total > 50):
        review = approval(users=[manager], roles=["finance"], form=Answer, deadline="P5D")
        with when(review.approved):
            approved = pay_report(total)
        with otherwise(review.timed_out):
            late = decline_report("no decision in five days")
        with otherwise():
            rejected = decline_report(review.form.note)
    with otherwise():
        small = pay_report(total)
    return {"booked": booked.results, "answer": one_of(approved, late, rejected, small)}
