"""Loops with their bodies, for documents under construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.kit.workload.choices import Choices, between, chance, pick, weighted
from tests.kit.workload.draft import Draft
from tests.kit.workload.drawing import Document, Json, edge

DEEPEST = 2
"""So many loops may be around a node."""
OBJECTS = ("ctx.item.n", "ctx.index")
ARRIVALS = ("ctx.item.output.value", "ctx.index")
NUMBERS = ("ctx.item", "ctx.index")

AddNode = Callable[..., None]


def loop_config(draft: Draft) -> Document:  # noqa: C901 - one arm for each setting
    """The settings of a loop, apart from those that speak of its body."""
    choices = draft.choices
    config: Document = {}
    kind = weighted(choices, {"source": 75, "while": 25})
    if kind == "while":
        config["while"] = _condition(draft)
        if chance(choices, 15):
            config["maxIterations"] = 2
    else:
        config["source"] = _source(draft)
        if chance(choices, 60):
            config["mode"] = "parallel"
            if chance(choices, 70):
                config["concurrency"] = between(choices, 1, 3)
        elif chance(choices, 30):
            config["mode"] = "sequential"
    if chance(choices, 55):
        config["onItemError"] = pick(choices, ["continue", "continue", "fail"])
    if draft.taste.races and chance(choices, 25):
        number = between(choices, 1, 2)
        by_results = f"ctx.results.length >= {number}"
        config["enough"] = pick(choices, [number, by_results, *_enough_by_others(draft)])
        if config["enough"] == number and _is_short_of(config, number):
            # More than a literal source has is warned of.
            config["enough"] = by_results
        if chance(choices, 50):
            config["cancelRest"] = True
    if draft.taste.waits and config.get("mode") == "parallel" and chance(choices, 25):
        config["more"] = {"eventPattern": "evt.shared", "item": {"n": "{{event.payload.k}}"}}
        if chance(choices, 50):
            config["more"]["eventCondition"] = "event.payload.k === workflow.input.k"
    if draft.taste.time_limits and chance(choices, 8):
        config["timeout"] = pick(choices, ["PT5S", "PT5M"])
    if chance(choices, 10):
        config["errorHandling"] = "fail_workflow"
    elif chance(choices, 15):
        config["onError"] = [{"codes": ["OUT", "LOOP_SOURCE"], "handle": "oops"}]
    return config


def _is_short_of(config: Document, number: int) -> bool:
    source = config.get("source")
    return isinstance(source, list) and len(source) < number


def may_take_arrivals(draft: Draft, config: Document, edges: int) -> None:
    """Some loops over items go over what arrives at them instead, mostly where that is more."""
    if "source" not in config or not chance(draft.choices, 45 if edges > 1 else 8):
        return
    config["source"] = "arrivals"
    config.pop("more", None)
    if config.get("mode") == "sequential":
        del config["mode"]


def _enough_by_others(draft: Draft) -> list[str]:
    """Conditions on tasks beside the loop, which may end while it is under way."""
    beside = [
        str(made["id"])
        for made in draft.nodes
        if made["type"] == "task" and draft.around[str(made["id"])] == draft.loop
    ]
    return [f"steps.{id}.status === 'COMPLETED' && ctx.results.length >= 1" for id in beside[-2:]]


def add_body(draft: Draft, made: Document, add_node: AddNode) -> None:
    """Nodes that hang on the loop `made`, and what it says about them."""
    choices, id, config = draft.choices, str(made["id"]), made["config"]
    body = replace(
        draft,
        ports=[(id, "loop")],
        ancestors=draft.ancestors,
        loop=id,
        depth=draft.depth + 1,
        sights=_sights(draft, config),
    )
    for number in range(between(choices, 1, 5 - 2 * draft.depth)):
        add_node(body, f"{id}b{number}", first=False, with_start=True)
    if chance(choices, 30):
        back = pick(choices, [port for port in body.ports if port[0] != id] or body.ports)
        if back[0] != id:
            draft.edges.append(edge(back[0], id, back[1]))
    if chance(choices, 45):
        config["result"] = _result(choices, body)


def _condition(draft: Draft) -> str:
    choices = draft.choices
    bound = between(choices, 0, 3)
    more = pick(choices, ["", "", " && ctx.last.value !== 3", " && ctx.input.flag"])
    if draft.sights and chance(choices, 50):
        more = f" && {pick(choices, list(draft.sights))} !== 1"
    return f"ctx.index < {bound}{more}"


def _source(draft: Draft) -> Json:
    choices = draft.choices
    if "ctx.item.n" in draft.sights and chance(choices, 50):
        return "{{ctx.item.parts}}"
    kind = weighted(choices, {"literal": 45, "input": 40, "empty": 7, "wrong": 8})
    match kind:
        case "literal":
            return [
                {"n": number % 3, "parts": [number]} for number in range(between(choices, 1, 4))
            ]
        case "input":
            return "{{ctx.input.items}}"
        case "empty":
            return []
        case _:
            return pick(choices, ["{{ctx.input.k}}", "{{ctx.input.nothing}}", "{{ctx.input}}"])


def _sights(draft: Draft, config: Document) -> tuple[str, ...]:
    if "while" in config:
        # The item of a loop around it is still seen.
        return (*(seen for seen in draft.sights if seen.startswith("ctx.item")), "ctx.index")
    if config["source"] == "arrivals":
        return ARRIVALS
    return NUMBERS if config["source"] == "{{ctx.item.parts}}" else OBJECTS


def _result(choices: Choices, body: Draft) -> Json:
    inside = [made for made in body.nodes if body.around.get(str(made["id"])) == body.loop]
    names = [body.variables[made["id"]] for made in inside if made["id"] in body.variables]
    some = str(pick(choices, inside)["id"]) if inside else None
    shapes: list[Json] = ["{{ctx.index}}", {"i": "{{ctx.index}}", "k": "{{ctx.input.k}}"}]
    if body.sights == ARRIVALS:
        shapes += ["{{ctx.item}}", {"of": "{{ctx.item.from}}"}]
    shapes += [{"of": f"{{{{ctx.{name}.value}}}}"} for name in names[:2]]
    shapes += [f"{{{{ctx.{name}}}}}" for name in names[-1:]]
    if some is not None:
        shapes.append({"status": f"{{{{steps.{some}.status}}}}"})
    return pick(choices, shapes)
