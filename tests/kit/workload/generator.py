"""Random documents in graph form, valid by construction.

Nodes are made in topological order. Each one hangs on handles of earlier nodes, so that everything
is reachable and nothing runs in a circle; a join never needs more edges than were once seen taken
together. A loop's body is made in the same way, and hangs on the loop alone; some loops take what
arrives at them.
"""

from __future__ import annotations

from tests.kit.workload.built_in_shapes import with_built_ins
from tests.kit.workload.choices import Choices, Seeded, between, chance, pick, weighted
from tests.kit.workload.draft import Draft, Taste
from tests.kit.workload.drawing import TASKS, Document, Json, document, edge, node
from tests.kit.workload.loops import DEEPEST, add_body, loop_config, may_take_arrivals
from tests.kit.workload.witness import most_taken_together


def random_document(seed: int | str, taste: Taste | None = None) -> Document:
    """The document of a seed."""
    return make_document(Seeded(f"document {seed}"), taste or Taste(), id=f"doc-{seed}")


def make_document(choices: Choices, taste: Taste, *, id: str = "doc") -> Document:
    """A document as `choices` want it."""
    draft = Draft(choices, taste)
    size = between(choices, taste.smallest, taste.largest)
    with_start = size > 1 and chance(choices, 40)
    for number in range(size):
        _add_node(draft, f"n{number}", first=number == 0, with_start=with_start)
    _leave_out_unused_routes(draft)
    if taste.races:
        _add_cancels(draft)
        _add_completes(draft)
    return document(id, with_built_ins(draft.nodes), draft.edges, **_options(draft))


def make_input(choices: Choices) -> Document:
    """An input that the documents' conditions and loops speak of."""
    return {"k": choices.below(10), "flag": chance(choices, 50), "items": _items(choices)}


def _items(choices: Choices) -> list[Json]:
    return [
        {"n": choices.below(4), "parts": list(range(choices.below(3)))}
        for _ in range(choices.below(5))
    ]


def _add_node(draft: Draft, id: str, *, first: bool, with_start: bool) -> None:
    choices = draft.choices
    type = "start" if first and with_start else _type(draft, first=first)
    parents: list[tuple[str, str]] = []
    new_root = not with_start and type in ("task", "delay", "eventWait") and chance(choices, 8)
    if not first and not new_root and draft.ports:
        parents = _parents(draft)
    elif not first and (with_start or not draft.ports):
        return
    draft.ancestors[id] = {source for source, _ in parents}.union(
        *(draft.ancestors[source] for source, _ in parents)
    )
    config = _CONFIGS[type](draft, id)
    if type not in ("start", "end", "terminate"):
        _add_common(draft, id, type, config)
    if type == "loop" and parents:
        may_take_arrivals(draft, config, len(parents))
    if len(parents) > 1 and config.get("source") != "arrivals":
        _add_join(draft, parents, config)
    made = node(id, type, **config)
    draft.nodes.append(made)
    draft.around[id] = draft.loop
    draft.edges += [edge(source, id, handle) for source, handle in parents]
    if type == "loop":
        add_body(draft, made, _add_node)
    draft.ports += [(id, handle) for handle in _handles(draft, type, made["config"])]


def _type(draft: Draft, *, first: bool) -> str:
    weights = {"task": 60, "condition": 14, "set": 5}
    if draft.taste.delays:
        weights["delay"] = 7
    if draft.taste.waits:
        weights["eventWait"] = 10
    if draft.taste.waits and draft.taste.approvals:
        weights["approval"] = 5
    if draft.taste.loops and draft.depth < DEEPEST:
        weights["loop"] = 7
    if not first:
        if draft.loop is None:
            weights["end"] = 5
        if draft.taste.races:
            weights["terminate"] = 2
    return weighted(draft.choices, weights)


def _parents(draft: Draft) -> list[tuple[str, str]]:
    """One to four handles, newer ones more often."""
    number = weighted(draft.choices, {1: 60, 2: 25, 3: 10, 4: 5})
    newest = draft.ports[-6:]
    found: list[tuple[str, str]] = []
    for _ in range(number):
        port = pick(draft.choices, newest if chance(draft.choices, 70) else draft.ports)
        if port not in found:
            found.append(port)
    return found


def _task(draft: Draft, id: str) -> Document:
    choices = draft.choices
    config: Document = {"taskId": pick(choices, TASKS)}
    if chance(choices, 70):
        config["input"] = _input(draft, id)
    if chance(choices, 50):
        config["retry"] = {
            "maxAttempts": between(choices, 1, 4),
            "initialDelay": pick(choices, ["PT0.1S", "PT1S", 250]),
            "multiplier": pick(choices, [2, 1, 1.5]),
            "maxDelay": pick(choices, ["PT2S", "PT30S"]),
            "nonRetryable": pick(choices, [[], ["BAD"]]),
        }
        if chance(choices, 8):
            config["retry"]["onLost"] = "fail"
    if draft.taste.time_limits and chance(choices, 15):
        config["timeout"] = pick(choices, ["PT5S", "PT20S"])
    if chance(choices, 12):
        config["errorHandling"] = "fail_workflow"
    elif chance(choices, 20):
        config["onError"] = [{"codes": ["OUT", "GONE"], "handle": "oops"}]
    if chance(choices, 12):
        config["handles"] = ["left", "right"]
    return config


