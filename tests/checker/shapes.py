"""Correct runs, one for each thing that a workflow can do."""

from __future__ import annotations

from collections.abc import Callable

from tests.checker.history import BEGIN, ID, Fields, Log, box, child_at, graph, log, record, task

RETRY = {"maxAttempts": 3, "initialDelay": 1000, "multiplier": 2, "maxDelay": 1500}


def linear() -> Fields:
    document = graph(task("a", outputVariable="x"), task("b"), edges="a>b")
    history = (
        log().started({"n": 1}).dispatched("a").after(5).completed("a", 7, variable="x")
        .dispatched("b").after(5).completed("b", {"y": 2}).turned("COMPLETED")
    )  # fmt: skip
    steps = {
        "a": {"status": "COMPLETED", "output": 7},
        "b": {"status": "COMPLETED", "output": {"y": 2}},
    }
    return record(
        document,
        history,
        instance={
            "row": {
                "status": "COMPLETED",
                "output": {"y": 2},
                "definitionId": "d",
                "definitionVersion": 1,
                "version": 7,
                "currentSteps": [],
                "deadline": None,
                "key": "k",
            },
            "state": {"input": {"n": 1}, "variables": {"x": 7}, "steps": steps},
        },
        effects=[
            {"key": f"{ID}:{node}", "instance": ID, "node": node, "attempt": 1}
            | {"at": at, "outcome": "completed", "output": output}
            for node, at, output in (("a", BEGIN, 7), ("b", BEGIN + 5, {"y": 2}))
        ],
        client=[
            {"op": "start", "outcome": "ok", "instance": ID, "key": "k", "input": {"n": 1}},
            {"op": "start", "outcome": "ok", "instance": ID, "key": "k", "input": {"n": 1}},
        ],
        commits=[
            {"gseq": 1, "instance": ID, "first": 1, "last": 3},
            {"gseq": 2, "instance": ID, "first": 4, "last": 5},
            {"gseq": 3, "instance": ID, "first": 6, "last": 7},
        ],
        faults=[{"kind": "crash"}],
        quotas={"COMPLETED": 1, "fault crash": 1, "start ok": 1},
    )


def linear_in_steps_form() -> Fields:
    steps = [
        {"stepId": "a", "type": "TASK", "taskId": "work", "transitions": {"default": ["b"]}},
        {"stepId": "b", "type": "TASK", "taskId": "work"},
    ]
    history = (
        log().started().dispatched("a").completed("a").dispatched("b").completed("b", 2)
        .turned("COMPLETED")
    )  # fmt: skip
    return record({"id": "d", "steps": steps}, history, instance={"row": {"output": 2}})


def by_dependencies() -> Fields:
    steps = [
        {"stepId": "a", "type": "TASK", "taskId": "work", "transitions": {"error": "e"}},
        {"stepId": "b", "type": "TASK", "taskId": "work"},
        {"stepId": "c", "type": "TASK", "taskId": "work", "dependsOn": ["a", "b"]},
        {"stepId": "e", "type": "TASK", "taskId": "work"},
    ]
    history = (
        log().started().dispatched("a", "b").completed("b").row(
            "NODE_FAILED", "a", then="route", error={"code": "X", "retryable": False}
        )
        .row("NODE_COMPLETED", "a", status="error", handles=["error"],
             output={"error": {"code": "X"}})
        .skipped("c").dispatched("e").completed("e").turned("COMPLETED")
    )  # fmt: skip
    return record({"id": "d", "steps": steps}, history)


def diamond() -> Fields:
    document = graph(
        box("start", "s"), task("a"), task("b"), task("j"),
        box("end", "e", outputParameters={"r": "{{ctx.r}}"}), edges="s>a s>b a>j b>j j>e",
    )  # fmt: skip
    history = (
        log().started().completed("s").dispatched("a", "b").after(3).completed("b").completed("a")
        .dispatched("j").completed("j").completed("e", {"r": 1}).turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, instance={"row": {"output": {"r": 1}}})


def first_of_two() -> Fields:
    document = graph(
        task("s"), task("a"), task("b"), task("j", joinMode="any"), edges="s>a s>b a>j b>j"
    )
    history = (
        log().started().dispatched("s").completed("s").dispatched("a", "b").completed("b")
        .dispatched("j").completed("j", 1).after(9).completed("a").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, instance={"row": {"output": 1}})


def first_wins() -> Fields:
    """`cancelRest`: `a` is told and ends within its grace, `c` is never ordered, `d` is dead."""
    document = graph(
        task("s"), task("a"), task("b"), task("c"), task("d"),
        task("j", joinMode="any", cancelRest=True),
        edges="s>a s>b a>c c>j b>j c>d",
    )  # fmt: skip
    history = (
        log().started().dispatched("s").completed("s").dispatched("a", "b").completed("b")
        .dispatched("j").told_to_stop("a").skipped("c", reason="cancelled").skipped("d")
        .after(500).completed("a", 5).completed("j").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history)


