"""Calls of a user's code: what it is given, what it returns, prints, fails with and requests."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from tenuto.model.json import JSON
from tenuto.sandbox.outcomes import (
    FailedCall,
    FetchRefused,
    FetchRequest,
    FetchResponse,
    Limits,
    Outcome,
)
from tests.javascript.stage import PATIENT, SHORT, failure, sandbox, value

pytestmark = pytest.mark.asyncio

CTX: JSON = {"input": {"items": [{"id": 7}, {"id": 8}]}}


async def fetch(request: FetchRequest) -> FetchResponse:
    if "allowed.example" not in request.url:
        raise FetchRefused(f"the host of {request.url} is not among allowHosts")
    body = f'{{"method": "{request.method}", "sent": {request.body or "null"}}}'
    headers = (("Content-Type", "application/json"), *request.headers)
    return FetchResponse(status=200, url=request.url, body=body, headers=headers)


async def test_the_examples_of_the_contract_run_unchanged() -> None:
    returned = "return ctx.input.items.map(item => item.id);"
    awaited = "const result = await fetch('https://allowed.example');\nreturn await result.json();"
    async with sandbox() as box:
        assert value(await box.run(returned, ctx=CTX)) == [7, 8]
        assert value(await box.run(awaited, fetch=fetch)) == {"method": "GET", "sent": None}


RESULTS: dict[str, JSON] = {
    "return 1": 1,
    "": None,
    "return undefined": None,
    "return await Promise.resolve([1, null, 'é😀'])": [1, None, "é😀"],
    "return {a: undefined, b: [undefined], d: new Date(0)}": {
        "b": [None],
        "d": "1970-01-01T00:00:00.000Z",
    },
    "return input.a + steps.first.output": 3,
    "const o = {x: 1}; return [o, o]": [{"x": 1}, {"x": 1}],
    "return [ctx.input.items[0], input, steps.first].map((x) => Object.isFrozen(x))": [True] * 3,
    "return new Date().getTimezoneOffset()": 0,
    "return 9007199254740991": 9007199254740991,
    "return 1 // a comment at the end": 1,
}


async def test_the_result_is_json() -> None:
    async with sandbox() as box:
        for code, expected in RESULTS.items():
            outcome = await box.run(
                code, ctx=CTX, input={"a": 1}, steps={"first": {"output": 2}}, limits=PATIENT
            )
            assert value(outcome) == expected, code


_NOT_JSON = "the result is not JSON: "
FAILURES = {
    "return () => 1": ("NOT_JSON", "the result is not JSON: $ is a function"),
    "return {a: [0, 1n]}": (
        "NOT_JSON",
        f"{_NOT_JSON}$.a[1] is a BigInt, which JSON cannot carry: use Number() or String()",
    ),
    "const a = {}; a.b = [a]; return a": (
        "NOT_JSON",
        "the result is not JSON: $.b[0] is a part of itself (a cycle)",
    ),
    "return '\\ud800'": (
        "NOT_JSON",
        "the result is not JSON: it has half a character (a lone surrogate)",
    ),
    "return 'x'.repeat(2000000)": (
        "TOO_LARGE",
        "the result has 2,000,002 bytes, and may have 1,000,000",
    ),
    "let a = 1;\n\n  nothing.there": (
        "JAVASCRIPT_ERROR",
        "ReferenceError: nothing is not defined (line 3, column 3)",
    ),
    "ctx.input = 1": (
        "JAVASCRIPT_ERROR",
        "TypeError: 'input' is read-only (line 1, column 1)",
    ),
    "throw 'no stock'": ("JAVASCRIPT_ERROR", "no stock"),
    "let a = 1;\nlet b = ;": (
        "JAVASCRIPT_SYNTAX",
        "SyntaxError: unexpected token in expression: ';' (line 2, column 9)",
    ),
    "await new Promise(() => {})": (
        "JAVASCRIPT_NEVER_ENDS",
        "the code waits for a promise that nothing can settle",
    ),
    "return 'a\0'": ("JAVASCRIPT_SYNTAX", "SyntaxError: line 1 has NUL, which is no text"),
    "await fetch('https://allowed.example')": (
        "JAVASCRIPT_ERROR",
        "TypeError: fetch is not allowed here: the step names no allowHosts (line 1, column 7)",
    ),
}


async def test_a_failure_says_what_is_wrong_and_where_in_the_users_code() -> None:
    async with sandbox() as box:
        for code, expected in FAILURES.items():
            found = failure(await box.run(code, ctx=CTX, limits=PATIENT))
            assert (found.code, found.message) == expected, code
        thrown = "const f = () => { throw new Error('x'); };\nf();"
        found = failure(await box.run(thrown, limits=PATIENT))
        assert found.details == {
            "name": "Error",
            "message": "x",
            "line": 1,
            "column": 29,
            "stack": "at f (line 1, column 29)\nat the code (line 2, column 1)",
        }


async def test_time_and_memory_are_bounded_and_the_next_call_is_served() -> None:
    async with sandbox() as box:
        late = failure(await box.run("console.log('begun'); for (;;);", limits=SHORT))
        assert (late.code, late.retryable) == ("TIMEOUT", True)
        assert late.message == "the code did not end within 0.3 s"
        hungry = "const a = []; for (;;) a.push('x'.repeat(1e5) + a.length);"
        full = failure(await box.run(hungry, limits=Limits(memory=16 << 20)))
        assert (full.code, full.retryable) == ("MEMORY_EXCEEDED", False)
        assert value(await box.run("return 1", limits=PATIENT)) == 1
        figures = box.figures()
        assert (figures.killed, figures.failures) == (2, {"TIMEOUT": 1, "MEMORY_EXCEEDED": 1})


async def test_console_lines_are_kept_with_their_level() -> None:
    code = "console.log('a', 1, {b: [2]}); console.warn(new Error('c')); console.debug(undefined);"
    async with sandbox() as box:
        outcome = await box.run(code, limits=PATIENT)
        assert [(each.level, each.text) for each in outcome.console] == [
            ("info", 'a 1 {"b":[2]}'),
            ("warning", "Error: c"),
            ("debug", "undefined"),
        ]
        failed = await box.run("console.error('why'); throw 1;", limits=PATIENT)
        assert [(each.level, each.text) for each in failed.console] == [("error", "why")]


async def test_console_lines_are_bounded() -> None:
    limits = replace(PATIENT, console=1000)
    async with sandbox() as box:
        outcome = await box.run(
            "for (let i = 0; i < 1000; i++) console.log('line ' + i); return 1", limits=limits
        )
        assert value(outcome) == 1
        assert sum(len(each.text) for each in outcome.console) < limits.console
        assert len(outcome.console) + outcome.dropped == 1000
        wide = await box.run("console.log('é'.repeat(1e6)); return 1", limits=limits)
        assert sum(len(each.text.encode()) for each in wide.console) <= limits.console


async def test_requests_go_to_the_given_function_several_at_once() -> None:
    here = asyncio.Barrier(3)

    async def together(request: FetchRequest) -> FetchResponse:
        await here.wait()
        return await fetch(request)

    code = """
    const all = await Promise.all([1, 2, 3].map((i) => fetch('https://allowed.example/' + i, {
      method: 'POST', headers: {'X-Number': i}, body: JSON.stringify({i}),
    })));
    const bodies = await Promise.all(all.map((each) => each.json()));
    return [all[0].ok, all[1].status, all[2].headers.get('x-number'), bodies.map((b) => b.sent.i)];
    """
    async with sandbox() as box:
        outcome = await box.run(code, fetch=together, limits=PATIENT)
        assert value(outcome) == [True, 200, "3", [1, 2, 3]]


async def test_a_refused_request_is_an_error_that_the_code_can_catch() -> None:
    code = "try { await fetch('https://other.example') } catch (e) { return [e.name, e.message] }"
    async with sandbox() as box:
        said = "fetch: the host of https://other.example is not among allowHosts"
        assert value(await box.run(code, fetch=fetch, limits=PATIENT)) == ["TypeError", said]


async def test_a_request_that_breaks_tells_the_code_nothing_of_the_service() -> None:
    async def broken(_: FetchRequest) -> FetchResponse:
        raise RuntimeError("a secret of the service")

    code = "return await fetch('https://allowed.example').catch((e) => e.message)"
    async with sandbox() as box:
        assert value(await box.run(code, fetch=broken, limits=PATIENT)) == (
            "fetch: the request has failed"
        )


async def test_requests_are_bounded() -> None:
    limits = replace(PATIENT, fetches=3, fetches_at_once=2)
    at_once = """
    const all = await Promise.allSettled([1, 2, 3].map(() => fetch('https://allowed.example')));
    return all.map((each) => each.reason?.message ?? 'sent');
    """
    in_all = """
    for (let i = 0; i < 3; i++) await fetch('https://allowed.example');
    return await fetch('https://allowed.example').catch((e) => e.message);
    """
    async with sandbox() as box:
        said = ["sent", "sent", "fetch: more than 2 requests at once"]
        assert value(await box.run(at_once, fetch=fetch, limits=limits)) == said
        more = "fetch: more than 3 requests in one call"
        assert value(await box.run(in_all, fetch=fetch, limits=limits)) == more


async def test_a_request_that_is_never_answered_ends_with_the_call() -> None:
    is_cancelled = asyncio.Event()

    async def silent(_: FetchRequest) -> FetchResponse:
        try:
            await asyncio.Event().wait()
        finally:
            is_cancelled.set()
        raise AssertionError

    code = "console.log('asked'); await fetch('https://allowed.example');"
    async with sandbox() as box:
        outcome = await box.run(code, fetch=silent, limits=SHORT)
        assert failure(outcome).code == "TIMEOUT"
        async with asyncio.timeout(20):
            await is_cancelled.wait()


async def test_an_answer_that_nothing_awaits_is_not_seen_by_the_next_call() -> None:
    code = "fetch('https://allowed.example/secret'); return 1"
    async with sandbox(processes=1, of_tenant=1) as box:
        for _ in range(5):
            assert value(await box.run(code, fetch=fetch, limits=PATIENT)) == 1
            assert value(await box.run("return typeof secret", limits=PATIENT)) == "undefined"


async def test_code_is_checked_without_running_it() -> None:
    async with sandbox() as box:
        assert await box.check("return await fetch('x')") == ()
        assert await box.check("for (;;);") == ()
        [problem] = await box.check("let a = 1;\nif (a { return 2 }")
        assert (problem.line, problem.column) == (2, 7)
        [open_ended] = await box.check("if (ctx) {\n  return (1")
        assert (open_ended.line, open_ended.column) == (2, 12)
        assert open_ended.message.endswith("(at the end of the code)")
        [outside] = await box.check("}); for (;;); (async function () {")
        assert outside.message == "the code closes the function that it is the body of"
        assert len(await box.check("import fs from 'fs'")) == 1
        assert len(await box.check("return 1\0")) == 1
        assert box.figures().calls == 0


async def test_the_time_of_a_call_is_measured() -> None:
    async with sandbox() as box:
        outcome = await box.run("return 1", limits=PATIENT)
        assert isinstance(outcome, Outcome)
        assert timedelta() < outcome.took < PATIENT.time
        assert box.figures().seconds > 0


async def test_a_closed_sandbox_fails_calls() -> None:
    async with sandbox() as box:
        running = asyncio.ensure_future(box.run("for (;;);", limits=PATIENT))
        assert value(await box.run("return 1", limits=PATIENT)) == 1
        await box.close()
        assert isinstance(await running, FailedCall)
        assert failure(await box.run("return 1")).code == "PROCESS_DIED"
