"""The workflows that the processes run."""

from __future__ import annotations

from tests.crash.load import definition
from tests.kit.workload import Document
from tests.kit.workload.drawing import document, edges, node, task


def documents() -> dict[str, Document]:
    return {str(each["id"]): each for each in _all()}


def _all() -> list[Document]:
    return [definition(), crossroads(), flawed(), held(), waiting(), asked(), brief()]


def crossroads() -> Document:
    """Two tasks that are held, a wait and two delays, side by side, and a join behind them."""
    arms = ["hold1", "hold2", "wait", "nap1", "nap2"]
    nodes = [
        task("top"),
        task("hold1", "hold"),
        task("hold2", "hold"),
        _wait("wait", "crossing"),
        *(node(nap, "delay", until="{{ctx.input.until}}") for nap in ("nap1", "nap2")),
        task("join"),
    ]
    return document("crossroads", nodes, edges(*(f"top > {arm} > join" for arm in arms)))


def brief() -> Document:
    """It ends as soon as it has begun."""
    return document("brief", [node("end", "end")], [])


def flawed() -> Document:
    """It fails, and is well once it is retried."""
    return document("flawed", [task("flaw", "flaw"), task("after")], edges("flaw > after"))


def held() -> Document:
    """Its one step goes on until it is told otherwise."""
    return document("held", [task("hold", "hold")], [])


def waiting() -> Document:
    """It waits for an event, and then does one thing."""
    return document("waiting", [_wait("wait", "word"), task("after")], edges("wait > after"))


def asked() -> Document:
    """Somebody decides, and then one thing is done."""
    people = {"users": [f"person {number}" for number in range(8)]}
    nodes = [node("ask", "approval", assignees=people, deadline="PT1H"), task("yes"), task("no")]
    return document("asked", nodes, edges("ask:approved > yes", "ask:rejected > no"))


def _wait(id: str, pattern: str) -> Document:
    return node(
        id,
        "eventWait",
        eventPattern=pattern,
        eventCondition="event.payload.k === workflow.input.k",
        eventTimeout={"duration": "PT1H"},
        # Nothing here is too old: what comes in one moment is not told apart by clocks.
        lookback="PT1H",
    )