def quorum_whose_loser_does_not_obey() -> Fields:
    document = graph(
        task("a"), task("b"), task("c"),
        task("j", joinMode={"atLeast": 2}, cancelRest=True), edges="a>j b>j c>j",
    )  # fmt: skip
    history = (
        log().started().dispatched("a", "b", "c").completed("a").completed("c").dispatched("j")
        .told_to_stop("b").completed("j").after(10_000).called_off("b").turned("COMPLETED")
    )  # fmt: skip
    effects = [
        {"key": f"{ID}:{node}", "instance": ID, "node": node, "attempt": 1, "outcome": outcome}
        for node, outcome in zip(
            "abcj", ("completed", "running", "completed", "completed"), strict=True
        )
    ]
    return record(document, history, effects=effects)


def loser_waits_for_its_retry() -> Fields:
    document = graph(
        task("a"), task("b", retry=RETRY), task("j", joinMode="any", cancelRest=True),
        edges="a>j b>j",
    )  # fmt: skip
    history = (
        log().started().dispatched("a", "b").failed("b", "NET", "retry").retry("b", 2, 1000)
        .completed("a").called_off("b").dispatched("j").completed("j").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history)


def one_calls_another_off() -> Fields:
    document = graph(
        task("a", cancels=["w"]), box("eventWait", "w", eventPattern="x.y"), task("t"), edges="w>t"
    )
    history = (
        log().started().dispatched("a").waits("w", "x.y").completed("a").called_off("w")
        .skipped("t").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, events=[])


def conditional() -> Fields:
    branches = [
        {"id": "big", "when": "ctx.input.n > 5"},
        {"id": "small", "when": "ctx.input.n > 1"},
    ]
    document = graph(
        box("condition", "c", branches=branches), task("a"), task("b"), task("j"), task("o"),
        edges="c:big>a c:small>b a>j b>j c:else>o",
    )  # fmt: skip
    history = (
        log().started({"n": 3}).completed("c", handles=["small"]).skipped("a", "o")
        .dispatched("b").completed("b").dispatched("j").completed("j").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history)


def conditions_after_a_task() -> Fields:
    routes = [{"when": "ctx.x.value > 5", "handle": "big"}]
    document = graph(
        task("a", conditions=routes, outputVariable="x"), task("b"), task("c"), edges="a:big>b a>c"
    )
    history = (
        log().started().dispatched("a").completed("a", {"value": 9}, variable="x", handles=["big"])
        .dispatched("b").skipped("c").completed("b").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history)


def passed_over() -> Fields:
    document = graph(task("a", when="ctx.input.go === true"), task("b"), edges="a>b")
    history = (
        log().started({"go": False}).skipped("a", reason="when").dispatched("b").completed("b", 1)
        .turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, instance={"row": {"output": 1}})


def error_path() -> Fields:
    document = graph(
        task("a", retry=RETRY, onError=[{"codes": ["GONE"], "handle": "gone"}]),
        task("b"), task("e"), task("g"), edges="a>b a:error>e a:gone>g",
    )  # fmt: skip
    history = (
        log().started().dispatched("a").failed("a", "NET", "retry").retry("a", 2, 1100)
        .after(1100).dispatched("a", attempt=2).failed("a", "NET", "retry", attempt=2)
        .retry("a", 3, 1500).after(1600).dispatched("a", attempt=3)
        .routed("a", "NET", attempt=3).skipped("b", "g").dispatched("e").completed("e")
        .turned("COMPLETED")
    )  # fmt: skip
    steps = {
        "a": {"status": "FAILED", "output": history.rows[10]["payload"]["output"]},
        "b": {"status": "SKIPPED", "output": None},
        "g": {"status": "SKIPPED", "output": None},
        "e": {"status": "COMPLETED", "output": None},
    }
    return record(
        document, history, instance={"state": {"input": {}, "variables": {}, "steps": steps}}
    )


def unhandled_failure() -> Fields:
    document = graph(
        task("a", retry={**RETRY, "maxAttempts": 1}), task("b"), box("delay", "z", duration="PT1M"),
        task("c"), edges="b>c",
    )  # fmt: skip
    history = (
        log().started().dispatched("a", "b").sleeps("z", 60_000).failed("a", "OOPS", "fail")
        .told_to_stop("b").called_off("z").after(400).failed("b", "CANCELLED", "cancel")
        .called_off("b").turned("FAILED")
    )  # fmt: skip
    letters = [{"id": "l", "kind": "task-failed", "node": "a", "attempt": 1}]
    return record(document, history, instance={"deadLetters": letters})


def tried_again_by_hand() -> Fields:
    document = graph(task("a", retry={**RETRY, "maxAttempts": 1}), edges="")
    history = (
        log().started().dispatched("a").failed("a", "OOPS", "fail").turned("FAILED")
        .row("RETRY_REQUESTED", by="ann").turned("RUNNING").dispatched("a", attempt=2)
        .completed("a", attempt=2).turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, instance={"deadLetters": []})


def lost_and_found() -> Fields:
    document = graph(task("a", retry=RETRY), edges="")
    history = log().started().dispatched("a")
    for attempt in (1, 2, 3, 4):
        history.failed("a", "LOST", "retry", attempt=attempt).dispatched("a", attempt=attempt + 1)
    history.failed("a", "STOPPED", "retry", attempt=5).dispatched("a", attempt=6)
    history.completed("a", attempt=6).turned("COMPLETED")
    return record(document, history)


