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


def with_pace(drawn: Document, name: str) -> Document:
    """The same document, of which starts become one, or few may begin in a time."""
    random = Random(f"pace {name}")
    options: Document = {}
    kind = random.choice(("debounce", "rate", "rate", "both"))
    if kind != "rate":
        options["debounce"] = {"period": random.choice(("PT0.5S", "PT2S", "PT5S"))}
        if random.random() < 0.5:
            options["debounce"]["max"] = "PT6S"
    if kind != "debounce":
        limit = random.choice((1, 1, 2, 3))
        options["rate"] = {"limit": limit, "per": random.choice(("PT1S", "PT10S", "PT1M"))}
    for option in options.values():
        if random.random() < 0.3:
            option["key"] = "{{ctx.input.k}}"
    name = "options" if "options" in drawn else "workflowOptions"
    return {**drawn, name: {**drawn.get(name, {}), **options}}
