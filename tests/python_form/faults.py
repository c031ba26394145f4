"""Workflow functions with one fault each, in the line that ends with `# fault`."""

# ruff: noqa: ANN401 - what a workflow is given does not matter here
from __future__ import annotations

import enum
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, NamedTuple

from tenuto import (
    Context,
    approval,
    child,
    event,
    for_each,
    one_of,
    otherwise,
    repeat_while,
    set_values,
    sleep,
    task,
    terminate,
    wait_event,
    wait_first,
    when,
    workflow,
)
from tenuto.tasks import Registry
from tests.python_form.shop import bill, escalate, notify, pack, reserve, score, send, tidy

Function = Callable[..., Any]


class Fault(NamedTuple):
    """A function, and what has to be told about it."""

    function: Function
    code: str
    words: tuple[str, ...]
    """The message and its advice have these; they stand apart from the line that it quotes."""


FAULTS: dict[str, Fault] = {}
counter = 0


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Line:
    sku: str


@dataclass
class Heavy:
    sku: str
    weight: int


@dataclass
class Typed:
    name: str
    lines: list[Line]


@task(name="faults.weigh")
def weigh(line: Heavy) -> int:
    return line.weight


@workflow("weighing")
def weighing(line: str) -> str:
    return pack(line)


shelf = SimpleNamespace(held=None)


def fault(code: str, *words: str) -> Callable[[Function], Function]:
    def add(fn: Function) -> Function:
        FAULTS[fn.__name__] = Fault(fn, code, words)
        return fn

    return add


# Values that are needed now


@fault("TEN-1104", "`if`", "with when(paid['amount'] > 1000):")
def decides_with_if(order: Any) -> None:
    paid = bill(order)
    if paid["amount"] > 1000:  # fault
        tidy()


@fault("TEN-1104", "`if`", "with when(order['big']):")
def decides_with_a_plain_if(order: Any) -> None:
    if order["big"]:  # fault
        tidy()


@fault("TEN-1104", "`if`", "with when(bill(order)):")
def decides_on_the_result_of_a_call(order: Any) -> None:
    if bill(order):  # fault
        tidy()


@fault("TEN-1104", "`index()`", "Give it to a task")
def decides_by_a_method_that_needs_it(order: Any) -> None:
    if ["a", "b"].index(order["kind"]):  # fault
        tidy()


@fault("TEN-1105", "`**`", "Name its parts")
def passes_it_as_named_arguments(order: Any) -> None:
    send(**order)  # fault


@fault("TEN-1104", "`if … else`", '"{{ctx.input.big ? 1 : 2}}"')
def decides_with_a_conditional_expression(order: Any) -> None:
    notify(1 if order["big"] else 2)  # fault


@fault("TEN-1104", "`while`", "with repeat_while(lambda last: …, at_most=20):")
def repeats_with_while(order: Any) -> None:
    while order["more"]:  # fault
        tidy()


@fault("TEN-1104", "`while`", "with repeat_while(lambda last: …, at_most=20):")
def repeats_while_not(order: Any) -> None:
    while not order["done"]:  # fault
        tidy()


@fault("TEN-1104", "`and`", "(order['a'] > 1) & (order['b'] > 1)")
def combines_with_and(order: Any) -> None:
    with when(order["a"] > 1 and order["b"] > 1):  # fault
        tidy()


@fault("TEN-1104", "`or`", "(order['a'] > 1) | (order['b'] > 1)")
def combines_with_or(order: Any) -> None:
    with when(order["a"] > 1 or order["b"] > 1):  # fault
        tidy()


@fault("TEN-1104", "`not`", "~order['a']")
def negates(order: Any) -> None:
    with when(not order["a"]):  # fault
        tidy()


@fault("TEN-1104", "`in`", "\"{{ctx.input.tags.includes('vip')}}\"")
def looks_into_it(order: Any) -> None:
    notify("vip" in order["tags"])  # fault


@fault("TEN-1104", "`in`", "\"{{['a', 'b'].includes(ctx.input.kind)}}\"")
def looks_for_it(order: Any) -> None:
    notify(order["kind"] in ("a", "b"))  # fault


@fault("TEN-1104", "a chained comparison", "(1 < order['a']) & (order['a'] < 5)")
def compares_in_a_chain(order: Any) -> None:
    with when(1 < order["a"] < 5):  # fault
        tidy()


@fault("TEN-1104", "`if`", "with when(~order['a'] & order['b']):")
def decides_on_several_things(order: Any) -> None:
    if not order["a"] and order["b"]:  # fault
        tidy()


