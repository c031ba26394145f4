"""What is advised about faults, written down: each function is called like the one it corrects."""

# ruff: noqa: ANN401, SIM300 - what is given does not matter here, and advice keeps the order
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tenuto import (
    approval,
    child,
    for_each,
    one_of,
    otherwise,
    repeat_while,
    sleep,
    terminate,
    wait_event,
    when,
)
from tests.python_form.faults import Function, other
from tests.python_form.shop import bill, escalate, notify, pack, reserve, score, send, tidy


class Remedy(NamedTuple):
    """A corrected function."""

    function: Function
    advice: str
    """The code that was advised; it stands in the function."""


REMEDIES: list[Remedy] = []


def remedy(advice: str) -> Callable[[Function], Function]:
    def add(fn: Function) -> Function:
        REMEDIES.append(Remedy(fn, advice))
        return fn

    return add


@remedy("with when(paid['amount'] > 1000):")
def decides_with_if(order: Any) -> None:
    paid = bill(order)
    with when(paid["amount"] > 1000):
        tidy()


@remedy('"{{ctx.input.big ? 1 : 2}}"')
def decides_with_a_conditional_expression(order: Any) -> None:
    notify("{{ctx.input.big ? 1 : 2}}")


@remedy("with when(~order['a'] & order['b']):")
def decides_on_several_things(order: Any) -> None:
    with when(~order["a"] & order["b"]):
        tidy()


@remedy("with when((1 < order['a']) & (order['a'] < 5) | order['b']):")
def decides_on_a_chain(order: Any) -> None:
    with when((1 < order["a"]) & (order["a"] < 5) | order["b"]):
        tidy()


@remedy("with when(\"ctx.input.tags.includes('vip')\"):")
def decides_by_looking_into_it(order: Any) -> None:
    with when("ctx.input.tags.includes('vip')"):
        tidy()


@remedy("\"ctx.paid.tags.includes('vip')\"")
def tests_by_looking_into_it(order: Any) -> None:
    paid = bill(order)  # noqa: F841 - named in text
    with when("ctx.paid.tags.includes('vip')"):
        tidy()


@remedy("with otherwise(order['b']):")
def decides_with_elif(order: Any) -> None:
    with when(order["a"]):
        tidy()
    with otherwise(order["b"]):
        tidy()


@remedy("with repeat_while(lambda last: …, at_most=20):")
def repeats_with_while(order: Any) -> None:
    # with repeat_while(lambda last: …, at_most=20):
    with repeat_while(lambda last: last["more"], at_most=20):
        bill(order)


@remedy("(order['a'] > 1) & (order['b'] > 1)")
def combines_with_and(order: Any) -> None:
    with when((order["a"] > 1) & (order["b"] > 1)):
        tidy()


@remedy("(order['a'] > 1) | (order['b'] > 1)")
def combines_with_or(order: Any) -> None:
    with when((order["a"] > 1) | (order["b"] > 1)):
        tidy()


@remedy("~order['a']")
def negates(order: Any) -> None:
    with when(~order["a"]):
        tidy()


@remedy("(1 < order['a']) & (order['a'] < 5)")
def compares_in_a_chain(order: Any) -> None:
    with when((1 < order["a"]) & (order["a"] < 5)):
        tidy()


@remedy("(e['id'] == order['id']) & e['payload']")
def combines_in_a_lambda(order: Any) -> None:
    wait_event("a.b", where=lambda e: (e["id"] == order["id"]) & e["payload"])


@remedy('"{{ctx.input.discount || 0}}"')
def falls_back_with_or(order: Any) -> None:
    discount = "{{ctx.input.discount || 0}}"
    notify(discount)


@remedy('"{{ctx.paid.tip || 5}}"')
def passes_a_fallback(order: Any) -> None:
    paid = bill(order)  # noqa: F841 - named in text
    notify("{{ctx.paid.tip || 5}}")


@remedy("\"{{ctx.input.big ? 'much' : 'little'}}\"")
def chooses_a_word(order: Any) -> None:
    word = "{{ctx.input.big ? 'much' : 'little'}}"
    notify(word)


@remedy("\"{{ctx.input.tags.includes('vip')}}\"")
def looks_into_it(order: Any) -> None:
    notify("{{ctx.input.tags.includes('vip')}}")


@remedy("\"{{['a', 'b'].includes(ctx.input.kind)}}\"")
def looks_for_it(order: Any) -> None:
    notify("{{['a', 'b'].includes(ctx.input.kind)}}")


@remedy("pack.map(order['items'])")
def goes_through_it(order: Any) -> None:
    pack.map(order["items"])


@remedy("with for_each(order['items']) as item:")
def does_much_with_each(order: Any) -> None:
    with for_each(order["items"]) as item:
        send(item, tidy())


@remedy("with for_each(item['parts']) as part:")
def goes_through_an_item(order: Any) -> None:
    with for_each(order["items"]) as item:
        tidy()
        with for_each(item["parts"]) as part:
            send(item, part)


@remedy("with when(item['big']):")
def decides_on_an_item(order: Any) -> None:
    with for_each(order["items"]) as item:
        with when(item["big"]):
            tidy()
        pack(item)