def poison() -> Fields:
    document = graph(task("a", retry=RETRY), edges="")
    history = log().started().dispatched("a")
    for attempt in (1, 2, 3, 4):
        history.failed("a", "LOST", "retry", attempt=attempt).dispatched("a", attempt=attempt + 1)
    history.failed("a", "POISON", "fail", attempt=5).row("SYSTEM_SET", values={"poison": ["a"]})
    history.turned("FAILED")
    letters = [{"id": "l", "kind": "poison", "node": "a", "attempt": 5}]
    return record(document, history, instance={"deadLetters": letters})


def delay() -> Fields:
    document = graph(box("delay", "z", duration="PT1M"), task("b"), edges="z>b")
    history = (
        log().started().sleeps("z", 60_000).after(60_000).woke("z").completed("z").dispatched("b")
        .completed("b").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history)


def held() -> Fields:
    """A task that asks for a delay: it completes after that."""
    document = graph(task("a"), task("b"), edges="a>b")
    history = (
        log().started().dispatched("a").after(5).holds("a", 7, 60_000).after(60_000).woke("a")
        .completed("a", 7).dispatched("b").completed("b").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history)


def asleep() -> Fields:
    document = graph(box("delay", "z", duration="PT1M"), edges="")
    timers = [{"kind": "delay", "node": "z", "due": BEGIN + 60_000}]
    return record(document, log().started().sleeps("z", 60_000), instance={"timers": timers})


def promised() -> Fields:
    """An instance and a step that took longer than they should."""
    sla = {"warnAfter": "PT1S", "breachAfter": "PT5S"}
    document = graph(task("a", sla=sla), edges="", options={"sla": sla})
    due = {"sla-warning": BEGIN + 1_000, "sla-breached": BEGIN + 5_000}
    moments: Fields = {"kind": "sla", "warnAt": due["sla-warning"], "breachAt": due["sla-breached"]}
    history = log().started().row("TIMER_SET", **moments).dispatched("a")
    history.row("TIMER_SET", "a", **moments)
    for kind, wait in (("sla-warning", 1_000), ("sla-breached", 4_000)):
        history.after(wait).row("TIMER_FIRED", kind=kind, due=due[kind])
        history.row("TIMER_FIRED", "a", kind=kind, due=due[kind])
    return record(document, history.completed("a").turned("COMPLETED"))


def promising() -> Fields:
    """Nothing of an SLA has come yet."""
    document = graph(box("delay", "z", duration="PT1H", sla={"breachAfter": "PT1M"}), edges="")
    history = log().started().sleeps("z", 3_600_000)
    history.row("TIMER_SET", "z", kind="sla", breachAt=BEGIN + 60_000)
    timers = [
        {"kind": "delay", "node": "z", "due": BEGIN + 3_600_000},
        {"kind": "sla-breach", "node": "z", "due": BEGIN + 60_000},
    ]
    return record(document, history, instance={"timers": timers})


def office_nap() -> Fields:
    """A delay in working time, which is the first half of each hour."""
    document = graph(box("delay", "z", duration="PT40M", calendar="halves"), task("b"), edges="z>b")
    # 43 minutes and 20 seconds are left until the next hour, of which 13 minutes 20 are worked.
    length = 13 * 60_000 + 20_000 + 30 * 60_000 + 26 * 60_000 + 40_000
    named = [{"id": "halves", "version": "1"}]
    history = log().started().row("TIMER_SET", "z", due=BEGIN + length, calendars=named)
    history.after(length).woke("z").completed("z").dispatched("b").completed("b")
    return record(document, history.turned("COMPLETED"))


def _wait(**config: object) -> Fields:
    condition = "event.payload.k === workflow.input.k"
    return box("eventWait", "w", eventPattern="pay.*", eventCondition=condition, **config)


def event(id: str, at: int, **more: object) -> Fields:
    return {"id": id, "pattern": "pay.ok", "payload": {"k": 1}, "receivedAt": at, **more}


def event_wait() -> Fields:
    document = graph(_wait(eventTimeout={"duration": "PT1M"}), task("b"), edges="w>b w:timeout>b")
    history = (
        log().started({"k": 1}).waits("w", "pay.*", 60_000).turned("WAITING_FOR_EVENT").after(50)
        .got("w", "e1").completed("w").dispatched("b").turned("RUNNING").completed("b")
        .turned("COMPLETED")
    )  # fmt: skip
    events = [event("e0", BEGIN - 5), event("e1", BEGIN + 50), event("e2", BEGIN, pattern="pay")]
    asked = {"op": "publish", "outcome": "ok", "event": "e1", "payload": {"k": 1}}
    started = {"op": "start", "outcome": "unknown"}
    return record(document, history, events=events, client=[asked, started])


