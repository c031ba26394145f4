# ruff: noqa: SIM905
"""Whatever is written as an expression, nothing happens but an answer or a declared error."""

from __future__ import annotations

import random
import string
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

from tenuto.expr import (
    UNDEFINED,
    ExpressionError,
    ExpressionSyntaxError,
    Steps,
    compile_expression,
    compile_template,
    split_condition,
    template_problems,
)
from tenuto.expr.library import CONSTANTS, FUNCTIONS, METHOD_NAMES
from tests.expr.cases import SCOPE, SECTIONS

ROUNDS = 250
CHUNKS = 4

# What reaching out of the language would raise; everything that an evaluator has no business with.
FORBIDDEN = tuple(
    """
    import open exec compile socket subprocess os. shutil ctypes pickle code. marshal object.__
    sys._getframe urllib function.__new__ tempfile
    """.split()
)

_events: list[str] | None = None


def _hook(event: str, _arguments: tuple[object, ...]) -> None:
    if _events is not None and event.startswith(FORBIDDEN):
        _events.append(event)


sys.addaudithook(_hook)


@contextmanager
def nothing_reached() -> Iterator[None]:
    global _events  # noqa: PLW0603
    seen: list[str] = []
    _events = seen
    try:
        yield
    finally:
        _events = None
    assert seen == []


def test_the_watch_sees_what_it_should(tmp_path: Path) -> None:
    with pytest.raises(AssertionError), nothing_reached():
        (tmp_path / "x").write_text("", encoding="utf-8")


def attempt(source: str) -> object:
    """What becomes of a text; anything but the two declared errors fails the test."""
    try:
        return compile_expression(source).evaluate(SCOPE)
    except (ExpressionError, ExpressionSyntaxError) as error:
        return error


WORDS = [
    *FUNCTIONS,
    *CONSTANTS,
    *METHOD_NAMES,
    *"ctx ctx.items ctx.names event steps item null undefined new this __proto__".split(),
    "constructor",
    *"=> x x=> ( ) [ ] { } ? : ?. . ... , ' \" \\ + - * / % ** ! typeof in === == !=".split(),
    *"< > <= >=".split(),
    *"&& || ?? = ; ` ${ {{ }} \\{{ length 0 1 1e308 'a' '😀'".split(),
    "9" * 400,
    "0x" + "f" * 99,
    "\u2028",
]


def by_words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 14)))


def by_characters(chance: random.Random) -> str:
    alphabet = string.printable + "éß😀\u2028\ud800\0"
    return "".join(chance.choices(alphabet, k=chance.randint(1, 60)))


def by_bytes(chance: random.Random) -> str:
    return chance.randbytes(chance.randint(1, 60)).decode("utf-8", "surrogateescape")


@cache
def seeds() -> list[str]:
    sections = (SECTIONS[name] for name in ("iterations", "functions", "nested"))
    return [case.source for section in sections for case in section()]


def by_mutation(chance: random.Random) -> str:
    source = chance.choice(seeds())
    for _ in range(chance.randint(1, 2)):
        at = chance.randint(0, len(source))
        cut = chance.randint(0, 3)
        source = source[:at] + chance.choice([chance.choice(WORDS), ""]) + source[at + cut :]
    return source


def by_nesting(chance: random.Random) -> str:
    """Well-formed and heavy: loops in loops, long strings, deep lists."""
    source = chance.choice(["ctx.items", "'ab'.split('')", "[1, 2, 3]", "ctx.nested", "'x'"])
    for _ in range(chance.randint(1, 9)):
        source = chance.choice(
            [
                f"[{source}, {source}]",
                f"{source}.map(x => [x, {source}])",
                f"String({source}).repeat(99)",
                f"{source}.flatMap(x => [x, x])",
                f"{source}.reduce((a, x) => [a, x], [])",
                f"JSON.stringify({source})",
                f"{source}.concat({source})",
                f"({source} + {source})",
                f"{source}.sort()",
                f"{{a: {source}, ...{source}}}",
                f"{source}.flat(Infinity)",
                f"Object.entries({source})",
            ]
        )
        if len(source) > 1500:
            break
    return source


MAKERS = (by_words, by_characters, by_bytes, by_mutation, by_nesting)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("make", MAKERS)
def test_only_declared_errors_come_out(make: Callable[[random.Random], str], chunk: int) -> None:
    chance = random.Random(f"{make.__name__} {chunk}")
    answered = 0
    with nothing_reached():
        for _ in range(ROUNDS):
            answered += not isinstance(attempt(make(chance)), Exception)
    print(f"{make.__name__}: {answered} answered")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_templates_and_conditions_hold_too(chunk: int) -> None:
    chance = random.Random(chunk)
    with nothing_reached():
        for _ in range(ROUNDS // 2):
            use_as_template_and_condition(
                chance.choice([by_words, by_mutation, by_characters])(chance)
            )


@pytest.mark.soak
def test_only_declared_errors_come_out_in_a_long_time(seeds: Iterator[int]) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        source = chance.choice(MAKERS)(chance)
        with nothing_reached():
            attempt(source)
            use_as_template_and_condition(source)


def use_as_template_and_condition(source: str) -> None:
    value = {"a": ["{{" + source + "}}", source], "b": f"text {{{{{source}}}}} text"}
    if not template_problems(value):
        with suppress(ExpressionError):
            compile_template(value).render(SCOPE)
    with suppress(ExpressionError, ExpressionSyntaxError):
        split = split_condition(source)
        split.event_values(SCOPE["event"], Steps())
        captured = split.capture(SCOPE)
        split.term_values(captured, Steps())
        split.matches(SCOPE["event"], captured, Steps())


def test_a_host_value_is_refused_when_touched() -> None:
    class Host(str):
        __slots__ = ()

    for value in (Host("x"), object(), (1, 2), {1, 2}, b"x", 1j, type, len, Host):
        scope = {"ctx": {"x": value}}
        for source in (
            "ctx.x",
            "ctx.x.y",
            "!ctx.x",
            "ctx.x + 1",
            "[ctx.x]",
            "typeof ctx.x",
            "-ctx.x",
        ):
            with pytest.raises(ExpressionError, match="not a JSON value"):
                compile_expression(source).evaluate(scope)
        with pytest.raises(ExpressionError):
            compile_expression("ctx.x.upper()").evaluate(scope)
    assert compile_expression("ctx.x.y").evaluate({"ctx": {}}) is UNDEFINED