@fault("TEN-1104", "`if`", "with when((1 < order['a']) & (order['a'] < 5) | order['b']):")
def decides_on_a_chain(order: Any) -> None:
    if 1 < order["a"] < 5 or order["b"]:  # fault
        tidy()


@fault("TEN-1104", "`if`", "with when(\"ctx.input.tags.includes('vip')\"):")
def decides_by_looking_into_it(order: Any) -> None:
    if "vip" in order["tags"]:  # fault
        tidy()


@fault("TEN-1104", "`in`", "\"ctx.paid.tags.includes('vip')\"")
def tests_by_looking_into_it(order: Any) -> None:
    paid = bill(order)
    with when("vip" in paid["tags"]):  # fault
        tidy()


@fault("TEN-1104", "`elif`", "with otherwise(order['b']):")
def decides_with_elif(order: Any) -> None:
    if counter > 0:
        tidy.named("first")()
    elif order["b"]:  # fault
        tidy()


@fault("TEN-1104", "`match`", "with when(… == …):")
def decides_with_match(order: Any) -> None:
    match order["kind"]:
        case "a":  # fault
            tidy()
        case _:
            pass


@fault("TEN-1104", "`if`", "Filter in a task")
def chooses_from_a_list(order: Any) -> None:
    notify([each for each in (1, 2) if order["amount"] > each])  # fault


@fault("TEN-1104", "`or`", '"{{ctx.input.discount || 0}}"')
def falls_back_with_or(order: Any) -> None:
    discount = order["discount"] or 0  # fault
    notify(discount)


@fault("TEN-1104", "`or`", '"{{ctx.paid.tip || 5}}"')
def passes_a_fallback(order: Any) -> None:
    paid = bill(order)
    notify(paid["tip"] or 5)  # fault


@fault("TEN-1104", "`if … else`", "\"{{ctx.input.big ? 'much' : 'little'}}\"")
def chooses_a_word(order: Any) -> None:
    word = "much" if order["big"] else "little"  # fault
    notify(word)


@fault("TEN-1104", "`and`", "(e['id'] == order['id']) & e['payload']")
def combines_in_a_lambda(order: Any) -> None:
    wait_event("a.b", where=lambda e: e["id"] == order["id"] and e["payload"])  # fault


@fault("TEN-1104", "`if … else`", "`one_of` of their steps")
def chooses_a_step(order: Any) -> None:
    notify(tidy() if order["big"] else 2)  # fault


@fault("TEN-1104", "`if`", "`with when(…):`")
def looks_for_a_result(order: Any) -> None:
    if tidy() in order["tags"]:  # fault
        tidy()


@fault("TEN-1104", "`max()`", "Give it to a task")
def takes_the_largest(order: Any) -> None:
    notify(max(order["a"], 3))  # fault


@fault("TEN-1104", "`assert`", "TaskError")
def asserts(order: Any) -> None:
    assert order["a"]  # fault
    tidy()


@fault("TEN-1105", "`for`", "pack.map(order['items'])", "with for_each(order['items']) as item:")
def goes_through_it(order: Any) -> None:
    for item in order["items"]:  # fault
        pack(item)


@fault("TEN-1105", "`for`", "task.map(order['items'])")
def goes_through_it_in_a_comprehension(order: Any) -> None:
    notify([item for item in order["items"]])  # noqa: C416  # fault


@fault("TEN-1105", "`for`", "with for_each(order['items']) as item:", "body into a task")
def does_much_with_each(order: Any) -> None:
    for item in order["items"]:  # fault
        send(item, tidy())


@fault("TEN-1105", "`join()`", "task")
def joins_text(order: Any) -> None:
    notify(", ".join(order["tags"]))  # fault


@fault("TEN-1105", "`**`", '"{{({...ctx.input, seen: true})}}"')
def merges(order: Any) -> None:
    notify({**order, "seen": True})  # fault


@fault("TEN-1105", "`unpacking`", "order['pair'][0]")
def unpacks(order: Any) -> None:
    first, second = order["pair"]  # fault
    send(first, second)


@fault("TEN-1105", "`*`", "order['pair'][0]")
def spreads(order: Any) -> None:
    send(*order["pair"])  # fault


@fault("TEN-1105", "`*`", "order['pair'][0]")
def spreads_into_a_list(order: Any) -> None:
    notify([1, *order["pair"]])  # fault


@fault("TEN-1105", "`unpacking`", "`pair[0]`")
def unpacks_in_a_loop(order: Any) -> None:
    for first, second in [order["a"]]:  # fault
        send(first, second)