def wait_timeout() -> Fields:
    document = graph(_wait(eventTimeout={"duration": "PT1M"}), task("b"), edges="w:timeout>b")
    history = (
        log().started({"k": 1}).waits("w", "pay.*", 60_000).turned("WAITING_FOR_EVENT")
        .after(60_000).timed_out("w").completed("w", handles=["timeout"]).dispatched("b")
        .turned("RUNNING").completed("b").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, events=[event("e0", BEGIN - 5)])


def decided() -> Fields:
    """Reminded once, escalated, and approved by somebody from the board."""
    board = {"users": ["zoe"], "roles": ["board"]}
    ask = box("approval", "p", assignees={"users": ["ann"]}, deadline="PT1M",
        reminders=["PT20S", "PT50S"], escalate={"after": "PT30S", "assignees": board})  # fmt: skip
    document = graph(ask, task("b"), task("n"), edges="p:approved>b p:rejected>n")
    said = {"decision": "approved", "by": "eve", "at": "then", "form": None}
    history = (
        log().started()
        .asks("p", {"users": ["ann"]}, 60_000, remind=20_000, escalate=30_000, to=board)
        .turned("WAITING_FOR_EVENT").after(20_000).reminded("p", 1, 30_000, {"users": ["ann"]})
        .after(10_000).escalated("p", board).after(10).row("WAIT_RESOLVED", "p", outcome="decision")
        .completed("p", said, handles=["approved"]).skipped("n").dispatched("b").turned("RUNNING")
        .completed("b").turned("COMPLETED")
    )  # fmt: skip
    place = {"instance": ID, "node": "p", "iteration": "", "decision": "approved"}
    client = [
        {"op": "start", "outcome": "ok", "instance": ID, "input": {}},
        {"op": "decide", "outcome": "refused", **place, "by": "bob", "roles": []},
        {"op": "decide", "outcome": "ok", **place, "by": "eve", "roles": ["staff", "board"]},
    ]
    return record(document, history, client=client)


def asking() -> Fields:
    ask = box("approval", "p", assignees={"users": ["ann"]}, reminders=["PT20S"])
    history = log().started().asks("p", {"users": ["ann"]}, remind=20_000)
    history.turned("WAITING_FOR_EVENT")
    timers = [{"kind": "reminder", "node": "p", "due": BEGIN + 20_000}]
    return record(graph(ask, edges=""), history, instance={"timers": timers})


def two_waits_look_back() -> Fields:
    document = graph(_wait(), {**_wait(), "id": "v"}, edges="w>v")
    history = (
        log().started({"k": 1}).after(10).waits("w", "pay.*").turned("WAITING_FOR_EVENT")
        .got("w", "e1").completed("w").waits("v", "pay.*").got("v", "e2").completed("v")
        .turned("RUNNING").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, events=[event("e1", BEGIN + 1), event("e2", BEGIN + 2)])


_ARMS = [
    {"id": "ok", "eventPattern": "pay.ok", "eventCondition": "event.payload.k > 0"},
    {"id": "any", "eventPattern": "pay.*"},
]
_SAID = [{"id": each["id"], "pattern": each["eventPattern"]} for each in _ARMS]


def first_arm() -> Fields:
    """Of two arms that an event fits the first listed takes it."""
    document = graph(box("eventWait", "w", arms=_ARMS), task("b"), edges="w:ok>b")
    history = (
        log().started({"k": 1}).row("WAIT_OPENED", "w", pattern="", since=BEGIN, arms=_SAID)
        .turned("WAITING_FOR_EVENT").after(5)
        .row("WAIT_RESOLVED", "w", outcome="event", eventId="e1", arm="ok")
        .completed("w", handles=["ok"]).dispatched("b").turned("RUNNING").completed("b")
        .turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, events=[event("e1", BEGIN + 5)])


_TRIGGER = {
    "eventPattern": "pay.*",
    "eventCondition": "event.payload.k === workflow.input.k",
    "reason": "gone",
}


def cancelled_by_event() -> Fields:
    document = graph(box("eventWait", "w", eventPattern="never"), edges="")
    asked: Fields = {"by": "system", "source": "EVENT", "reason": "gone", "eventId": "e1"}
    history = (
        log().started({"k": 1}).waits("w", "never").turned("WAITING_FOR_EVENT").after(5)
        .row("CANCEL_REQUESTED", shouldCompensate=True, **asked).called_off("w")
        .turned("RUNNING").turned("CANCELLED")
    )  # fmt: skip
    cancelling = {**document, "cancellationTriggers": [_TRIGGER]}
    return record(cancelling, history, events=[event("e0", BEGIN - 9), event("e1", BEGIN + 5)])


def listening() -> Fields:
    """It waits, and an event of another one has come."""
    document = graph(box("eventWait", "w", eventPattern="never"), edges="")
    history = log().started({"k": 1}).waits("w", "never").turned("WAITING_FOR_EVENT")
    open_ones = [{"node": "w", "iteration": ""}, {"node": "", "iteration": ""}]
    return record(
        {**document, "cancellationTriggers": [_TRIGGER]},
        history,
        events=[event("e1", BEGIN + 5, payload={"k": 2})],
        instance={"waits": open_ones},
    )


