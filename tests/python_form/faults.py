"""Workflow functions with one fault each; the faulty line ends with `# <code>`."""

# ruff: noqa: ANN401 - what a workflow is given does not matter here
from __future__ import annotations

import json
import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tenuto import (
    Context,
    child,
    one_of,
    otherwise,
    repeat_while,
    sleep,
    task,
    terminate,
    wait_event,
    when,
    workflow,
)
from tenuto.tasks import Registry
from tests.python_form.shop import bill, escalate, notify, pack, reserve, send, tidy

Function = Callable[..., Any]
FAULTS: list[Function] = []
counter = 0
shelf = SimpleNamespace(held=None)


def fault(fn: Function) -> Function:
    FAULTS.append(fn)
    return fn


# Values that are needed now


@fault
def decides_with_if(order: Any) -> None:
    paid = bill(order)
    if paid["amount"] > 1000:  # TEN-1104 `if` with when(paid['amount'] > 1000)
        tidy()


@fault
def decides_with_a_plain_if(order: Any) -> None:
    if order["big"]:  # TEN-1104 `if` with when(order['big'])
        tidy()


@fault
def decides_with_a_conditional_expression(order: Any) -> None:
    notify(1 if order["big"] else 2)  # TEN-1104 `if` with when(order['big'])


@fault
def repeats_with_while(order: Any) -> None:
    while order["more"]:  # TEN-1104 `while` repeat_while
        tidy()


@fault
def repeats_while_not(order: Any) -> None:
    while not order["done"]:  # TEN-1104 `not` ~(order['done'])
        tidy()


@fault
def combines_with_and(order: Any) -> None:
    with when(order["a"] > 1 and order["b"] > 1):  # TEN-1104 `and` &
        tidy()


@fault
def combines_with_or(order: Any) -> None:
    with when(order["a"] > 1 or order["b"] > 1):  # TEN-1104 `or` |
        tidy()


@fault
def negates(order: Any) -> None:
    with when(not order["a"]):  # TEN-1104 `not` ~(order['a'])
        tidy()


@fault
def looks_into_it(order: Any) -> None:
    notify("vip" in order["tags"])  # TEN-1104 `in` includes


@fault
def looks_for_it(order: Any) -> None:
    notify(order["kind"] in ("a", "b"))  # TEN-1104 `in` includes


@fault
def compares_in_a_chain(order: Any) -> None:
    with when(1 < order["a"] < 5):  # TEN-1104 chained &
        tidy()


@fault
def asserts(order: Any) -> None:
    assert order["a"]  # TEN-1104 `assert` TaskError
    tidy()


@fault
def goes_through_it(order: Any) -> None:
    for item in order["items"]:  # TEN-1105 `for` pack.map(order['items'])
        pack(item)


@fault
def goes_through_it_in_a_comprehension(order: Any) -> None:
    notify([item for item in order["items"]])  # noqa: C416 # TEN-1105 `for` .map


@fault
def unpacks(order: Any) -> None:
    first, second = order["pair"]  # TEN-1105 unpacking order['pair'][0]
    send(first, second)


@fault
def spreads(order: Any) -> None:
    send(*order["pair"])  # TEN-1105 `*` task


@fault
def measures(order: Any) -> None:
    notify(len(order["items"]))  # TEN-1105 `len()` length


@fault
def converts(order: Any) -> None:
    notify(int(order["amount"]))  # TEN-1106 `int()` task


@fault
def rounds(order: Any) -> None:
    notify(round(order["amount"], 2))  # TEN-1106 `round()` task


@fault
def writes_an_f_string(order: Any) -> None:
    notify(f"order {order['id']}")  # TEN-1106 f-string {{ctx


@fault
def writes_text(order: Any) -> None:
    notify(str(order["id"]))  # TEN-1106 `str()` {{ctx


@fault
def uses_it_as_a_key(order: Any) -> None:
    notify({order["id"]: 1})  # TEN-1106 key task


@fault
def calls_a_method(order: Any) -> None:
    notify(order.get("id"))  # TEN-1106 `get()` paid["id"]


@fault
def changes_it(order: Any) -> None:
    order["seen"] = True  # TEN-1106 changing task
    notify(order)


@fault
def needs_more_of_the_context(ctx: Context, order: Any) -> None:
    notify(ctx.attempt)  # TEN-1106 `ctx.attempt` instance_id


def tax(amount: Any) -> Any:
    return amount * 0.2 if amount > 10 else 0