@fault("TEN-1105", "`for`", "task.map(order['items'])")
def goes_through_it_in_a_generator(order: Any) -> None:
    notify(sorted(item for item in order["items"]))  # fault


@fault("TEN-1105", "`len()`", '"{{ctx.input.items.length}}"')
def measures(order: Any) -> None:
    notify(len(order["items"]))  # fault


@fault("TEN-1106", "`int()`", "task")
def converts(order: Any) -> None:
    notify(int(order["amount"]))  # fault


@fault("TEN-1106", "`round()`", "task")
def rounds(order: Any) -> None:
    notify(round(order["amount"], 2))  # fault


@fault("TEN-1106", "an f-string", '"order {{ctx.input.id}}"')
def writes_an_f_string(order: Any) -> None:
    notify(f"order {order['id']}")  # fault


@fault("TEN-1106", "`str()`", "{{ctx")
def writes_text(order: Any) -> None:
    notify(str(order["id"]))  # fault


@fault("TEN-1106", "key", "task")
def uses_it_as_a_key(order: Any) -> None:
    notify({order["id"]: 1})  # fault


@fault("TEN-1106", "`get()`", "order['id']")
def calls_a_method(order: Any) -> None:
    notify(order.get("id"))  # fault


@fault("TEN-1106", "`get()`", '"{{(ctx.input.tip ?? 5)}}"')
def gets_with_a_default(order: Any) -> None:
    notify(order.get("tip", 5))  # fault


@fault("TEN-1106", "`upper()`", '"{{ctx.paid.name.trim()}}"')
def calls_another_method(order: Any) -> None:
    notify(order["name"].upper())  # fault


@fault("TEN-1106", "`after()`", "bill.after(…)(order)")
def says_after_too_late(order: Any) -> None:
    held = reserve(order)
    bill(order).after(held)  # type: ignore[attr-defined]  # fault


@fault("TEN-1106", "`named()`", "`charge.after(held)(order)`")
def names_a_result(order: Any) -> None:
    paid: Any = bill(order)
    paid.named("payment")  # fault


@fault("TEN-1106", "`print()`", "Print it in a task")
def prints_it(order: Any) -> None:
    print(order)  # fault
    notify(order)


@fault("TEN-1106", "`dict()`", "Give it to a task as it is")
def copies_it(order: Any) -> None:
    notify(dict(order))  # fault


@fault("TEN-1106", "`%`", "{{ctx")
def formats_with_percent(order: Any) -> None:
    notify("order %s" % order["id"])  # noqa: UP031  # fault


@fault("TEN-1106", "changing", "task")
def changes_it(order: Any) -> None:
    order["seen"] = True  # fault
    notify(order)


@fault("TEN-1106", "`ctx.attempt`", "instance_id")
def needs_more_of_the_context(ctx: Context, order: Any) -> None:
    notify(ctx.attempt)  # fault


def tax(amount: Any) -> Any:
    return amount * 0.2 if amount > 10 else 0


@fault("TEN-1117", "`tax`", "@task")
def calls_a_function_that_is_no_task(order: Any) -> None:
    notify(tax(order["amount"]))  # fault


@fault("TEN-1104", "`is` tests the placeholder of `paid`", '`with when("ctx.paid == null"):`')
def asks_whether_it_is_none(order: Any) -> None:
    paid = bill(order)
    if paid is None:  # fault
        tidy()  # type: ignore[unreachable]


@fault("TEN-1104", "`is` tests the placeholder", '`with when("ctx.paid.id != null"):`')
def asks_whether_a_part_is_none(order: Any) -> None:
    paid = bill(order)
    if paid["id"] is not None:  # fault
        tidy()
    tidy()


@fault("TEN-1104", "`isinstance` tests the placeholder", "Decide in a task")
def asks_for_its_type(order: Any) -> None:
    if isinstance(order, dict):  # fault
        tidy()
    notify(order)


# Operators that mean something else


@fault("TEN-1121", "`|` is `or` here", '"{{({...ctx.input, ...({seen: true})})}}"')
def joins_objects(order: Any) -> None:
    notify(order | {"seen": True})  # fault


@fault("TEN-1121", "`+` computes", "\"{{[...ctx.input.items, ...['gift']]}}\"")
def joins_lists(order: Any) -> None:
    notify(order["items"] + ["gift"])  # fault


@fault("TEN-1121", "`&` is `and` here", "bits", "in a task")
def combines_bits(order: Any) -> None:
    with when(order["flags"] & 4):  # fault
        tidy()