def telling() -> Fields:
    document = graph(box("emit", "e", pattern="pay.ok"), task("b"), edges="e>b")
    output = {"eventId": f"{ID}:e", "pattern": "pay.ok"}
    history = (
        log().started({"k": 1}).completed("e", output=output).dispatched("b").completed("b")
        .turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, events=[event(f"{ID}:e", BEGIN)])


def counting() -> Fields:
    """Two events are needed, and both come."""
    document = graph(box("eventWait", "w", eventPattern="pay.*", count=2), task("b"), edges="w>b")
    shown = [{"eventId": "e1"}, {"eventId": "e2"}]
    history = (
        log().started({"k": 1}).waits("w", "pay.*").turned("WAITING_FOR_EVENT").after(5)
        .got("w", "e1", remaining=1, event=shown[0]).after(5).got("w", "e2")
        .completed("w", output={"events": shown}).turned("RUNNING").dispatched("b")
        .completed("b").turned("COMPLETED")
    )  # fmt: skip
    events = [event("e1", BEGIN + 5), event("e2", BEGIN + 10)]
    return record(document, history, events=events)


def computing() -> Fields:
    document = graph(box("set", "s", values={"n": "{{ctx.input.k}}"}), task("b"), edges="s>b")
    history = (
        log().started({"k": 1}).completed("s", output={"n": 1}, variables={"n": 1})
        .dispatched("b").completed("b").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history)


def waiting() -> Fields:
    document = graph(_wait(eventTimeout={"duration": "PT1M"}), edges="w:timeout>b")
    document["nodes"].append(task("b"))
    history = log().started({"k": 1}).waits("w", "pay.*", 60_000).turned("WAITING_FOR_EVENT")
    timers = [{"kind": "wait-timeout", "node": "w", "due": BEGIN + 60_000}]
    return record(
        document,
        history,
        events=[event("e0", BEGIN + 5, payload={"k": 2})],
        instance={"waits": [{"node": "w", "iteration": ""}], "timers": timers},
    )


def paused_and_resumed() -> Fields:
    document = graph(task("a"), task("b"), edges="a>b")
    history = (
        log().started().dispatched("a").pause_asked(until=BEGIN + 500).turned("PAUSED").after(9)
        .completed("a").after(491).resume_asked("system").turned("RUNNING").dispatched("b")
        .completed("b").turned("COMPLETED")
    )  # fmt: skip
    asked = [{"op": "pause", "outcome": "ok", "instance": ID}]
    start = [{"op": "start", "outcome": "ok", "instance": ID}]
    return record(document, history, client=start + asked)


def cancelled() -> Fields:
    document = graph(task("a"), task("b"), edges="a>b")
    history = (
        log().started().dispatched("a").after(20).cancel_asked().told_to_stop("a").after(10_000)
        .called_off("a").skipped("b", reason="cancelled").turned("CANCELLED")
    )  # fmt: skip
    asked = [{"op": "cancel", "outcome": "ok", "instance": ID}]
    start = [{"op": "start", "outcome": "ok", "instance": ID}]
    return record(document, history, client=start + asked)


def deadline_passed() -> Fields:
    document = graph(_wait(), edges="", options={"timeout": "PT1H"})
    history = (
        log().started({"k": 1}).waits("w", "pay.*").turned("WAITING_FOR_EVENT").after(3_600_000)
        .cancel_asked("TIMEOUT").called_off("w").turned("CANCELLED")
    )  # fmt: skip
    return record(document, history)


def terminated() -> Fields:
    document = graph(
        task("a"), box("terminate", "t", status="COMPLETED", output=4), task("b"), edges="a>t"
    )
    history = (
        log().started().dispatched("a", "b").completed("a").completed("t", 4).told_to_stop("b")
        .after(30).completed("b").turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, instance={"row": {"output": 4}})


def two_ends() -> Fields:
    document = graph(task("a"), task("b"), box("end", "x"), box("end", "y"), edges="a>x b>y")
    history = (
        log().started().dispatched("a", "b").completed("b").completed("y", {"n": 1, "m": 1})
        .completed("a").completed("x", {"n": 2}).turned("COMPLETED")
    )  # fmt: skip
    return record(document, history, instance={"row": {"output": {"n": 2, "m": 1}}})


def _with_children(run: Fields, *children: tuple[str, Log, Fields]) -> Fields:
    """A run of a parent and of the instances that it started; each runs a task `x`."""
    for id, history, row in children:
        stored: Fields = {"waits": [], "timers": [], "mail": [], "deadLetters": [], "row": row}
        document = graph(task("x", retry={"maxAttempts": 1}), edges="")
        run["instances"].append({"id": id, "document": document, "history": history.rows, **stored})
    return run


def _child(attempt: int = 1) -> Log:
    started = log().started()
    parent = {"id": ID, "node": "c", "attempt": attempt, "rootId": ID, "depth": 1}
    started.rows[0]["payload"]["parent"] = parent
    return started.dispatched("x")