@fault
def calls_a_function_that_is_no_task(order: Any) -> None:
    notify(tax(order["amount"]))  # TEN-1117 `tax` @task


# Values that are not there, or not to be written down


@fault
def returns_what_is_no_json(order: Any) -> object:
    tidy()
    return socket.gethostname  # TEN-1109 returns JSON


@fault
def passes_what_is_no_json(order: Any) -> None:
    notify({"a": {1, 2}})  # TEN-1109 set JSON


@fault
def decides_on_what_is_known(order: Any) -> None:
    with when(counter == 0):  # TEN-1109 known `if`
        tidy()


@fault
def joins_what_is_no_step(order: Any) -> None:
    with when(order["a"]):
        first = bill(order)
    notify(one_of(first, order["b"]))  # TEN-1109 `one_of` branches


@fault
def maps_over_a_number(order: Any) -> None:
    pack.map(7)  # type: ignore[arg-type]  # TEN-1109 list


@fault
def uses_a_value_of_another_workflow(order: Any) -> None:
    notify(shelf.held)  # TEN-1108 `other` child


@workflow("other")
def other(order: dict[str, Any]) -> None:
    shelf.held = reserve(order)


@fault
def assigns_in_two_branches(order: Any) -> None:
    with when(order["a"]):
        asked = bill(order)
    with otherwise():
        asked = escalate(order)
    notify(asked)  # TEN-1107 `asked` one_of


@fault
def looks_out_of_a_loop(order: Any) -> None:
    with repeat_while("ctx.index < 3"):
        page = bill(order)
    notify(page)  # TEN-1116 `page` list


@fault
def names_a_later_step(order: Any) -> None:
    notify("{{ctx.paid.id}}")  # TEN-1115 `paid` behind
    sleep("PT1S")
    paid = bill(order)  # noqa: F841 - named in text


# Calls


@fault
def forgets_an_argument(order: Any) -> None:
    send(order)  # TEN-1110 missing send(boxes, approval)


@fault
def passes_the_context(ctx: Context, order: Any) -> None:
    bill(ctx, order)  # TEN-1110 too many bill(order)


@fault
def gives_an_error_to_many_parameters(order: Any) -> None:
    bill.on_error(send)(order)  # TEN-1110 several lambda


@fault
def leaves_no_parameter_for_the_item(order: Any) -> None:
    pack.map(order["items"], item=1)  # type: ignore[call-arg]  # TEN-1110 item pack(item)


@fault
def sleeps_for_moons(order: Any) -> None:
    sleep(moons=3)  # TEN-1110 sleep minutes=10


namesake = Registry().task(name="bill")(lambda order: order)


@fault
def uses_two_tasks_of_one_name(order: Any) -> None:
    bill(order)
    namesake(order)  # TEN-1111 `bill` name=


@Registry().task
def dial(line: socket.socket) -> None: ...


@fault
def calls_a_task_that_wants_a_socket(order: Any) -> None:
    dial(order["line"])  # TEN-1112 `line` dataclass


@fault
def calls_a_workflow(order: Any) -> None:
    child(other)  # type: ignore[call-overload]  # TEN-1110 missing other(order)


# Places


@fault
def goes_on_after_terminate(order: Any) -> None:
    terminate()
    tidy()  # TEN-1113 `terminate` when


@fault
def writes_otherwise_alone(order: Any) -> None:
    tidy()
    with otherwise():  # TEN-1113 `otherwise` behind
        tidy()


@fault
def repeats_nothing(order: Any) -> None:
    with repeat_while("true"):  # TEN-1113 loop block
        pass


@fault
def names_two_steps_alike(order: Any) -> None:
    tidy.named("a")()
    tidy.named("a")()  # TEN-1114 `a` own


@fault
def names_a_step_unusably(order: Any) -> None:
    tidy.named("a b")()  # TEN-1114 'a b' letters


@fault
def sets_a_global(order: Any) -> None:
    global counter  # noqa: PLW0603 - that is the fault
    counter += 1  # TEN-1103 `counter` task


# Faults of Python, and of the compiler


@fault
def raises(order: Any) -> None:
    bill(order)
    json.dumps(bill(order))  # TEN-1102 serializable task


@fault
def waits_for_an_odd_pattern(order: Any) -> None:
    wait_event("a..b")  # TEN-1034 pattern payment.received


@fault
def writes_a_broken_expression(order: Any) -> None:
    with when("ctx.input. >"):  # TEN-1030 branches position
        tidy()


@task
async def unused() -> None: ...
