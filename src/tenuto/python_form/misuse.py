"""What cannot be done with a value that exists only later, and what to write instead."""

from __future__ import annotations

import enum
from typing import NamedTuple

from tenuto.python_form.places import Usage


class Advice(NamedTuple):
    """What is told about a use of a future value."""

    code: str
    needs: str
    """What was tried, in words that go before `needs a value now`."""
    instead: str


class Misuse(enum.Enum):
    """Ways to need a value now."""

    DECIDED = "to decide on it"
    SEARCHED = "to look into it"
    REPEATED = "to go through it"
    MEASURED = "to measure it"
    CONVERTED = "to make a number of it"
    WRITTEN = "to write it into text"
    HASHED = "to use it as a key"
    CALLED = "to call it"
    CHANGED = "to change it"


_IN_TEXT = "in text, `{{ctx.order.items.length}}`, or in a task"

_PLAIN = {
    Misuse.DECIDED: Advice("TEN-1104", "deciding", "Write `with when(…):`, or decide in a task."),
    Misuse.SEARCHED: Advice(
        "TEN-1104",
        "`in`",
        "Write the test as text, `when(\"ctx.order.tags.includes('vip')\")`, or look in a task.",
    ),
    Misuse.REPEATED: Advice(
        "TEN-1105",
        "`for`",
        "Call a task for each item: `results = pack.map(items)`.",
    ),
    Misuse.MEASURED: Advice("TEN-1105", "`len()`", f"Measure it {_IN_TEXT}."),
    Misuse.CONVERTED: Advice(
        "TEN-1106", "a number", "Compute with the value itself, or convert it in a task."
    ),
    Misuse.WRITTEN: Advice(
        "TEN-1106",
        "text",
        'Write it as a template, "Order {{ctx.paid.id}}", or make the text in a task.',
    ),
    Misuse.HASHED: Advice(
        "TEN-1106", "a key", "Use a key that is known now, or build the object in a task."
    ),
    Misuse.CALLED: Advice(
        "TEN-1106",
        "a method",
        'Read properties with `paid["id"]`; write methods as text, "{{ctx.paid.name.trim()}}", '
        "or call them in a task.",
    ),
    Misuse.CHANGED: Advice(
        "TEN-1106", "changing it", "Give a new value to the next step, or change it in a task."
    ),
}


def advice_on(misuse: Misuse, usage: Usage | None) -> Advice:
    """What to tell; in the words of the source where they are known."""
    plain = _PLAIN[misuse]
    if usage is None:
        return plain
    if misuse is Misuse.DECIDED:
        return _on_deciding(usage, plain)
    if misuse is Misuse.REPEATED:
        return _on_going_through(usage, plain)
    named = usage.word if usage.word.startswith("a") else f"`{usage.word}`"
    return plain._replace(needs=named)


def _on_deciding(usage: Usage, plain: Advice) -> Advice:
    text = usage.text
    match usage.word:
        case "if" | "match":
            instead = f"Write `with when({text}):` and `with otherwise():`, or decide in a task."
        case "while":
            instead = (
                f'Write `with repeat_while("…"):`, or decide in a task: `{text}` is known later.'
            )
        case "and" | "or":
            sign = "&" if usage.word == "and" else "|"
            instead = f"Write `{sign}`, with brackets around both sides: `(a > 1) {sign} (b < 2)`."
        case "not":
            instead = f"Write `~({text})`."
        case "in":
            return _PLAIN[Misuse.SEARCHED]
        case "a chained comparison":
            instead = "Write two, in brackets: `(1 < paid) & (paid < 5)`."
        case "assert":
            instead = "Check it in a task that raises TaskError."
        case _:
            instead = plain.instead
    named = usage.word if usage.word.startswith("a ") else f"`{usage.word}`"
    return Advice(plain.code, named, instead)


def _on_going_through(usage: Usage, plain: Advice) -> Advice:
    match usage.word:
        case "unpacking":
            return plain._replace(
                needs="unpacking", instead=f"Name its parts: `{usage.text}[0]`, `{usage.text}[1]`."
            )
        case "for":
            instead = f"Call a task for each item: `results = pack.map({usage.text})`."
            return plain._replace(instead=instead)
        case word:
            return plain._replace(needs=f"`{word}`", instead="Give it to a task as it is.")