def parent_and_child() -> Fields:
    """The first child fails, the second one's output is the step's."""
    retry = {"maxAttempts": 2, "initialDelay": 1000}
    document = graph(box("subWorkflow", "c", workflowId="d", retry=retry), task("b"), edges="c>b")
    first, second = child_at(BEGIN), child_at(BEGIN + 1_005, 2)
    history = (
        log().started().dispatched("c").child("c").after(5).child_ended("c", first, "FAILED")
        .failed("c", "CHILD_FAILED", "retry").retry("c", 2, 1_000).after(1_000)
        .dispatched("c", attempt=2).child("c", 2).after(5)
        .child_ended("c", second, "COMPLETED", 2).completed("c", 7, attempt=2)
        .dispatched("b").completed("b").turned("COMPLETED")
    )  # fmt: skip
    failed = _child().failed("x").turned("FAILED")
    completed = _child(2).completed("x", 7).turned("COMPLETED")
    dead = {"status": "FAILED", "output": None}
    run = _with_children(
        record(document, history),
        (first, failed, dead),
        (second, completed, {"status": "COMPLETED", "output": 7}),
    )
    run["instances"][1]["deadLetters"] = [{"id": "1", "kind": "task-failed", "node": "x"}]
    return run


def child_called_off() -> Fields:
    """The parent is cancelled, and its child is told."""
    document = graph(box("subWorkflow", "c", workflowId="d"), edges="")
    history = (
        log().started().dispatched("c").child("c").after(5).cancel_asked().called_off("c")
        .turned("CANCELLED")
    )  # fmt: skip
    told = _child().after(7).cancel_asked("PARENT").told_to_stop("x").after(2_000)
    told.called_off("x").turned("CANCELLED")
    row = {"status": "CANCELLED", "output": None}
    return _with_children(record(document, history), (child_at(BEGIN), told, row))


def _rerunnable() -> Fields:
    once = {"maxAttempts": 1}
    return graph(
        task("a", outputVariable="x"), task("k", when="ctx.input.n > 5"), task("r", retry=once),
        task("c"), task("b", retry=once), edges="a>c c>b k>b r:error>b",
    )  # fmt: skip


def rerun_from_a_step() -> Fields:
    """What had ended when `b` failed is copied, and `b` runs again."""
    earlier = (
        log().started({"n": 1}).dispatched("a").skipped("k", reason="when").dispatched("r")
        .completed("a", 7, variable="x").dispatched("c").routed("r", "NET").completed("c", 8)
        .dispatched("b").failed("b").turned("FAILED")
    )  # fmt: skip
    history = (
        log().started({"n": 1}).skipped("k", reason="when").completed("a", 7, variable="x")
        .routed("r", "NET").completed("c", 8).dispatched("b").completed("b").turned("COMPLETED")
    )  # fmt: skip
    # Of a handled failure the second row is copied, which has all that follows from it.
    rows = history.rows
    rows[:] = [row for row in rows if row["eventType"] != "NODE_FAILED"]
    for seq, row in enumerate(rows, start=1):
        row["seq"] = seq
    rows[0]["payload"]["rerunOf"] = "i-0"
    for row in rows[2:6]:
        row["payload"]["reusedFrom"] = "i-0"
    run = record(
        _rerunnable(),
        history,
        client=[
            {"op": "start", "outcome": "ok", "instance": ID, "input": {"n": 1}},
            {"op": "rerun", "outcome": "ok", "instance": ID, "of": "i-0", "kept": ["a", "c", "r"]},
            {"op": "start", "outcome": "ok", "instance": "i-0"},
        ],
    )
    stored: Fields = {"waits": [], "timers": [], "mail": []}
    stored["deadLetters"] = [{"id": "l", "kind": "task-failed", "node": "b", "attempt": 1}]
    run["instances"].append(
        {"id": "i-0", "document": _rerunnable(), "history": earlier.rows, **stored}
    )
    return run


SEEN = {"item": "{{ctx.item}}", "v": "{{ctx.v}}"}


def one_after_the_other() -> Fields:
    """What an iteration writes is seen by the next one, and by nobody afterwards."""
    document = graph(
        box("loop", "l", source="{{ctx.input.items}}", outputVariable="all", timeout=60_000),
        task("a", input=SEEN, outputVariable="v"), task("b"), task("z", input=SEEN),
        edges="l:loop>a a>b b>l l:done>z",
    )  # fmt: skip
    history = log().started({"items": ["x", "y"]}).turn("l[0]", ["x", "y"], BEGIN + 60_000)
    history.row("NODE_DISPATCHED", "a[0]", input={"item": "x"})
    history.completed("a[0]", 1, variable="v").dispatched("b[0]").after(5).completed("b[0]", 10)
    history.turned_out("l[0]", 10).turn("l[1]")
    history.row("NODE_DISPATCHED", "a[1]", input={"item": "y", "v": 1})
    history.completed("a[1]", 2, variable="v").dispatched("b[1]").completed("b[1]", 20)
    history.turned_out("l[1]", 20).completed("l", [10, 20], variable="all", handles=["done"])
    history.row("NODE_DISPATCHED", "z", input={}).completed("z", 0).turned("COMPLETED")
    steps = {
        "l": {"status": "COMPLETED", "output": [10, 20]},
        "z": {"status": "COMPLETED", "output": 0},
    }
    given = {"items": ["x", "y"]}
    effects = [
        {"key": f"{ID}:{node}:{path}", "instance": ID, "node": node, "iteration": path}
        | {"attempt": 1, "outcome": "completed", "output": output}
        for node, path, output in (("a", "0", 1), ("b", "0", 10), ("a", "1", 2), ("b", "1", 20))
    ]
    last = {"key": f"{ID}:z", "instance": ID, "node": "z", "attempt": 1, "outcome": "completed"}
    state = {"input": given, "variables": {"all": [10, 20]}, "steps": steps}
    return record(document, history, instance={"state": state}, effects=[*effects, last])