@fault("TEN-1121", "`|` is `or` here", '"{{ctx.input.tip || 5}}"')
def falls_back_with_a_sign(order: Any) -> None:
    notify(order["tip"] | 5)  # fault


@fault("TEN-1121", "`==` does not look into lists", '"ctx.input.items.length === 0"')
def compares_with_a_list(order: Any) -> None:
    with when(order["items"] == []):  # fault
        tidy()


@fault("TEN-1121", "`*` computes with numbers", "template")
def repeats_text(order: Any) -> None:
    notify(order["times"] * "-")  # fault


# Values that are not there, or not to be written down


@fault("TEN-1109", "what the workflow returns", "JSON")
def returns_what_is_no_json(order: Any) -> object:
    tidy()
    return socket.gethostname  # fault


@fault("TEN-1109", "set", "JSON")
def passes_what_is_no_json(order: Any) -> None:
    notify({"a": {1, 2}})  # fault


@fault("TEN-1109", "Colour", "`Colour.RED.value`")
def passes_an_enum(order: Any) -> None:
    notify({"colour": Colour.RED})  # fault


@fault("TEN-1109", "datetime", "`.isoformat()`")
def passes_a_moment(order: Any) -> None:
    notify([datetime(2030, 1, 1, tzinfo=UTC)])  # fault


@fault("TEN-1109", "known", "`if`")
def decides_on_what_is_known(order: Any) -> None:
    with when(counter == 0):  # fault
        tidy()


@fault("TEN-1109", "`one_of`", "branches")
def joins_what_is_no_step(order: Any) -> None:
    with when(order["a"]):
        first = bill(order)
    notify(one_of(first, order["b"]))  # fault


@fault("TEN-1109", "list")
def maps_over_a_number(order: Any) -> None:
    pack.map(7)  # type: ignore[arg-type]  # fault


@fault("TEN-1108", "`other`", "child")
def uses_a_value_of_another_workflow(order: Any) -> None:
    notify(shelf.held)  # fault


@workflow("other")
def other(order: dict[str, Any]) -> None:
    shelf.held = reserve(order)


@fault("TEN-1107", "`asked`", "one_of")
def assigns_in_two_branches(order: Any) -> None:
    with when(order["a"]):
        asked = bill(order)
    with otherwise():
        asked = escalate(order)
    notify(asked)  # fault


@fault("TEN-1107", "`asked`", "`one_of(first, asked)`")
def computes_in_two_branches(order: Any) -> None:
    with when(order["a"]):
        asked = score(order) + 10
    with otherwise():
        asked = score(order) + 20
    notify(asked)  # fault


@fault("TEN-1107", "`amount`", "which may not run", "in a task")
def gives_a_discount_in_a_block(order: Any) -> None:
    amount = order["amount"]
    with when(order["vip"]):
        amount = amount * 0.9
        notify(amount)
    notify(amount)  # fault


@fault("TEN-1107", "`word`", "`otherwise`", "in a task")
def sets_a_word_in_two_branches(order: Any) -> None:
    with when(order["big"]):
        word = "much"
    with otherwise():
        word = "little"
    notify(word)  # fault


@fault("TEN-1107", "`fee`", "`with otherwise():`", "`one_of(first, second)`")
def replaces_a_result_in_a_block(order: Any) -> None:
    fee = score(order)
    with when(order["big"]):
        fee = score(order)
    notify(fee)  # fault


@fault("TEN-1107", "`fee`", "`with otherwise():`")
def replaces_what_the_other_side_reads(order: Any) -> None:
    fee = score(order)
    with when(order["big"]):
        fee = score(order)
        notify(fee)
    with otherwise():
        notify(fee)  # fault


@fault("TEN-1107", "`total`", "which may not run")
def adds_up_in_blocks(order: Any) -> None:
    total = 0
    for name in ("a", "b"):
        with when(order[name]):
            total = total + 1  # fault
            notify(name)
    tidy()


@fault("TEN-1107", "`total`", "`rounds.last`", "`rounds.gives(…)`")
def adds_up_in_a_loop(order: Any) -> None:
    total = 0
    with repeat_while("ctx.index < 3"):
        total = total + score(order)  # fault
        notify(1)


@fault("TEN-1116", "`page`", "list")
def looks_out_of_a_loop(order: Any) -> None:
    with repeat_while("ctx.index < 3"):
        page = bill(order)
    notify(page)  # fault


