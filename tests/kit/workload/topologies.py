"""The twelve shapes that every engine must run, in graph form; loops have shapes of their own."""

from __future__ import annotations

from collections.abc import Callable

from tests.kit.workload.drawing import Document, Json, document, edges, node, task
from tests.kit.workload.steps_form import to_steps

RETRY = {"maxAttempts": 3, "initialDelay": "PT1S", "multiplier": 2, "maxDelay": "PT4S"}


def linear() -> Document:
    nodes = [task("a", outputVariable="a"), task("b"), task("c", outputVariable="c")]
    return document("linear", nodes, edges("a > b > c"))


def fan_out(width: int = 5) -> Document:
    leaves = [f"leaf{number}" for number in range(width)]
    nodes = [task("root"), *(task(leaf) for leaf in leaves)]
    return document("fan-out", nodes, edges(*(f"root > {leaf}" for leaf in leaves)))


def fan_in(width: int = 5) -> Document:
    """Several beginnings, one end."""
    roots = [f"root{number}" for number in range(width)]
    nodes = [*(task(root) for root in roots), task("join")]
    return document("fan-in", nodes, edges(*(f"{root} > join" for root in roots)))


def diamond_and(width: int = 2) -> Document:
    return _diamond("diamond-and", width)


def diamond_or() -> Document:
    return _diamond("diamond-or", 2, joinMode="any")


def quorum() -> Document:
    """Two of three are enough, and the third is called off."""
    return _diamond("quorum", 3, joinMode={"atLeast": 2}, cancelRest=True)


def deep_chain(depth: int = 25) -> Document:
    names = [f"n{number}" for number in range(depth)]
    return document("deep-chain", [task(name) for name in names], edges(" > ".join(names)))


def error_path() -> Document:
    routes = [{"codes": ["OUT"], "handle": "oops"}]
    nodes = [
        task("risky", "flaky", retry=RETRY, onError=routes, outputVariable="risky"),
        task("fine"),
        task("mend"),
        task("stock"),
        task("after"),
    ]
    arrows = edges("risky > fine > after", "risky:error > mend > after", "risky:oops > stock")
    return document("error-path", nodes, arrows)


def conditional() -> Document:
    branches = [
        {"id": "high", "when": "ctx.input.k > 6"},
        {"id": "middle", "when": "ctx.input.k > 3"},
    ]
    names = ("high", "middle", "low", "after")
    nodes = [node("choose", "condition", branches=branches), *(task(name) for name in names)]
    ways = ("choose:high > high", "choose:middle > middle", "choose:else > low")
    return document("conditional", nodes, edges(*(f"{way} > after" for way in ways)))


def delay() -> Document:
    nodes = [task("before"), node("nap", "delay", duration="PT30S"), task("after")]
    return document("delay", nodes, edges("before > nap > after"))


def multi_level_join() -> Document:
    names = [*"abcd", "left", "right", "top"]
    nodes = [task("root"), *(task(name) for name in names)]
    arrows = edges(
        *(f"root > {name}" for name in "abcd"),
        "a > left",
        "b > left",
        "c > right",
        "d > right",
        "left > top",
        "right > top",
        "a > top",
    )
    return document("multi-level-join", nodes, arrows)


def event_wait() -> Document:
    """A wait between a start and an end, with a way out when nothing comes."""
    wait = node(
        "wait",
        "eventWait",
        eventPattern="evt.wait",
        eventCondition="event.payload.k === workflow.input.k",
        eventTimeout={"duration": "PT1H"},
        eventPayloadMapping={"paid": "amount"},
        outputVariable="got",
    )
    end = node("end", "end", outputParameters={"paid": "{{ctx.paid}}", "late": "{{ctx.late}}"})
    late = task("late", outputVariable="late")
    nodes = [node("start", "start"), wait, task("use"), late, end]
    return document(
        "event-wait", nodes, edges("start > wait > use > end", "wait:timeout > late > end")
    )


def _diamond(id: str, width: int, **join: Json) -> Document:
    arms = [f"arm{number}" for number in range(width)]
    nodes = [task("top"), *(task(arm) for arm in arms), task("bottom", **join)]
    return document(id, nodes, edges(*(f"top > {arm} > bottom" for arm in arms)))


TOPOLOGIES: tuple[Callable[[], Document], ...] = (
    linear,
    fan_out,
    fan_in,
    diamond_and,
    diamond_or,
    quorum,
    deep_chain,
    error_path,
    conditional,
    delay,
    multi_level_join,
    event_wait,
)


def topologies() -> dict[str, Document]:
    """All twelve, by id."""
    return {made["id"]: made for made in (make() for make in TOPOLOGIES)}


def topologies_in_steps_form() -> dict[str, Document]:
    """Those that can be said in steps form, by id."""
    said = {id: to_steps(made) for id, made in topologies().items()}
    return {id: steps for id, steps in said.items() if steps is not None}


def wide(width: int = 1_000) -> Document:
    """One task, `width` beside each other, one join."""
    return {**_diamond("wide", width), "id": "wide"}


def deep(depth: int = 1_000) -> Document:
    """`depth` tasks one after the other."""
    return {**deep_chain(depth), "id": "deep"}