def _input(draft: Draft, id: str) -> Document:
    shown: Document = {"node": id, "k": "{{ctx.input.k}}"}
    if draft.loop is not None:
        # What a task in a body is given shows which iteration it saw.
        shown |= {f"i{place}": f"{{{{{path}}}}}" for place, path in enumerate(draft.sights)}
        names = sorted({*draft.variables.values()} - {draft.variables.get(id, "")})[-2:]
        shown |= {name: f"{{{{ctx.{name}}}}}" for name in names}
    return shown


def _condition(draft: Draft, id: str) -> Document:
    choices = draft.choices
    number = between(choices, 1, 3)
    branches = [
        {"id": f"b{place}", "when": _expression(draft, id)} for place in range(1, number + 1)
    ]
    config: Document = {"branches": branches}
    if chance(choices, 35):
        config["select"] = "all"
    return config


def _set(draft: Draft, id: str) -> Document:
    """What it computes has a `value`, as what a task gives has."""
    choices = draft.choices
    known = [f"ctx.{name}.value" for name in sorted(_variables_before(draft, id))[-2:]]
    sources = ["ctx.input.k", "ctx.input.nothing", *known, *draft.sights]
    draft.variables[id] = f"s_{id}"
    values: Document = {f"s_{id}": {"value": f"{{{{{pick(choices, sources)}}}}}"}}
    if chance(choices, 40):
        values[f"t_{id}"] = pick(choices, ["{{ctx.input.nothing}}", 7, "{{ctx.input.items}}"])
    return {"values": values}


def _delay(draft: Draft, id: str) -> Document:
    config: Document = {"duration": pick(draft.choices, ["PT1S", 50, "PT90S", "PT2H", 0])}
    return config


def _event_wait(draft: Draft, id: str) -> Document:
    choices, taste = draft.choices, draft.taste
    shared = pick(choices, [f"evt.{id}", f"evt.{id}", "evt.shared", "evt.*", "evt.**"])
    config: Document = {"eventPattern": shared}
    if chance(choices, 55):
        config["eventCondition"] = "event.payload.k === workflow.input.k"
    if chance(choices, 25):
        config["eventPayloadMapping"] = {f"m_{id}": "k"}
    elif chance(choices, 25):
        config["count"] = between(choices, 1, 3)
    if not taste.endless_waits or chance(choices, 50):
        config["eventTimeout"] = {"duration": pick(choices, ["PT10S", "PT5M", "PT3H"])}
        if chance(choices, 20):
            config["lookback"] = pick(choices, ["PT0S", "PT1H"])
    if taste.time_limits and chance(choices, 6):
        config["timeout"] = "PT4H"
    return config


def _approval(draft: Draft, id: str) -> Document:
    choices, taste = draft.choices, draft.taste
    roles: Document = {"roles": ["boss"]} if chance(choices, 70) else {}
    config: Document = {"assignees": {"users": ["ann"], **roles}}
    if not taste.endless_waits or chance(choices, 50):
        config["deadline"] = pick(choices, ["PT10S", "PT5M", "PT3H"])
    if chance(choices, 40):
        config["reminders"] = [pick(choices, ["PT2S", "PT1M", "PT2H"]) for _ in range(2)]
    if chance(choices, 40):
        people = {"users": ["zoe"], "roles": ["board"]}
        config["escalate"] = {"after": pick(choices, ["PT5S", "PT1M"]), "assignees": people}
    if taste.time_limits and chance(choices, 6):
        config["timeout"] = "PT4H"
    return config


def _end(draft: Draft, id: str) -> Document:
    names = sorted(_variables_before(draft, id))[:3]
    if not names or chance(draft.choices, 20):
        return {}
    return {"outputParameters": {name: f"{{{{ctx.{name}}}}}" for name in names}}


def _terminate(draft: Draft, id: str) -> Document:
    if chance(draft.choices, 40):
        return {"status": "FAILED", "reason": f"{id} said so"}
    return {"status": "COMPLETED", "output": {"by": id}}


_CONFIGS = {
    "start": lambda draft, id: {},
    "task": _task,
    "condition": _condition,
    "delay": _delay,
    "eventWait": _event_wait,
    "set": _set,
    "approval": _approval,
    "loop": lambda draft, id: loop_config(draft),
    "end": _end,
    "terminate": _terminate,
}


def _add_common(draft: Draft, id: str, type: str, config: Document) -> None:
    choices = draft.choices
    if type in ("task", "loop") and chance(choices, 60):
        config["outputVariable"] = draft.variables[id] = f"v_{id}"
    if chance(choices, 9):
        config["when"] = _expression(draft, id)
    if type not in ("condition", "loop", "approval") and chance(choices, 15):
        config["conditions"] = [{"when": _expression(draft, id), "handle": "alt"}]