@fault("TEN-1116", "`last`", "`rounds.results[-1]`")
def asks_for_the_last_round_behind_it(order: Any) -> None:
    with repeat_while("ctx.index < 3") as rounds:
        bill(order)
    notify(rounds.last)  # fault


@fault("TEN-1116", "`index`", '"{{ctx.rounds.length}}"')
def asks_for_the_round_behind_it(order: Any) -> None:
    with repeat_while("ctx.index < 3") as rounds:
        bill(order)
    notify(rounds.index)  # fault


@fault("TEN-1116", "results", "`rounds.last`")
def asks_for_the_results_inside(order: Any) -> None:
    with repeat_while("ctx.index < 3") as rounds:
        notify(rounds.results)  # fault


@fault("TEN-1116", "`box`", "list")
def looks_out_of_a_block_for_each_item(order: Any) -> None:
    with for_each(order["items"]) as item:
        box = pack(item)
    notify(box)  # fault


@fault("TEN-1116", "item of a loop", "results of the loop")
def uses_an_item_behind_its_loop(order: Any) -> None:
    with for_each(order["items"]) as item:
        pack(item)
    notify(item)  # fault


@fault("TEN-1116", "results", "of this iteration")
def asks_for_the_results_of_all_items_inside(order: Any) -> None:
    boxes = for_each(order["items"])
    with boxes as item:
        send(item, boxes.results)  # fault


@fault("TEN-1107", "`count`", "`.gives(…)`", "`boxes.results`")
def counts_items(order: Any) -> None:
    count = 0
    with for_each(order["items"]) as item:
        count = count + score(item)  # fault
        tidy()


@fault("TEN-1104", "`if`", "with when(item['big']):")
def decides_on_an_item(order: Any) -> None:
    with for_each(order["items"]) as item:
        if item["big"]:  # fault
            tidy()
        pack(item)


@fault("TEN-1106", "an f-string", '"box {{ctx.item.name}}"')
def writes_an_item_into_text(order: Any) -> None:
    with for_each(order["items"]) as item:
        notify(f"box {item['name']}")  # fault


@fault("TEN-1105", "`for`", "with for_each(item['parts']) as part:")
def goes_through_an_item(order: Any) -> None:
    with for_each(order["items"]) as item:
        tidy()
        for part in item["parts"]:  # fault
            send(item, part)


@fault("TEN-1113", "`for_each` is not entered", "`with for_each(…):`")
def forgets_with_for_items(order: Any) -> None:
    for_each(order["items"])  # fault
    tidy()


@fault("TEN-1113", "loop", "`with for_each(…):`")
def does_nothing_for_each_item(order: Any) -> None:
    with for_each(order["items"]):  # fault
        pass


@fault("TEN-1109", "`for_each`", "int", "not a list")
def goes_through_a_number(order: Any) -> None:
    with for_each(7) as item:  # type: ignore[arg-type,var-annotated]  # fault
        pack(item)


@fault("TEN-1110", "`item` of task `pack`", "a whole number", "text is needed", "`pack(item: str)`")
def maps_numbers_over_text(numbers: list[int]) -> None:
    pack.map(numbers)  # type: ignore[arg-type]  # fault


@fault("TEN-1110", "`item` of task `pack`", "a whole number")
def maps_known_numbers_over_text(order: Any) -> None:
    pack.map(["a", 7])  # type: ignore[list-item]  # fault


@fault("TEN-1110", "`line` of task `faults.weigh`", "it has no `weight`")
def maps_lines_over_a_task_that_needs_more(order: Typed) -> None:
    weigh.map(order.lines)  # type: ignore[arg-type]  # fault


@fault("TEN-1109", "`pack.map`", "str, not a list")
def maps_over_text(order: Typed) -> None:
    pack.map(order.name)  # fault


@fault("TEN-1110", "`line` of workflow `weighing`", "an object", "text is needed")
def starts_children_of_lines_with_text(order: Typed) -> None:
    child.map(weighing, order.lines)  # type: ignore[arg-type]  # fault


# Approvals, values and options


@fault("TEN-1104", "`if`", "with when(review.approved):")
def decides_on_a_decision(order: Any) -> None:
    review = approval(users="ann")
    if review.approved:  # fault
        tidy()


@fault("TEN-1110", "`on_timeout` is given without `deadline`", 'deadline="P5D"')
def never_times_out_of_an_approval(order: Any) -> None:
    approval(users="ann", on_timeout=tidy)  # fault


@fault("TEN-1110", "never true", 'deadline="P5D"')
def asks_whether_it_timed_out_without_a_deadline(order: Any) -> None:
    review = approval(users="ann")
    with when(review.timed_out):  # fault
        tidy()


