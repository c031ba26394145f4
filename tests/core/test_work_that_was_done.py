"""What a step did outside is undone, also where the step itself failed with what came of it."""

from __future__ import annotations

from tenuto.core.snapshot import LARGE
from tenuto.model.failure import Failure
from tenuto.model.inputs import TaskFailed
from tenuto.model.json import Object
from tenuto.model.status import Status
from tests.core.drawing import draw, loop, task, undoing, wait
from tests.core.play import play
from tests.core.test_compensation import given
from tests.core.test_long_decisions import limited

ROUTED = task(conditions=[{"when": "ctx.input.nope()", "handle": "x"}])


def test_what_was_done_is_undone_though_its_step_failed() -> None:
    """What happened outside happened, whatever became of the step."""
    document = undoing(draw("a>b a:x>c", a=ROUTED), a={"input": "steps.a.output"})
    run = play(document).start({"n": 1}).succeed("a", {"charged": 1})
    assert (run.code, given(run, "undo_a")) == ("EXPRESSION_ERROR", {"charged": 1})
    assert run.succeed("undo_a").status is Status.FAILED
    run = play(document).start().succeed("a", 7, handle="nowhere")
    assert (run.code, given(run, "undo_a")) == ("UNKNOWN_HANDLE", 7)
    failure = Failure(code="TOO_LARGE", message="", retryable=False, was_done=True)
    run = play(document).start().tell(TaskFailed(node="a", attempt=1, error=failure))
    assert given(run, "undo_a") is None
    document = undoing(draw("a>b", a=task(outputVariable="a")), a={})
    run = limited(document, context_bytes=10).start().succeed("a", "x" * 20)
    assert (run.code, given(run, "undo_a")["originalOutput"]) == ("TOO_LARGE", "x" * 20)


def test_what_was_done_in_an_item_that_failed_is_undone() -> None:
    body = draw("l:loop>a a:x>c l:done>w", a=ROUTED, l=loop([1], onItemError="continue"), w=wait())
    run = play(undoing(body, a={})).start({"n": 1}).succeed("a[0]", 5).cancel()
    assert given(run, "undo_a")["originalOutput"] == 5


def test_what_was_done_within_its_grace_is_undone_whatever_follows_from_it() -> None:
    document = undoing(draw("a a:x>c", a=ROUTED), a={})
    run = play(document).start({"n": 1}).cancel().succeed("a", 5)
    assert given(run, "undo_a")["originalOutput"] == 5
    large = "x" * (LARGE + 1)
    run = play(document).start({"n": 1}).cancel().succeed("a", large)
    assert given(run, "undo_a")["originalOutput"] == large


def test_what_was_done_by_a_step_that_failed_is_done_again_by_a_retry() -> None:
    options: Object = {"compensateOnFailure": False}
    document = undoing(draw("a>b a:x>c", a=ROUTED, options=options), a={})
    run = play(document).start({"n": 1}).succeed("a", 5)
    assert run.retry().running == ["a"]
    run.cancel().fail("a", "CANCELLED")
    assert (run.status, run.undoing) == (Status.CANCELLED, None)


def test_a_failure_that_a_handle_takes_is_not_undone_whatever_was_done() -> None:
    document = undoing(draw("a a:x>c a:error>w", a=ROUTED, w=wait()), a={})
    run = play(document).start({"n": 1}).succeed("a", 5).cancel()
    assert (run.status, run.undoing) == (Status.CANCELLED, None)
