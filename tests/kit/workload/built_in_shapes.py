"""Steps whose work the engine does itself: some tasks of a document, as nodes of another type."""

from __future__ import annotations

from zlib import crc32

from tests.kit.workload.drawing import Document

BUILT_IN = ("javascript", "http", "dataQuery")
_OUT_OF = 12
"""Of so many tasks, one becomes a node of each type."""


def with_built_ins(nodes: list[Document]) -> list[Document]:
    """The same nodes; which of them change follows from themselves, and no choice is made."""
    return [_changed(each) for each in nodes]


def _changed(made: Document) -> Document:
    config = made["config"]
    if made["type"] != "task" or config.keys() & {"handles", "heartbeatTimeout"}:
        return made
    number = crc32(repr((made["id"], sorted(config.items()))).encode()) % _OUT_OF
    if number >= len(BUILT_IN):
        return made
    kept = {name: value for name, value in config.items() if name not in ("taskId", "input")}
    return {**made, "type": BUILT_IN[number], "config": {**_own(number, config), **kept}}


def _own(number: int, config: Document) -> Document:
    """What the node is given instead of the input of the task."""
    given = config.get("input")
    match number:
        case 0:
            own: Document = {"code": "return input"}
            return own if given is None else {**own, "input": given}
        case 1:
            return {"url": "https://outside.example/{{ctx.input.k}}", "body": given}
        case _:
            return {"dataQueryID": "q", "args": {} if given is None else {"given": given}}
