"""The core sees names of secrets and their places; attempts of a step have the same ones."""

from __future__ import annotations

import pytest

from tenuto.core import outstanding, snapshot
from tenuto.core.deciding import CANNOT_GO_ON
from tenuto.model.edited import EditedInput
from tenuto.model.effects import StartAttempt
from tenuto.model.entries import CompensationDispatched, NodeDispatched
from tenuto.model.inputs import CompensationRetryAsked, RetryAsked
from tenuto.model.json import Object
from tenuto.model.log import SHAPE_KEY, from_row, to_row
from tenuto.model.secret_place import SecretPlace
from tests.core.drawing import box, draw, loop, start, step, steps, task, undoing
from tests.core.play import Run, play

KEY = "{{secrets.KEY}}"
TWICE: Object = {"maxAttempts": 2, "initialDelay": "PT1S"}
GIVEN: Object = {"auth": f"Bearer {KEY}", "n": "{{ctx.input.n}}"}
PLACE = SecretPlace(("auth",), 7, "KEY")


def dispatched(run: Run) -> list[NodeDispatched]:
    return [each for each in run.entries if isinstance(each, NodeDispatched)]


def orders(run: Run) -> list[StartAttempt]:
    found = outstanding(run.plan, run.state, run.policies)
    return [each for each in found if isinstance(each, StartAttempt)]


def test_log_and_orders_have_the_name_and_its_place() -> None:
    """`secrets` may stand in `http`, `dataQuery`, `task` and `javascript` inputs only; jobs and log
    hold the reference, the executing process resolves it.
    """
    run = play(draw("a", a=task(input=GIVEN))).start({"n": KEY})
    [entry] = dispatched(run)
    assert entry.input == {"auth": f"Bearer {KEY}", "n": KEY}
    assert entry.secrets == (PLACE,), "and not where the input of the workflow has the same text"
    [order] = orders(run)
    assert (order.input, order.secrets) == (entry.input, (PLACE,))
    assert run.succeed("a", 1).state.nodes[entry.key].secrets == ()


def test_a_retry_and_a_lost_attempt_get_the_same_places() -> None:
    run = play(draw("a", a=task(input=GIVEN, retry=TWICE))).start({"n": 1})
    run.fail("a", retryable=True).later(minutes=1).fire().lose("a")
    first, second, third = dispatched(run)
    assert (first.secrets, second.secrets, third.secrets) == ((PLACE,), (), ())
    assert [each.secrets for each in orders(run)] == [(PLACE,)]


def test_a_retry_by_hand_keeps_the_places_also_of_an_edited_input() -> None:
    run = play(draw("a", a=task(input=GIVEN))).start({"n": 1}).fail("a")
    again = run.tell(RetryAsked(by="ann"))
    assert [each.secrets for each in orders(again)] == [(PLACE,)]
    run.fail("a")
    edited: Object = {"auth": f"Bearer {KEY}", "n": 2, "more": KEY}
    run.tell(RetryAsked(by="ann", edited=EditedInput(step_id="a", input=edited)))
    [order] = orders(run)
    assert (order.input, order.secrets) == (edited, (PLACE,)), "no place is added by an edit"


@pytest.mark.parametrize(
    ("url", "is_allowed"),
    [
        ("https://api.example/other?x=1", True),
        ("https://API.example/other", True),
        ("https://evil.example/", False),
        ("http://api.example/orders", False),
        ("https://api.example:8443/orders", False),
        ("https://api.example@evil.example/", False),
        ("https://evil.example\\@api.example/", False),
        (None, False),
    ],
)
def test_an_edited_request_sends_no_secret_elsewhere(url: str | None, is_allowed: bool) -> None:
    request: Object = {"url": "https://api.example/orders", "headers": {"x-key": KEY}}
    run = play(draw("s>a", s=start(), a=box("http", **request))).start().fail("a")
    edited = EditedInput(step_id="a", input={"method": "GET", **request, "url": url})
    asked = RetryAsked(by="ann", edited=edited)
    if is_allowed:
        [order] = orders(run.tell(asked))
        assert order.secrets == (SecretPlace(("headers", "x-key"), 0, "KEY"),)
    else:
        with run.refusing(CANNOT_GO_ON):
            run.tell(asked)


def test_an_edited_request_keeps_a_url_with_a_secret_as_it_is() -> None:
    request: Object = {"url": "{{secrets.URL}}/orders", "headers": {"x-key": KEY}}
    run = play(draw("s>a", s=start(), a=box("http", **request))).start().fail("a")
    given: Object = {"method": "POST", **request}
    other = EditedInput(step_id="a", input={**given, "url": "{{secrets.URL}}.evil.example/"})
    with run.refusing(CANNOT_GO_ON):
        run.tell(RetryAsked(by="ann", edited=other))
    run.tell(RetryAsked(by="ann", edited=EditedInput(step_id="a", input=given)))
    assert [each.input for each in orders(run)] == [given]


def test_iterations_have_places_of_their_own() -> None:
    document = draw(
        "each:loop>a", each=loop("{{ctx.input}}"), a=task(input=["{{item}} {{secrets.KEY}}"])
    )
    run = play(document).start(["x", "long"])
    assert [each.secrets for each in orders(run)] == [(SecretPlace((0,), 2, "KEY"),)]
    run.succeed("a[0]")
    assert [each.secrets for each in orders(run)] == [(SecretPlace((0,), 5, "KEY"),)]


def test_a_compensation_is_given_places_too() -> None:
    document = undoing(draw("a>b"), a={"input": {"key": KEY, "was": "steps.a.output"}})
    run = play(document).start().succeed("a", {"id": 7}).fail("b")
    place = SecretPlace(("key",), 0, "KEY")
    [entry] = [each for each in run.entries if isinstance(each, CompensationDispatched)]
    assert (entry.input, entry.secrets) == ({"key": KEY, "was": {"id": 7}}, (place,))
    assert [each.secrets for each in orders(run)] == [(place,)]
    [order] = orders(run)
    run.fail(order.node)
    edited: Object = {"key": KEY, "was": None}
    run.tell(CompensationRetryAsked(step_id=order.node, input=edited, by="ann"))
    assert [(each.input, each.secrets) for each in orders(run)] == [(edited, (place,))]


def test_rows_and_snapshots_keep_them_in_a_shape_that_older_programs_refuse() -> None:
    run = play(draw("a>b", a=task(input=GIVEN), b=task(input={"x": 1}))).start({"n": 1})
    [entry] = dispatched(run)
    row = to_row(3, entry)
    assert from_row(row) == entry
    assert row.payload is not None
    assert f'"{SHAPE_KEY}":2'.encode() in row.payload
    kept = snapshot.encode(run.state)
    assert b'"shape":7' in kept
    assert snapshot.decode(kept, {}) == run.state
    run.succeed("a")
    plain = to_row(9, dispatched(run)[-1])
    assert plain.payload is None or SHAPE_KEY.encode() not in plain.payload
    assert b'"shape":4' in snapshot.encode(run.state)


def test_a_schema_of_the_task_is_not_compared_with_the_name() -> None:
    run = play(steps(step("a", taskId="t", input={"auth": KEY})))
    run.start()
    assert [each.secrets for each in orders(run)] == [(SecretPlace(("auth",), 0, "KEY"),)]
