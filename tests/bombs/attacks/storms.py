"""Workflows that start more and more instances."""

from __future__ import annotations

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, Ask, Attack
from tests.core.drawing import child, draw, emit, end, loop, wait

_TEN = [f"c{number}" for number in range(10)]


def _saved(id: str, document: Object, **more: JSON) -> Ask:
    return Ask("PUT", f"/workflows/{id}", document | {"id": id} | more)


def _start(id: str, input: JSON = None) -> Ask:
    return Ask("POST", f"/workflows/{id}/start", {"input": input})


def _tenfold() -> list[Ask]:
    return [_saved("ten", draw(" ".join(_TEN), **{each: child("ten") for each in _TEN}))]


def _doubling() -> list[Ask]:
    document = draw("a>b b>w", a=emit("told"), b=emit("told"), w=wait("never"))
    triggers: list[JSON] = [{"eventPattern": "told", "inputMapping": {}}]
    return [_saved("twice", document, triggers=triggers)]


def _cancel(id: str) -> Ask:
    return Ask("POST", "/instances/bulk", {"action": "cancel", "filter": {"workflowId": id}})


STORMS: tuple[Attack, ...] = (
    Attack("recursion-tenfold", lambda: [_start("ten")], BUSY, before=_tenfold, rounds=3),
    Attack(
        "recursion-cancelled",
        lambda: [*[_start("ten")] * 3, _cancel("ten")],
        BUSY,
        before=_tenfold,
        at_once=1,
    ),
    Attack("emits-twice", lambda: [_start("twice")], BUSY, before=_doubling, rounds=3),
    Attack(
        "loop-of-children",
        lambda: [_start("wide", list(range(20_000)))],
        BUSY,
        before=lambda: [
            _saved("short", draw("d", d=end())),
            _saved(
                "wide",
                draw("l:loop>c", l=loop("{{ctx.input}}", mode="parallel"), c=child("short")),
            ),
        ],
        rounds=3,
    ),
)