@fault("TEN-1110", "`on_rejected` runs instead")
def asks_for_a_rejection_that_is_handled(order: Any) -> None:
    review = approval(users="ann", on_rejected=notify)
    with when(review.rejected):  # fault
        tidy()


@fault("TEN-1110", "only the decision", "`lambda decision: send(…)`")
def rejects_into_many_parameters(order: Any) -> None:
    approval(users="ann", on_rejected=send)  # fault


@fault("TEN-1018", "no one could decide")
def asks_nobody(order: Any) -> None:
    approval()  # fault


@fault("TEN-1112", "`form`", "JSON Schema")
def asks_for_an_odd_form(order: Any) -> None:
    approval(users="ann", form=SimpleNamespace)  # fault


@fault("TEN-1110", "`deadline` is 5, which has no unit", 'deadline="PT5S"')
def waits_for_a_person_for_five(order: Any) -> None:
    approval(users="ann", deadline=5)  # type: ignore[call-overload]  # fault


@fault("TEN-1109", "`total`", "JSON")
def sets_what_is_no_json(order: Any) -> None:
    set_values(total={1, 2})  # fault


@fault("TEN-1023", "`input`")
def sets_what_is_reserved(order: Any) -> None:
    set_values(input=1)  # fault


@fault("TEN-1104", "`if`", "with when(first.paid):")
def decides_on_which_came_first(order: Any) -> None:
    first = wait_first(paid=event("a.b"), refused=event("a.c"))
    if first.paid:  # fault
        tidy()


@fault("TEN-1047", "4 edges are needed")
def waits_for_more_than_there_are(order: Any) -> None:
    held = reserve(order)
    risk = score(order)
    tidy.after_any(held, risk, at_least=4)()  # fault


@fault("TEN-1110", "`timeout` is 5, which has no unit", 'timeout="PT5S"')
def gives_a_step_five(order: Any) -> None:
    tidy.options(timeout=5)()  # type: ignore[arg-type]  # fault


@fault("TEN-1109", "`completes` takes loops", "a loop")
def completes_text(order: Any) -> None:
    tidy.options(completes="boxes")()  # fault


@fault("TEN-1113", "`child` is not called", "`child(…)`")
def forgets_to_call_a_child(order: Any) -> None:
    paid = bill(order)
    child.after(paid)  # fault


@fault("TEN-1115", "`paid`", "behind")
def names_a_later_step(order: Any) -> None:
    notify("{{ctx.paid.id}}")  # fault
    sleep("PT1S")
    paid = bill(order)  # noqa: F841 - named in text


# Control flow of Python


@fault("TEN-1119", "`return`", "`return one_of(first, second)`", "`terminate(output=…)`")
def returns_early(order: Any) -> object:
    with when(order["big"]):
        return bill(order)  # fault
    return escalate(order)  # type: ignore[unreachable]


@fault("TEN-1119", "`return`", "`repeat_while`")
def returns_from_a_loop(order: Any) -> object:
    with repeat_while("ctx.index < 3"):
        return bill(order)  # fault


@fault("TEN-1119", "`break`", "`with repeat_while(…):`")
def breaks_in_a_block(order: Any) -> None:
    while True:
        paid = bill(order)
        with when(paid["done"]):
            break  # fault


@fault("TEN-1119", "`continue`", "`with otherwise():`")
def continues_in_a_block(order: Any) -> None:
    for name in ("a", "b"):
        with when(order[name]):
            if counter == 0:
                continue  # fault
        notify(name)


@fault("TEN-1119", "`raise`", '`terminate("FAILED", reason="…")`')
def raises_in_a_block(order: Any) -> None:
    with when(order["big"]):
        raise ValueError("too big")  # fault


@fault("TEN-1120", "`bill`", "`bill.on_error(handler)(…)`")
def catches_a_failure(order: Any) -> None:
    try:
        bill(order)
        tidy()
    except ValueError:  # fault
        notify("failed")


@fault("TEN-1120", "`bill`", "`bill.on_error(handler)(…)`")
def tidies_up_finally(order: Any) -> None:
    try:  # fault
        bill(order)
    finally:
        tidy()


@fault("TEN-1113", "`when` is not entered", "`with when(…):`")
def forgets_with(order: Any) -> None:
    when(order["big"])  # fault
    tidy()


@fault("TEN-1113", "`repeat_while` is not entered", "`with repeat_while(…):`")
def forgets_with_for_a_loop(order: Any) -> None:
    repeat_while("ctx.index < 3")  # fault
    tidy()


