"""Definitions that take much work to check, all within the largest size of a document."""

from __future__ import annotations

from collections.abc import Iterator

from tenuto.model.json import JSON, Object
from tests.bombs.bomb import Bomb


def _task(input: JSON) -> Object:
    return {"id": "bomb", "steps": [{"stepId": "a", "type": "TASK", "taskId": "t", "input": input}]}


def _nested(inner: JSON, depth: int, key: str) -> JSON:
    for _ in range(depth):
        inner = {key: inner}
    return inner


def _edges(nodes: int, edges: int) -> Object:
    def arrows() -> Iterator[JSON]:
        for source in range(nodes):
            for target in range(source + 1, nodes):
                yield {"source": f"n{source}", "target": f"n{target}"}

    listed = [each for each, _ in zip(arrows(), range(edges), strict=False)]
    tasks: list[JSON] = [
        {"id": f"n{n}", "type": "TASK", "config": {"taskId": "t"}} for n in range(nodes)
    ]
    return {"id": "bomb", "nodes": tasks, "edges": listed}


def _unknown_variables(known: int, unknown: int, length: int) -> Object:
    """Names that are near to each other, so that comparing two of them takes long."""
    rest = "_abcdefghijklmnopqrstuvwxyz0123456789" * 2
    named: Object = {f"v{n:04d}{rest}"[:length]: 0 for n in range(known)}
    asked = "{{steps.missing}}" + "".join(
        f"{{{{ctx.{f'zz{n:04d}{rest}'[:length]}}}}}" for n in range(unknown)
    )
    steps: list[JSON] = [
        {"stepId": "a", "type": "SET", "values": named, "transitions": {"default": "b"}},
        {"stepId": "b", "type": "TASK", "taskId": "t", "input": asked},
    ]
    return {"id": "bomb", "steps": steps}


def _unknown_steps(known: int, unknown: int) -> Object:
    rest = "_abcdefghijklmnopqrstuvwxyz0123456789"
    asked: list[JSON] = [f"zz{n:04d}{rest}" for n in range(unknown)]
    steps: list[JSON] = [
        {"stepId": f"s{n:04d}{rest}", "type": "TASK", "taskId": "t"} for n in range(known)
    ]
    last: Object = {"stepId": "z", "type": "TASK", "taskId": "t", "transitions": {"default": asked}}
    return {"id": "bomb", "steps": [*steps, last]}


DEFINITIONS: tuple[Bomb[Object], ...] = (
    Bomb(
        "distinct-expressions",
        lambda: _task({f"k{n}": f"{{{{ctx.input.a{n} + 1}}}}" for n in range(100_000)}),
    ),
    Bomb(
        "long-expressions",
        lambda: _task([f"{{{{{n}{' + ctx.a' * 400}}}}}" for n in range(1_000)]),
    ),
    Bomb(
        "faulty-expressions",
        lambda: _task([f"{{{{ctx.input.a{n} + }}}}" for n in range(100_000)]),
    ),
    Bomb(
        "expressions-in-one-text",
        lambda: _task("".join(f"{{{{ctx.a{n}}}}}" for n in range(150_000))),
    ),
    Bomb(
        "expressions-that-hide-their-end",
        lambda: _task([f"{{{{ '}}}}' + {n}{' + ctx.a' * 400}}}}}" for n in range(1_000)]),
    ),
    Bomb(
        "conditions",
        lambda: {
            "id": "bomb",
            "steps": [
                {
                    "stepId": f"s{n}",
                    "type": "TASK",
                    "taskId": "t",
                    "when": f"ctx.a > {n}" + " + 1" * 90,
                }
                for n in range(6_000)
            ],
        },
    ),
    Bomb("edges", lambda: _edges(500, 120_000)),
    Bomb(
        "nodes",
        lambda: {
            "id": "bomb",
            "steps": [{"stepId": f"s{n}", "type": "TASK", "taskId": "t"} for n in range(100_000)],
        },
    ),
    Bomb("wrong-steps", lambda: {"id": "bomb", "steps": [7] * 20_000}),
    Bomb("unknown-fields", lambda: {**_task(1), **{f"u{n}": 1 for n in range(300_000)}}),
    Bomb("long-names", lambda: _task(_nested(["{{ + }}"] * 60_000, 60, "k" * 50_000))),
    Bomb("deep", lambda: _task(_nested(1, 500, "k"))),
    # These two are small: a document of such a size is checked where requests are served.
    Bomb("unknown-variables", lambda: _unknown_variables(150, 160, 45)),
    Bomb("many-unknown-variables", lambda: _unknown_variables(1_000, 1_500, 60)),
    Bomb("unknown-names", lambda: _task([f"{{{{pay{n}.load}}}}" for n in range(1_000)])),
    Bomb("unknown-functions", lambda: _task([f"{{{{Math.ma{n}x(1)}}}}" for n in range(1_000)])),
    Bomb("unknown-steps", lambda: _unknown_steps(999, 1_500)),
)
