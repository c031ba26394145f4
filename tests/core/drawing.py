"""Workflows in one line: `draw("a>b a:error>c", c=delay("PT1S"))`; what is not told is a task."""

from __future__ import annotations

from tenuto.model.json import JSON, Object


def draw(edges: str, /, *, options: Object | None = None, **nodes: Object) -> Object:
    """A document in the graph form; `a:x>b` is the edge from handle `x` of a, a lone `a` a node."""
    arrows: list[JSON] = []
    names: dict[str, None] = {}
    for part in edges.split():
        place, _, target = part.partition(">")
        source, _, handle = place.partition(":")
        names |= dict.fromkeys(name for name in (source, target) if name)
        if target:
            arrow: Object = {"upstreamNodeID": source, "downstreamNodeID": target}
            arrows.append(arrow | ({"sourceHandle": handle} if handle else {}))
    names |= dict.fromkeys(nodes)
    boxes: list[JSON] = [{"id": name, **nodes.get(name, task())} for name in names]
    document: Object = {"id": "w", "nodes": boxes, "edges": arrows}
    return document | ({"workflowOptions": options} if options else {})


def cancelled_by(document: Object, *triggers: Object) -> Object:
    """The same, ended by events too."""
    return {**document, "cancellationTriggers": list[JSON](triggers)}


def undoing(document: Object, **steps: Object) -> Object:
    """The document with compensation steps: `a={…}` says how `undo_a` undoes `a`."""
    listed: list[JSON] = [
        {"stepId": f"undo_{name}", "compensationFor": name, "taskId": "undo", **fields}
        for name, fields in steps.items()
    ]
    return document | {"compensationSteps": listed}


def steps(*each: Object, **more: JSON) -> Object:
    """A document in the steps form, or with `dependsOn` in the dependency form."""
    listed: list[JSON] = list(each)
    return {"id": "w", "steps": listed, **more}


def step(step_id: str, type: str = "TASK", /, **fields: JSON) -> Object:
    work: Object = {"taskId": "work"} if type == "TASK" else {}
    return {"stepId": step_id, "type": type, **work, **fields}


def box(type: str, /, **config: JSON) -> Object:
    return {"type": type, "config": config}


def task(**config: JSON) -> Object:
    return box("task", **{"taskId": "work", **config})


def wait(pattern: str = "paid", /, **config: JSON) -> Object:
    return box("eventWait", eventPattern=pattern, **config)


def arms(*patterns: str, **config: JSON) -> Object:
    """A wait for whichever comes first; an arm is called after the last word of its pattern."""
    listed: list[JSON] = [
        {"id": pattern.rpartition(".")[2], "eventPattern": pattern} for pattern in patterns
    ]
    return box("eventWait", arms=listed, **config)


def emit(pattern: str = "told", /, **config: JSON) -> Object:
    return box("emit", pattern=pattern, **config)


def computed(**values: JSON) -> Object:
    """A set node with these values."""
    return box("set", values=dict(values))


def delay(duration: JSON = "PT1M", /, **config: JSON) -> Object:
    return box("delay", duration=duration, **config)


def approval(*users: str, **config: JSON) -> Object:
    """An approval for these users; for Ann, when nobody is named."""
    people: Object = {"users": list(users or ("ann",))}
    return box("approval", **{"assignees": people, **config})


def child(workflow: str = "other", /, **config: JSON) -> Object:
    return box("subWorkflow", workflowId=workflow, **config)


def condition(**branches: str) -> Object:
    """A condition that takes the first truthy branch."""
    return box("condition", branches=_branches(branches))


def every(**branches: str) -> Object:
    """A condition that takes every truthy branch."""
    return box("condition", branches=_branches(branches), select="all")


def loop(source: JSON = None, /, **config: JSON) -> Object:
    return box("loop", **({"source": source} if source is not None else {}), **config)


def end(output: JSON = None, /, **config: JSON) -> Object:
    return box("end", **({"outputParameters": output} if output is not None else {}), **config)


def terminate(status: str = "COMPLETED", /, **config: JSON) -> Object:
    return box("terminate", status=status, **config)


def start(**config: JSON) -> Object:
    return box("start", **config)


def _branches(branches: dict[str, str]) -> list[JSON]:
    return [{"id": name, "when": when} for name, when in branches.items()]