@fault("TEN-1113", "`when` is no value", "`with when(…):`")
def writes_if_when(order: Any) -> None:
    if when(order["big"]):  # fault
        tidy()


@fault("TEN-1113", "`notify` is not called", "`notify.after(…)(…)`")
def forgets_the_call(order: Any) -> None:
    paid = bill(order)
    notify.after(paid).named("last")  # fault


# Calls


@fault("TEN-1109", "the task itself", "`result = bill(…)`")
def begins_after_a_task(order: Any) -> None:
    bill(order)
    notify.after(bill)(1)  # type: ignore[arg-type]  # fault


@fault("TEN-1109", "'paid' is none", "variables")
def begins_after_a_name(order: Any) -> None:
    paid = bill(order)
    notify.after("paid")(paid)  # fault


@fault("TEN-1109", "None is none", "variables")
def begins_after_nothing(order: Any) -> None:
    notify.after(sleep("PT1S"))(1)  # type: ignore[func-returns-value]  # fault


@fault("TEN-1109", "part of the input", "variables")
def begins_after_the_input(order: Any) -> None:
    notify.after(order["a"])(1)  # fault


@fault("TEN-1110", "missing", "send(boxes, approval)")
def forgets_an_argument(order: Any) -> None:
    send(order)  # fault


@fault("TEN-1110", "too many", "bill(order)")
def passes_the_context(ctx: Context, order: Any) -> None:
    bill(ctx, order)  # fault


@fault("TEN-1110", "several", "lambda")
def gives_an_error_to_many_parameters(order: Any) -> None:
    bill.on_error(send)(order)  # fault


@fault("TEN-1110", "one parameter", "pack(item)")
def leaves_no_parameter_for_the_item(order: Any) -> None:
    pack.map(order["items"], item=1)  # type: ignore[call-arg]  # fault


@fault("TEN-1110", "sleep", "minutes=10")
def sleeps_for_moons(order: Any) -> None:
    sleep(moons=3)  # fault


@fault("TEN-1110", "`sleep` is 5", "`sleep(seconds=5)`")
def sleeps_for_five(order: Any) -> None:
    sleep(5)  # fault


@fault("TEN-1110", "2030-01-01", "`datetime(…, tzinfo=UTC)`")
def sleeps_until_a_moment_nowhere(order: Any) -> None:
    sleep(until=datetime(2030, 1, 1))  # noqa: DTZ001  # fault


@fault("TEN-1110", "9999", "time zone")
def sleeps_past_the_end_of_time(order: Any) -> None:
    sleep(until=datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14))))  # fault


@fault("TEN-1110", "`timeout` is 5", '`timeout="PT5S"`')
def waits_for_five(order: Any) -> None:
    wait_event("a.b", timeout=5)  # type: ignore[call-overload]  # fault


@fault("TEN-1110", "`on_timeout`", '`timeout="P3D"`')
def never_times_out(order: Any) -> None:
    wait_event("a.b", on_timeout=escalate)  # fault


@fault("TEN-1110", "several parameters", "`lambda: send(…)`")
def times_out_into_many_parameters(order: Any) -> None:
    wait_event("a.b", timeout="PT1S", on_timeout=send)  # fault


@fault("TEN-1004", "20000 steps", "`with repeat_while(…):`")
def never_ends(order: Any) -> None:
    while True:
        tidy()  # fault


@fault("TEN-1113", "`other` is no task", "`child(other, …)`")
def calls_a_workflow_as_a_task(order: Any) -> None:
    tidy()
    other(order)  # fault


@fault("TEN-1109", "what the workflow returns", "JSON")
def returns_a_task(order: Any) -> object:
    return bill  # fault


namesake = Registry().task(name="bill")(lambda order: order)


@fault("TEN-1111", "`bill`", "name=")
def uses_two_tasks_of_one_name(order: Any) -> None:
    bill(order)
    namesake(order)  # fault


@Registry().task
def dial(line: socket.socket) -> None: ...


@fault("TEN-1112", "`line`", "dataclass")
def calls_a_task_that_wants_a_socket(order: Any) -> None:
    dial(order["line"])  # fault


@fault("TEN-1110", "missing", "other(order)")
def calls_a_workflow(order: Any) -> None:
    child(other)  # type: ignore[call-overload]  # fault


# Places


@fault("TEN-1113", "`terminate`", "when")
def goes_on_after_terminate(order: Any) -> None:
    terminate()
    tidy()  # fault