def _add_join(draft: Draft, parents: list[tuple[str, str]], config: Document) -> None:
    choices = draft.choices
    if not draft.taste.races:
        return
    mode = weighted(choices, {"all": 50, "any": 25, "atLeast": 25})
    if mode == "any":
        config["joinMode"] = "any"
    elif mode == "atLeast":
        most = most_taken_together(draft.nodes, draft.edges, parents)
        config["joinMode"] = {"atLeast": between(choices, 1, max(1, most))}
    if mode != "all" and chance(choices, 40):
        config["cancelRest"] = True


def _handles(draft: Draft, type: str, config: Document) -> list[str]:
    if type in ("end", "terminate"):
        return []
    if type == "condition":
        found = [branch["id"] for branch in config["branches"]] + ["else"]
        return [*found, "default"] if "when" in config else found
    if type == "loop":
        found = ["done", *(route["handle"] for route in config.get("onError", ()))]
        found += [] if "errorHandling" in config else ["error"]
        return [*found, "default"] if "when" in config else found
    if type == "approval":
        found = ["approved", "rejected", *(["timeout"] if "deadline" in config else [])]
        return [*found, "default"] if "when" in config else found
    found = ["default", *(route["handle"] for route in config.get("conditions", ()))]
    found += config.get("handles", ())
    if "eventTimeout" in config:
        found.append("timeout")
    if type == "task" and config.get("errorHandling") != "fail_workflow":
        found.append("error")
    found += [route["handle"] for route in config.get("onError", ())]
    return found


def _expression(draft: Draft, id: str) -> str:
    """Something that may be true, about the input or about what came before."""
    choices = draft.choices
    names = sorted(_variables_before(draft, id))
    if draft.sights and chance(choices, 40):
        sight = pick(choices, draft.sights)
        return f"{sight} {pick(choices, ['>', '<', '==='])} {choices.below(3)}"
    if names and chance(choices, 60):
        name = pick(choices, names)
        return f"ctx.{name}.value {pick(choices, ['>', '<', '>='])} {choices.below(10)}"
    return pick(
        choices,
        [
            "ctx.input.flag === true",
            f"ctx.input.k > {choices.below(10)}",
            f"ctx.input.k !== {choices.below(10)} && ctx.input.flag",
            "workflow.input.flag === false || ctx.input.k < 5",
        ],
    )


def _variables_before(draft: Draft, id: str) -> set[str]:
    return {draft.variables[name] for name in draft.ancestors[id] if name in draft.variables}


def _leave_out_unused_routes(draft: Draft) -> None:
    """A route to a handle without an edge would end a branch unseen."""
    used = {
        (arrow["upstreamNodeID"], arrow.get("sourceHandle", "default")) for arrow in draft.edges
    }
    for made in draft.nodes:
        for name in ("conditions", "onError"):
            routes = made["config"].pop(name, ())
            kept = [route for route in routes if (made["id"], route["handle"]) in used]
            if kept:
                made["config"][name] = kept


def _add_cancels(draft: Draft) -> None:
    choices = draft.choices
    for made in draft.nodes:
        if made["type"] not in ("task", "delay", "eventWait") or not chance(choices, 6):
            continue
        id = str(made["id"])
        loop = draft.around[id]
        if loop is not None and chance(choices, 20):
            made["config"]["cancels"] = [loop]
            continue
        seen = _loops_around(draft, id)
        others = [
            other["id"]
            for other in draft.nodes
            if other["id"] != id
            and draft.around[other["id"]] in seen
            and other["id"] not in draft.ancestors[id]
            and id not in draft.ancestors[other["id"]]
        ]
        if others:
            made["config"]["cancels"] = [pick(choices, others)]


def _add_completes(draft: Draft) -> None:
    """Steps that end a loop: one around them, or one beside those."""
    choices = draft.choices
    for made in draft.nodes:
        id = str(made["id"])
        if made["type"] not in ("task", "delay", "set") or not chance(choices, 8):
            continue
        seen = _loops_around(draft, id)
        loops = [
            str(other["id"])
            for other in draft.nodes
            if other["type"] == "loop" and draft.around[str(other["id"])] in seen
        ]
        if loops:
            made["config"]["completes"] = [pick(choices, loops)]


def _loops_around(draft: Draft, id: str) -> set[str | None]:
    """The bodies whose steps a step sees: its own, those around it, and the top."""
    loop = draft.around[id]
    found = {None, loop}
    while loop is not None:
        loop = draft.around[loop]
        found.add(loop)
    return found


def _options(draft: Draft) -> dict[str, Json]:
    options: dict[str, Json] = {}
    if draft.taste.time_limits and chance(draft.choices, 12):
        options["timeout"] = pick(draft.choices, ["PT6H", "PT10M", "PT3S"])
    if chance(draft.choices, 20):
        options["cancelGrace"] = pick(draft.choices, ["PT2S", "PT0S"])
    return options
