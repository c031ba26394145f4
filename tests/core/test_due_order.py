"""The order of timers is that of a sorted list, and older values stay as they were."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from hypothesis import given, strategies as st

from tenuto.core.due_order import NONE_DUE, DueOrder, Item, due_order
from tenuto.model.inputs import TimerKey, TimerKind
from tests.core.play import BEGIN
from tests.kit.calls import calls_of

changes = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9), st.booleans()), max_size=200)


def item(minute: int, number: int) -> Item:
    return BEGIN + timedelta(minutes=minute), TimerKey(TimerKind.SLA_BREACH, "a", str(number))


@given(changes)
def test_it_is_what_a_sorted_list_would_be_and_older_ones_stay(
    changes: list[tuple[int, int, bool]],
) -> None:
    plain: set[Item] = set()
    order = NONE_DUE
    seen: list[tuple[DueOrder, list[Item]]] = []
    for minute, number, is_added in changes:
        each = item(minute, number)
        plain = plain | {each} if is_added else plain - {each}
        order = order.with_item(each) if is_added else order.without_item(each)
        seen.append((order, sorted(plain)))
    for order, items in seen:
        assert list(order) == items
        assert len(order) == len(items)
        assert order == due_order(items), "equal items are equal, however they came about"
        now = BEGIN + timedelta(minutes=20)
        assert list(order.until(now)) == [key for due, key in items if due <= now]
    assert DueOrder() == NONE_DUE
    assert NONE_DUE != "other things"


def test_items_that_come_in_order_cost_no_more_than_others() -> None:
    order = NONE_DUE
    for minute in range(2_000):
        order = order.with_item(item(minute, 0))
    for minute in range(0, 2_000, 2):
        order = order.without_item(item(minute, 0))
    assert next(iter(order)) == item(1, 0)
    for added in (item(-1, 1), item(999, 1), item(2_000, 1)):
        assert calls_of(partial(order.with_item, added)) < 150