def two_at_a_time() -> Fields:
    """Of three items one fails and is passed over; each has the context of the loop's entry."""
    document = graph(
        task("s", outputVariable="v"),
        box("loop", "l", source=[1, 2, 3], mode="parallel", concurrency=2, onItemError="continue",
            result={"of": "{{ctx.v}}"}),
        task("a", input=SEEN, outputVariable="v", retry={"maxAttempts": 1}),
        box("delay", "d", duration=90_000), edges="s>l l:loop>a l:loop>d",
    )  # fmt: skip
    history = log().started().dispatched("s").completed("s", 7, variable="v")
    history.turn("l[0]", [1, 2, 3]).turn("l[1]")
    for number in (0, 1):
        history.row("NODE_DISPATCHED", f"a[{number}]", input={"item": number + 1, "v": 7})
        history.sleeps(f"d[{number}]", 90_000)
    history.after(5).failed("a[0]", "BAD", "iteration").called_off("d[0]").turned_bad("l[0]", "BAD")
    history.turn("l[2]").row("NODE_DISPATCHED", "a[2]", input={"item": 3, "v": 7})
    history.sleeps("d[2]", 90_000).completed("a[2]", 33, variable="v")
    history.completed("a[1]", 22, variable="v").after(89_995).woke("d[1]").completed("d[1]")
    history.turned_out("l[1]", {"of": 22}).after(5).woke("d[2]").completed("d[2]")
    history.turned_out("l[2]", {"of": 33})
    output = [None, {"of": 22}, {"of": 33}]
    history.completed("l", output, handles=["done"]).turned("COMPLETED")
    errors = [{"index": 0, "error": {"code": "BAD"}}]
    steps = {
        "s": {"status": "COMPLETED", "output": 7},
        "l": {"status": "COMPLETED", "output": output, "errors": errors},
    }
    state = {"input": {}, "variables": {"v": 7}, "steps": steps}
    return record(document, history, instance={"state": state, "row": {"output": output}})


def one_is_enough() -> Fields:
    """The first of two ends the loop, which calls off the other with the loop that is in it."""
    document = graph(
        box("loop", "l", source=[1, 2], mode="parallel", enough=1, cancelRest=True),
        box("loop", "m", source=[8, 9]), task("a"), task("z"),
        edges="l:loop>m m:loop>a l:done>z",
    )  # fmt: skip
    history = log().started().turn("l[0]", [1, 2]).turn("l[1]")
    for number in (0, 1):
        history.turn(f"m[{number}/0]", [8, 9]).dispatched(f"a[{number}/0]")
    history.completed("a[0/0]", 1).turned_out("m[0/0]", 1).turn("m[0/1]").dispatched("a[0/1]")
    history.completed("a[0/1]", 2).turned_out("m[0/1]", 2).completed(
        "m[0]", [1, 2], handles=["done"]
    )
    history.turned_out("l[0]", [1, 2]).completed("l", [[1, 2]], handles=["done"])
    history.called_off("m[1]").told_to_stop("a[1/0]").dispatched("z").after(9)
    history.called_off("a[1/0]").turn_called_off("m[1/0]").turn_called_off("l[1]")
    history.completed("z").turned("COMPLETED")
    return record(document, history)


def two_never_begin() -> Fields:
    """The first of three is enough; one after the other, so the others never begin."""
    each = box("loop", "l", source=[1, 2, 3], enough=1)
    document = graph(each, task("a"), edges="l:loop>a")
    history = log().started().turn("l[0]", [1, 2, 3]).dispatched("a[0]").completed("a[0]", 7)
    history.turned_out("l[0]", 7).skipped("l[1]", "l[2]", reason="enough")
    history.completed("l", [7], handles=["done"]).turned("COMPLETED")
    return record(document, history)


def one_completes_it() -> Fields:
    """A step beside the loop ends it while nothing of it has ended."""
    document = graph(
        box("start", "s"), box("loop", "l", source=[1], cancelRest=True), task("a"),
        task("b", completes=["l"]),
        edges="s>l s>b l:loop>a",
    )  # fmt: skip
    history = log().started().completed("s").turn("l[0]", [1]).dispatched("a[0]").dispatched("b")
    history.completed("b").completed("l", [], handles=["done"]).told_to_stop("a[0]").after(9)
    history.called_off("a[0]").turn_called_off("l[0]").turned("COMPLETED")
    return record(document, history)