@remedy('"box {{ctx.item.name}}"')
def writes_an_item_into_text(order: Any) -> None:
    with for_each(order["items"]):
        notify("box {{ctx.item.name}}")


@remedy("boxes.results")
def counts_items(order: Any) -> None:
    boxes = for_each(order["items"])
    with boxes as item:
        boxes.gives(score(item))
    notify(boxes.results)


@remedy("with when(review.approved):")
def decides_on_a_decision(order: Any) -> None:
    review = approval(users="ann")
    with when(review.approved):
        tidy()


@remedy("order['pair'][0]")
def unpacks(order: Any) -> None:
    first, second = order["pair"][0], order["pair"][1]
    send(first, second)


@remedy("order['pair'][0]")
def spreads(order: Any) -> None:
    send(order["pair"][0], order["pair"][1])


@remedy('"{{ctx.input.items.length}}"')
def measures(order: Any) -> None:
    notify("{{ctx.input.items.length}}")


@remedy('"order {{ctx.input.id}}"')
def writes_an_f_string(order: Any) -> None:
    notify("order {{ctx.input.id}}")


@remedy("order['id']")
def calls_a_method(order: Any) -> None:
    notify(order["id"])


@remedy('"{{(ctx.input.tip ?? 5)}}"')
def gets_with_a_default(order: Any) -> None:
    notify("{{(ctx.input.tip ?? 5)}}")


@remedy("bill.after(…)(order)")
def says_after_too_late(order: Any) -> None:
    held = reserve(order)
    # bill.after(…)(order)
    bill.after(held)(order)


@remedy("one_of(first, asked)")
def assigns_in_two_branches(order: Any) -> None:
    with when(order["a"]):
        first = bill(order)
    with otherwise():
        asked = escalate(order)
    notify(one_of(first, asked))


@remedy("one_of(first, asked)")
def computes_in_two_branches(order: Any) -> None:
    with when(order["a"]):
        first = score(order) + 10
    with otherwise():
        asked = score(order) + 20
    notify(one_of(first, asked))


@remedy("one_of(first, second)")
def replaces_a_result_in_a_block(order: Any) -> None:
    with when(order["big"]):
        first = score(order)
    with otherwise():
        second = score(order)
    notify(one_of(first, second))


@remedy("rounds.last")
def adds_up_in_a_loop(order: Any) -> None:
    with repeat_while("ctx.index < 3") as rounds:
        total = rounds.last + score(order)
        rounds.gives(total)
    notify(rounds.results)


@remedy("rounds.results[-1]")
def asks_for_the_last_round_behind_it(order: Any) -> None:
    with repeat_while("ctx.index < 3") as rounds:
        bill(order)
    notify(rounds.results[-1])


@remedy('"{{ctx.rounds.length}}"')
def asks_for_the_round_behind_it(order: Any) -> None:
    with repeat_while("ctx.index < 3") as rounds:  # noqa: F841 - named in text
        bill(order)
    notify("{{ctx.rounds.length}}")


@remedy("return one_of(first, second)")
def returns_early(order: Any) -> object:
    with when(order["big"]):
        first = bill(order)
    with otherwise():
        second = escalate(order)
    return one_of(first, second)


@remedy('terminate("FAILED", reason="…")')
def raises_in_a_block(order: Any) -> None:
    with when(order["big"]):
        terminate("FAILED", reason="…")


@remedy("bill.on_error(handler)(…)")
def catches_a_failure(order: Any) -> None:
    def handler(error: Any) -> None:
        notify("failed")

    # bill.on_error(handler)(…)
    bill.on_error(handler)(order)


@remedy("sleep(seconds=5)")
def sleeps_for_five(order: Any) -> None:
    sleep(seconds=5)


@remedy('timeout="PT5S"')
def waits_for_five(order: Any) -> None:
    wait_event("a.b", timeout="PT5S")


@remedy("lambda: send(…)")
def times_out_into_many_parameters(order: Any) -> None:
    # lambda: send(…)
    wait_event("a.b", timeout="PT1S", on_timeout=lambda: send(order, 1))


@remedy("child(other, …)")
def calls_a_workflow_as_a_task(order: Any) -> None:
    tidy()
    # child(other, …)
    child(other, order)


@remedy('"{{({...ctx.input, ...({seen: true})})}}"')
def joins_objects(order: Any) -> None:
    notify("{{({...ctx.input, ...({seen: true})})}}")


@remedy("\"{{[...ctx.input.items, ...['gift']]}}\"")
def joins_lists(order: Any) -> None:
    notify("{{[...ctx.input.items, ...['gift']]}}")


@remedy('"ctx.input.items.length === 0"')
def compares_with_a_list(order: Any) -> None:
    with when("ctx.input.items.length === 0"):
        tidy()


@remedy('"{{({...ctx.input, seen: true})}}"')
def merges(order: Any) -> None:
    notify("{{({...ctx.input, seen: true})}}")


@remedy('"{{ctx.input.tip || 5}}"')
def falls_back_with_a_sign(order: Any) -> None:
    notify("{{ctx.input.tip || 5}}")
