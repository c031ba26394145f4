"""javascript nodes end to end: their results, their failures, their requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenuto import Tenuto
from tenuto.built_in.javascript import JavaScriptExecutor, is_allowed
from tenuto.egress.request import Answer, Request
from tenuto.engine.settings import Settings
from tenuto.model.errors import WorkflowFailed
from tenuto.model.graph import JavaScript
from tenuto.model.json import JSON
from tenuto.sandbox.bounds import PoolBounds
from tenuto.sandbox.sandbox import Sandbox
from tenuto.store.memory import MemoryStore
from tenuto.tasks import Facts, Registry
from tenuto.tasks.context import BuiltInFacts
from tests.built_in.stage import StubClient, app, code, executors, flow, result
from tests.kit.turns import turns
from tests.tasks.stage import stage

pytestmark = pytest.mark.asyncio


async def test_the_examples_of_the_seed_run_unchanged() -> None:
    """`javascript`: the code is the body of an async function of `(ctx, input, steps)`; the result
    is JSON; `console` lines are kept per attempt (`GET /instances/{id}/steps/{stepId}/logs`, at
    most 64 KB)."""
    first = "return ctx.input.items.map(item => item.id);"
    second = "const result = await fetch('https://api.example');\nreturn await result.json();"

    async def respond(request: Request) -> Answer:
        return Answer(200, request.url, body=b'{"price": 7}')

    both = flow(
        code(first, "one", outputVariable="ids", transitions={"default": "two"}),
        code(
            second,
            "two",
            outputVariable="two",
            allowHosts=["api.example"],
            transitions={"default": "end"},
        ),
        {"stepId": "end", "type": "END", "outputParameters": "{{[ctx.ids, ctx.two]}}"},
    )
    async with app(client=StubClient(respond)) as on:
        assert await result(on, both, {"items": [{"id": 1}, {"id": 2}]}) == [[1, 2], {"price": 7}]


async def test_code_sees_the_context_the_steps_and_its_input_and_can_change_none() -> None:
    document = flow(
        code("return {n: 1}", "a", outputVariable="made", transitions={"default": "b"}),
        code(
            "'use strict'; const kept = [];"
            "for (const root of [ctx, steps, input]) {"
            "  try { root.x = 1; kept.push(root.x) } catch (e) { kept.push(e.name) } }"
            "return [ctx.made.n, steps.a.status, steps.a.output, input, kept]",
            "b",
            input={"who": "{{ctx.input.who}}"},
        ),
    )
    async with app() as on:
        frozen: list[JSON] = ["TypeError"] * 3
        assert await result(on, document, {"who": "ann"}) == [
            1,
            "COMPLETED",
            {"n": 1},
            {"who": "ann"},
            frozen,
        ]


async def test_lines_of_the_console_are_those_of_the_attempt() -> None:
    """Each with its level; a text of several lines is several."""
    text = "console.log('one', {a: 1}); console.error('two\\nthree'); return 1"
    async with app() as on:
        await on.deploy(flow(code(text)))
        started = await on.start("w")
        await started.result(30)
        await on.engine.effects.task_logs.written()
        logs = await started.logs("a")
        assert [(each["level"], each["text"]) for each in logs] == [
            ("info", 'one {"a":1}'),
            ("error", "two"),
            ("error", "three"),
        ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("throw new Error('no stock')", "JAVASCRIPT_ERROR"),
        ("return () => 1", "NOT_JSON"),
        ("const a = {}; a.a = a; return a", "NOT_JSON"),
        ("return 'x'.repeat(2000000)", "TOO_LARGE"),
        ("await new Promise(() => 0)", "JAVASCRIPT_NEVER_ENDS"),
        ("const a = []; for (;;) a.push(new Array(100000).fill(1))", "MEMORY_EXCEEDED"),
        ("return await fetch('https://api.example')", "JAVASCRIPT_ERROR"),
    ],
)
async def test_a_failed_call_is_a_failed_attempt(text: str, expected: str) -> None:
    async with app() as on:
        await on.deploy(flow(code(text, memoryLimit=16)))
        with pytest.raises(WorkflowFailed) as failed:
            await (await on.start("w")).result(30)
        assert failed.value.error.code == expected


async def test_a_failure_goes_to_the_error_handle_or_fails_the_workflow() -> None:
    text = "if (ctx.input.bad) throw new RangeError('too far'); return 1"
    handled = flow(
        code(text, outputVariable="a", transitions={"error": "b"}),
        code("return ctx.a.error.code + steps.a.status", "b"),
    )
    async with app() as on:
        assert await result(on, handled, {"bad": True}) == "JAVASCRIPT_ERRORFAILED"
        await on.deploy(flow(code(text, errorHandling="fail_workflow")))
        with pytest.raises(WorkflowFailed) as failed:
            await (await on.start("w", {"bad": True})).result(30)
        error = failed.value.error
        assert error.message.startswith("RangeError: too far (line 1, column ")


async def test_an_endless_loop_ends_with_its_time_and_is_tried_again() -> None:
    text = "if (steps.a.attempts === 1) for (;;); return steps.a.attempts"
    again: JSON = {"maxAttempts": 2, "initialDelay": "PT0.001S"}
    async with app() as on:
        document = flow(code(text, timeout="PT0.3S") | {"retry": again})
        await on.deploy(document)
        started = await on.start("w")
        assert await started.result(30) == 2
        log: Any = await started.history()
        failures = [
            each["payload"]["error"]["code"] for each in log if each["eventType"] == "NODE_FAILED"
        ]
        assert failures == ["TIMEOUT"]


async def test_requests_are_sent_for_the_tenant_to_the_hosts_that_are_named() -> None:
    """The JS sandbox has `ctx`, `console`, and `fetch` only where an egress allow-list names the
    host."""
    seen: list[Request] = []

    async def respond(request: Request) -> Answer:
        seen.append(request)
        return Answer(201, request.url, (("x-a", "b"),), b"made", "Created")

    text = (
        "const r = await fetch('https://api.example:8443/x', "
        "{method: 'POST', headers: {a: 'b'}, body: '{}'});"
        "let refused;"
        "try { await fetch('https://other.example/') } catch (e) { refused = e.message }"
        "return [r.status, r.ok, r.headers.get('x-a'), await r.text(), refused]"
    )
    client = StubClient(respond)
    async with app(client=client) as on:
        tenant = on.workspace("acme", "ann")
        await tenant.deploy(flow(code(text, allowHosts=["*.example", "api.example:8443"])))
        await tenant.deploy(flow(code(text, allowHosts=["api.example:8443"])))
        found = await (await tenant.start("w")).result(30)
    assert isinstance(found, list)
    assert found[:4] == [201, True, "b", "made"]
    assert "other.example may not be called: `allowHosts` does not name it" in str(found[4])
    assert [(each.method, each.headers, each.body) for each in seen] == [
        ("POST", (("a", "b"),), b"{}")
    ]
    assert client.tenants == ["acme", "acme"]


@pytest.mark.parametrize(
    ("host", "port", "allowed", "fits"),
    [
        ("a.org", 443, ("a.org",), True),
        ("A.ORG.", 8080, ("a.org",), True),
        ("b.a.org", 443, ("a.org",), False),
        ("b.a.org", 443, ("*.a.org",), True),
        ("a.org", 443, ("*.a.org",), False),
        ("xa.org", 443, ("*.a.org", "a.org:80"), False),
        ("a.org", 80, ("a.org:80",), True),
        ("::1", 80, ("[::1]:80",), True),
        ("", 80, (), False),
    ],
)
async def test_a_list_of_hosts_names_each_or_all_below_one(
    host: str, port: int, allowed: tuple[str, ...], fits: bool
) -> None:
    assert is_allowed(host, port, allowed) == fits


async def test_calls_that_wait_for_a_process_are_explained_and_their_time_does_not_count() -> None:
    holding = asyncio.Event()

    async def respond(request: Request) -> Answer:
        await holding.wait()
        return Answer(200, request.url)

    text = "await fetch('https://api.example/'); return 1"
    async with app(processes=1, client=StubClient(respond)) as on:
        await on.deploy(flow(code(text, allowHosts=["api.example"])))
        await on.deploy({**flow(code("return 2", timeout="PT0.5S")), "id": "other"})
        first = await on.start("w")
        executor = on.engine.executors[JavaScript]
        assert isinstance(executor, JavaScriptExecutor)
        while executor.sandbox.figures().busy == 0:
            await turns(1)
        second = await on.start("other")
        while executor.sandbox.figures().waiting == 0:
            await turns(1)
        explained: Any = await second.explain()
        [cause] = explained["causes"]
        assert cause["kind"] == "slot"
        assert cause["message"] == "attempt 1 waits for a process of the sandbox"
        holding.set()
        assert [await first.result(30), await second.result(30)] == [1, 2]


async def test_a_cancelled_instance_kills_the_process_of_its_code() -> None:
    async with app() as on:
        await on.deploy(flow(code("for (;;);")))
        started = await on.start("w")
        executor: Any = on.engine.executors[JavaScript]
        while executor.sandbox.figures().busy == 0:
            await turns(1)
        await started.cancel("enough")
        with pytest.raises(Exception, match="enough"):
            await started.result(30)
        assert executor.sandbox.figures().killed == 1


async def test_code_that_runs_when_the_engine_stops_is_done_by_the_next_one() -> None:
    settings = Settings(stop_grace=0.01)
    store = MemoryStore()
    async with Tenuto(store, settings=settings, executors=executors()) as on:
        slow = "if (steps.a.attempts === 1) for (;;); return steps.a.attempts"
        await on.deploy(flow(code(slow)))
        started = await on.start("w")
        executor: Any = on.engine.executors[JavaScript]
        while executor.sandbox.figures().busy == 0:
            await turns(1)
        pids = executor.sandbox.pids
    assert pids
    assert executor.sandbox.pids == ()
    async with Tenuto(store, settings=settings, executors=executors()) as on:
        again = await on.instance(started.id)
        assert await again.result(30) == 2


async def test_where_no_sandbox_can_be_made_the_attempts_fail() -> None:
    def broken(_: PoolBounds) -> Sandbox:
        raise ImportError("no sandbox here")

    executor = JavaScriptExecutor(broken, output_limit=1_000_000)
    facts = BuiltInFacts(tenant="a", config=JavaScript(code="return 1"), scope=dict.fromkeys)
    async with stage(Registry(), executors={JavaScript: executor}) as on:
        on.start("@javascript", node="n", facts=Facts(tenant="a", built_in=facts))
        assert "no sandbox here" in (await on.failure()).message
