"""Names that mean something in JavaScript and nothing here, with advice for those who try them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

RESERVED: Final = frozenset(
    """
    arguments async await break case catch class const continue debugger default delete do else
    enum eval export extends finally for function if implements import instanceof interface let
    new of package private protected public return static super switch this throw try var void
    while with yield
    """.split()  # noqa: SIM905
)

LITERALS: Final = frozenset({"true", "false", "null", "undefined", "NaN", "Infinity"})
OPERATORS: Final = frozenset({"typeof", "in"})

_ADVICE: Final = {
    "function": "Write an arrow function, `x => …`, as the argument of a method such as `map`.",
    "instanceof": "Use `typeof` or `Array.isArray(…)`.",
    "if": "Use `condition ? a : b`.",
    "new": "Expressions make no objects but literals; timestamps are read with `Date.parse(…)`.",
    "this": "Start at one of the roots, for instance `ctx`.",
    "delete": "Expressions change nothing.",
    "await": "Expressions do not wait; use a step.",
}


_OTHER_WORDS: Final = {
    "and": "Write `&&`.",
    "or": "Write `||`.",
    "not": "Write `!`.",
    "is": "Write `===`.",
    "None": "Write `null`.",
    "nil": "Write `null`.",
    "True": "Write `true`.",
    "False": "Write `false`.",
    "input": "The input is `ctx.input`.",
    "payload": "The payload of an event is `event.payload`.",
    "context": "It is called `ctx`.",
    "len": "Write `ctx.items.length`.",
    "event": "`event` exists in the conditions and mappings of events; a step behind a wait sees "
    "the event as `steps.ID.output`.",
    "item": "`item` exists in the body of a loop.",
    "index": "`index` exists in the body of a loop.",
    "secrets": "`secrets` exists in the inputs of task, http, dataQuery and javascript steps.",
}
"""Words of other languages, and names that exist at other places."""


def advice_for_word(word: str) -> str:
    """What to write instead of a word of another language or place, if that is known."""
    return _OTHER_WORDS.get(word, "")


def advice_for_reserved(word: str) -> str:
    """What to write instead of a reserved word."""
    return _ADVICE.get(word, "It is a reserved word of JavaScript.")


def nearest(name: str, known: Iterable[str]) -> str:
    """A suggestion, or the empty string when nothing is near."""
    names = sorted(known)
    exact = [each for each in names if each.lower() == name.lower()]
    # difflib compares every pair of characters: a name of thousands is no typing mistake.
    is_short = len(name) < 64
    close = exact or (difflib.get_close_matches(name, names, n=1, cutoff=0.6) if is_short else [])
    return f"Did you mean `{close[0]}`?" if close else ""