@fault("TEN-1113", "`otherwise`", "behind")
def writes_otherwise_alone(order: Any) -> None:
    tidy()
    with otherwise():  # fault
        tidy()


@fault("TEN-1113", "loop", "block")
def repeats_nothing(order: Any) -> None:
    with repeat_while("true"):  # fault
        pass


@fault("TEN-1114", "`a`", "own")
def names_two_steps_alike(order: Any) -> None:
    tidy.named("a")()
    tidy.named("a")()  # fault


@fault("TEN-1114", "'input'", "reserved", "Choose")
def names_a_step_like_the_input(order: Any) -> None:
    tidy.named("input")()  # fault


@fault("TEN-1114", "'a b'", "letters")
def names_a_step_unusably(order: Any) -> None:
    tidy.named("a b")()  # fault


@fault("TEN-1103", "`counter`", "task")
def sets_a_global(order: Any) -> None:
    global counter  # noqa: PLW0603 - that is the fault
    counter += 1  # fault


# What undoes a step


@fault("TEN-1123", "nothing undoes task `reserve`", "`@reserve.undo`", "`.undo(by=…)`")
def undoes_on_a_condition_what_nothing_undoes(order: Any) -> None:
    reserve.undo(when=order["big"])(order)  # fault


@fault("TEN-1123", "one task", "this calls 2")
def undoes_with_two_tasks(order: Any) -> None:
    bill.undo(by=lambda paid: [notify(paid), tidy()])(order)  # fault


@fault("TEN-1123", "one task", "this calls none")
def undoes_with_a_plain_function(order: Any) -> None:
    bill.undo(by=lambda paid: paid)(order)  # fault


@fault("TEN-1123", "no step, it undoes one", "`.undo(by=notify)`")
def says_something_about_what_undoes(order: Any) -> None:
    bill.undo(by=notify.named("sorry"))(order)  # fault


@fault("TEN-1123", "no step, it undoes one", "`notify(…)`")
def says_something_about_what_a_function_calls(order: Any) -> None:
    bill.undo(by=lambda paid: notify.named("sorry")(paid["id"]))(order)  # fault


@fault("TEN-1123", "'notify' undoes nothing", "`.undo(by=None)`")
def names_what_undoes_in_text(order: Any) -> None:
    bill.after().undo(by="notify")(order)  # type: ignore[arg-type]  # fault


@fault("TEN-1113", "not a step here", "Call one task")
def waits_before_undoing(order: Any) -> None:
    bill.undo(by=lambda paid: sleep("PT1H"))(order)  # fault


@fault("TEN-1110", "`send` has several parameters", "`.undo(by=lambda given: send(…))`")
def undoes_with_a_task_of_several_parameters(order: Any) -> None:
    bill.undo(by=send)(order)  # fault


@fault("TEN-1116", "`pack`", "results of the loop")
def undoes_with_what_is_in_a_loop(order: Any) -> None:
    with repeat_while("ctx.index < 3"):
        box = pack(order)
    bill.undo(by=lambda paid: notify(box))(order)  # fault


@fault("TEN-1109", "templates in a list", "values themselves")
def undoes_with_templates_in_a_list(order: Any) -> None:
    bill.undo(by=lambda paid: notify(["{{ctx.input}}"]))(order)  # fault


@fault("TEN-1113", "`bill` is not called here", "Call it")
def declares_what_undoes_inside(order: Any) -> None:
    tidy()
    bill.undo(notify)  # fault


# Faults of Python, and of the compiler


@fault("TEN-1102", "serializable", "task")
def raises(order: Any) -> None:
    bill(order)
    json.dumps(bill(order))  # fault


@fault("TEN-1102", "'timout'", "Did you mean `timeout`")
def misspells_an_argument(order: Any) -> None:
    wait_event("a.b", timout="PT1S")  # type: ignore[call-overload]  # fault


@fault("TEN-1102", "'aftre'", "Did you mean `after`")
def misspells_a_word(order: Any) -> None:
    tidy.aftre(order)()  # type: ignore[attr-defined]  # fault


@fault("TEN-1102", "KeyError", "Correct the line")
def reads_what_is_not_there(order: Any) -> None:
    notify({"a": 1}["b"])  # fault


@fault("TEN-1034", "pattern", "payment.received")
def waits_for_an_odd_pattern(order: Any) -> None:
    wait_event("a..b")  # fault


@fault("TEN-1030", "branches", "A property name")
def writes_a_broken_expression(order: Any) -> None:
    with when("ctx.input. >"):  # fault
        tidy()


@task
async def unused() -> None: ...
