"""Hypothesis strategies: valid documents of every shape."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.definition.node_examples import ALTERNATIVES, OWN, STEP_NAMES

Document = dict[str, Any]

KINDS = tuple(kind for kind in OWN if kind not in {"start", "end", "terminate", "loop"})
SINKS = ("end", "terminate")
DURATIONS = st.sampled_from(["PT0.25S", "P1DT2H3M4.5S", 1500, "PT1H"])
EXPRESSIONS = st.sampled_from(["ctx.input.a > 1", "steps.s0.output", "true && !ctx.b"])
OWN_HANDLES = {
    "condition": ("big", "small", "else"),
    "approval": ("approved", "rejected", "timeout"),
    "eventWait": ("default", "timeout"),
}


@st.composite
def own_settings(draw: st.DrawFn, kind: str) -> Document:
    choices = [OWN[kind], *([ALTERNATIVES[kind]] if kind in ALTERNATIVES else [])]
    return dict(draw(st.sampled_from(choices)))


@st.composite
def common_settings(draw: st.DrawFn, names: list[str], name: str) -> Document:
    others = [each for each in names if each != name]
    possible: Document = {
        "name": st.text("ab ", max_size=3),
        "description": st.just("what for"),
        "outputVariable": st.sampled_from(["x", "result"]),
        "timeout": DURATIONS,
        "joinMode": st.sampled_from(["all", "any"]),
        "cancelRest": st.booleans(),
        "cancels": st.lists(st.sampled_from(others or ["-"]), max_size=2 if others else 0),
        "when": EXPRESSIONS,
    }
    chosen = draw(st.sets(st.sampled_from(sorted(possible)), max_size=3))
    return {key: draw(possible[key]) for key in sorted(chosen)}


def _handles(kind: str, own: Document) -> tuple[str, ...]:
    if "arms" in own:
        return ("paid", "refused", "timeout")
    if kind == "task":
        return ("default", *own.get("handles", ()))
    return OWN_HANDLES.get(kind, ("default",))


@st.composite
def steps_documents(draw: st.DrawFn) -> Document:
    """Steps with transitions, conditions and error routes, everything reachable."""
    count = draw(st.integers(1, 7))
    names = [f"s{number}" for number in range(count)]
    steps: list[Document] = []
    for number, name in enumerate(names):
        is_inner = number + 1 < count
        kind = draw(st.sampled_from(KINDS if is_inner else KINDS + SINKS))
        own = draw(own_settings(kind))
        step = {"stepId": name, "type": STEP_NAMES[kind], **own}
        step |= draw(common_settings(names, name))
        if is_inner:
            later = st.lists(st.sampled_from(names[number + 1 :]), max_size=3, unique=True)
            handles = _handles(kind, own)
            transitions: Document = {handles[0]: names[number + 1]}
            for handle in (*handles[1:], "error"):
                if draw(st.booleans()):
                    transitions[handle] = draw(later)
            if "default" in handles and draw(st.booleans()):
                when = draw(st.lists(EXPRESSIONS, max_size=2))
                transitions["conditions"] = [{"when": each, "to": draw(later)} for each in when]
            if draw(st.booleans()):
                transitions["onError"] = [{"codes": ["A", "B"], "to": draw(later)}]
            step["transitions"] = transitions
        steps.append(step)
    document: Document = {"id": "generated", "steps": steps}
    return document | draw(surroundings(names))


@st.composite
def dependency_documents(draw: st.DrawFn) -> Document:
    """Steps with dependencies."""
    count = draw(st.integers(2, 7))
    steps: list[Document] = []
    for number in range(count):
        earlier = [f"s{each}" for each in range(number)]
        depends = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        steps.append({"stepId": f"s{number}", "type": "TASK", "taskId": "t", "dependsOn": depends})
    return {"id": "generated", "steps": steps}


@st.composite
def surroundings(draw: st.DrawFn, names: list[str]) -> Document:
    possible: Document = {
        "name": "Generated",
        "description": "by a test",
        "inputSchema": {"type": "object"},
        "compensationSteps": [
            {"stepId": "undo", "compensationFor": names[0], "taskId": "u", "input": "ctx.input"}
        ],
        "cancellationTriggers": [{"eventPattern": "a.*", "shouldCompensate": True}],
        "triggers": [{"eventPattern": "b", "inputMapping": {"x": "y[0]"}}],
        "options": {
            "compensateOnFailure": False,
            "timeout": "P1M",
            "deadline": "{{ctx.input.by}}",
            "cancelGrace": "PT3S",
            "retry": {"maxAttempts": 9},
            "concurrency": {"limit": 2, "key": "{{ctx.input.k}}", "holdWhileWaiting": True},
            "debounce": {"period": "PT5S", "key": "{{ctx.input.k}}", "max": "PT1M"},
            "rate": {"limit": 10, "per": "PT1M", "key": "{{ctx.input.k}}"},
            "retention": "P90D",
            "searchable": ["x"],
            "encrypt": {"fields": ["input.y"]},
        },
    }
    chosen = draw(st.sets(st.sampled_from(sorted(possible)), max_size=3))
    return {key: possible[key] for key in sorted(chosen)}
