"""A set step: what it computes, what it sees, and what fails it."""

from __future__ import annotations

from msgspec.structs import replace

from tenuto.core import Plan
from tenuto.definition import compile_definition
from tenuto.model.json import Object
from tenuto.model.policy import Limits
from tenuto.model.status import Status
from tests.core.drawing import box, computed, draw, end, loop
from tests.core.play import play


def test_each_value_is_a_variable_and_the_output_is_all_of_them_in_one_entry() -> None:
    """A `set` computes variables in one entry, without a worker: each name of `values` is in `ctx`
    afterwards, and its output is the object of all of them.
    """
    document = draw(
        "s>d",
        s=computed(total="{{ctx.input.n + 1}}", of=["{{ctx.input.n}}", 1]),
        d=end({"total": "{{ctx.total}}", "of": "{{ctx.of}}", "out": "{{steps.s.output}}"}),
    )
    run = play(document).start({"n": 2})
    values = {"total": 3, "of": [2, 1]}
    assert (run.status, run.output) == (Status.COMPLETED, {**values, "out": values})
    assert [line for line in run.log if " s" in line] == ["NODE_COMPLETED s#1"]


def test_all_values_see_the_context_as_it_was_before_the_step() -> None:
    """All its templates see the context as it was before it; an undefined value is null."""
    document = draw(
        "s>t t>d",
        s=computed(a=1, b=2),
        t=computed(a="{{ctx.b}}", b="{{ctx.a}}", c="{{ctx.nothing}}"),
        d=end({"a": "{{ctx.a}}", "b": "{{ctx.b}}", "c": "{{ctx.c}}"}),
    )
    assert play(document).start().output == {"a": 2, "b": 1, "c": None}


def test_an_undefined_value_replaces_the_one_before() -> None:
    document = draw("s>t t>d", s=computed(a=1), t=computed(a="{{ctx.x}}"), d=end("{{ctx.a}}"))
    assert play(document).start().output is None


def test_a_loop_counts_by_it() -> None:
    document = draw(
        "s>l l:loop>add l:done>d",
        s=computed(total=0),
        l=loop([1, 2, 3], result="{{ctx.total}}", outputVariable="sums"),
        add=computed(total="{{ctx.total + item}}"),
        d=end("{{ctx.sums}}"),
    )
    assert play(document).start().output == [1, 3, 6]


def test_conditions_see_what_it_computed() -> None:
    many: Object = {"when": "ctx.n > 1", "handle": "many"}
    document = draw("s>few s:many>most", s=box("set", values={"n": 2}, conditions=[many]))
    assert play(document).start().running == ["most"]


def test_an_expression_that_fails_takes_its_error_handle() -> None:
    run = play(draw("s:error>a", s=computed(a="{{ctx.input.x.y()}}"))).start({"x": 1})
    assert (run.step("s"), run.running) == ("FAILED", ["a"])


def test_values_over_the_limit_of_an_output_fail_the_step() -> None:
    run = play(draw("s", s=computed(a="{{ctx.input}}")))
    run.plan = Plan(compile_definition(run.document), limits=replace(Limits(), output_bytes=10))
    assert run.start("x" * 20).code == "TOO_LARGE"
