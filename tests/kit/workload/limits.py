"""Documents whose instances wait for slots: any other document, with a limit."""

from __future__ import annotations

from random import Random

from tests.kit.workload.drawing import Document

MUTEXES = ("one", "two", "k {{ctx.input.k}}")


def with_mutex(drawn: Document, name: str) -> Document:
    """The same document, of which some tasks run one at a time, whichever instance has them."""
    random = Random(f"mutex {name}")
    nodes = [
        {**each, "config": {**each.get("config", {}), "mutex": random.choice(MUTEXES)}}
        if each["type"] == "task" and random.random() < 0.5
        else each
        for each in drawn["nodes"]
    ]
    return {**drawn, "nodes": nodes}


def with_limit(drawn: Document, name: str) -> Document:
    """The same document, of which few instances may run at once."""
    random = Random(f"limit {name}")
    concurrency: Document = {"limit": random.choice((1, 1, 2, 3))}
    if random.random() < 0.3:
        concurrency["key"] = "{{ctx.input.k}}"
    if random.random() < 0.2:
        concurrency["holdWhileWaiting"] = True
    name = "options" if "options" in drawn else "workflowOptions"
    return {**drawn, name: {**drawn.get(name, {}), "concurrency": concurrency}}