def each_as_it_arrives() -> Fields:
    """Two edges are two items; between them nothing of the loop is under way."""
    document = graph(
        box("start", "s"), task("a"), task("b"), box("loop", "l", source="arrivals"), task("x"),
        edges="s>a s>b a>l b>l l:loop>x",
    )  # fmt: skip
    history = log().started().completed("s").dispatched("a", "b").completed("b", 2)
    history.arrived("l[0]", "b").dispatched("x[0]").completed("x[0]", 7).turned_out("l[0]", 7)
    history.completed("a", 1).arrived("l[1]", "a").dispatched("x[1]").completed("x[1]", 8)
    history.turned_out("l[1]", 8).completed("l", [7, 8], handles=["done"]).turned("COMPLETED")
    return record(document, history)


def while_it_goes_on() -> Fields:
    document = graph(
        box("loop", "l", **{"while": "ctx.index < 5 && ctx.last !== 9"}), task("a"),
        edges="l:loop>a",
    )  # fmt: skip
    history = log().started().turn("l[0]").dispatched("a[0]").completed("a[0]", 1)
    history.turned_out("l[0]", 1).turn("l[1]").dispatched("a[1]").completed("a[1]", 9)
    history.turned_out("l[1]", 9).completed("l", [1, 9], handles=["done"]).turned("COMPLETED")
    return record(document, history, instance={"row": {"output": [1, 9]}})


def item_fails_its_loop() -> Fields:
    """The loop hands the failure on as its own; the other item is called off just before."""
    document = graph(
        box("loop", "l", source=[1, 2], mode="parallel"),
        task("a", retry={"maxAttempts": 1}), task("e"), edges="l:loop>a l:error>e",
    )  # fmt: skip
    history = log().started().turn("l[0]", [1, 2]).turn("l[1]").dispatched("a[0]", "a[1]")
    history.failed("a[1]", "BAD", "iteration").told_to_stop("a[0]").routed("l", "BAD")
    history.turned_bad("l[1]", "BAD").dispatched("e").after(9).called_off("a[0]")
    history.turn_called_off("l[0]").completed("e").turned("COMPLETED")
    return record(document, history)


def undone() -> Fields:
    """Two steps are undone after a cancel; the compensation of one of them fails once for good."""
    steps = [
        {"stepId": f"undo_{id}", "compensationFor": id, "taskId": "undo", **more}
        for id, more in (
            ("a", {"input": {"of": "steps.a.output"}}),
            ("b", {"input": {"of": "steps.b.output"}}),
            ("c", {"condition": "ctx.input.n > 5"}),
        )
    ]
    document = graph(
        task("a"), task("b"), task("c"), box("eventWait", "w", eventPattern="e"),
        edges="a>b b>c c>w", compensationSteps=steps,
    )  # fmt: skip
    error = {"code": "DOWN", "message": "it did not work"}
    plan = [{"stepId": f"undo_{id}", "compensationFor": id} for id in ("b", "a")]
    history = (
        log().started({"n": 1}).dispatched("a").completed("a", 1).dispatched("b").completed("b", 2)
        .dispatched("c").completed("c").waits("w", "e").turned("WAITING_FOR_EVENT").cancel_asked()
        .called_off("w").row("COMPENSATION_PLANNED", plan=plan)
        .row("COMPENSATION_DISPATCHED", "undo_b", input={"of": 2}).turned("RUNNING")
        .row("COMPENSATION_FAILED", "undo_b", status="error", error=error, then="fail")
        .row("COMPENSATION_DISPATCHED", "undo_a", input={"of": 1}).after(3)
        .row("COMPENSATION_COMPLETED", "undo_a").row("COMPENSATION_ENDED")
        .turned("CANCELLED")
    )  # fmt: skip
    letter = {"id": "l", "kind": "compensation-failed", "node": "undo_b", "attempt": 1}
    calls = (("a", 1), ("b", 2), ("c", None), ("undo_a", None))
    return record(
        document,
        history,
        instance={"deadLetters": [letter]},
        effects=[
            {"key": f"{ID}:{node}", "instance": ID, "node": node, "attempt": 1}
            | {"outcome": "completed", "output": output}
            for node, output in calls
        ],
    )


SHAPES: tuple[Callable[[], Fields], ...] = (
    promised,
    promising,
    office_nap,
    held,
    linear,
    linear_in_steps_form,
    by_dependencies,
    diamond,
    first_of_two,
    first_wins,
    quorum_whose_loser_does_not_obey,
    loser_waits_for_its_retry,
    one_calls_another_off,
    conditional,
    conditions_after_a_task,
    passed_over,
    error_path,
    unhandled_failure,
    tried_again_by_hand,
    lost_and_found,
    poison,
    delay,
    asleep,
    event_wait,
    wait_timeout,
    decided,
    asking,
    two_waits_look_back,
    first_arm,
    cancelled_by_event,
    listening,
    telling,
    waiting,
    paused_and_resumed,
    cancelled,
    deadline_passed,
    terminated,
    two_ends,
    one_after_the_other,
    two_at_a_time,
    one_is_enough,
    two_never_begin,
    one_completes_it,
    each_as_it_arrives,
    while_it_goes_on,
    item_fails_its_loop,
    parent_and_child,
    child_called_off,
    rerun_from_a_step,
    undone,
)
