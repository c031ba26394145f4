"""The ids of steps: the variable that holds the result, else the name of the task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tenuto.definition.language_kinds import RESERVED_VARIABLES
from tenuto.model.ids import NAME
from tenuto.python_form.future import FutureValue, step_of
from tenuto.python_form.loops import LoopBlock
from tenuto.python_form.step import Step
from tenuto.python_form.trace import Trace

_LONGEST = 64


class Names:
    """Ids that are taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}
        """The last number appended to a name that is used several times."""

    def take(self, wanted: str) -> str:
        """`wanted` in valid characters, with the next free number if it is taken."""
        base = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)
        base = base if NAME.match(base[:1]) else f"_{base}"
        base = base if _is_usable(base) else f"{base.lstrip('_')}_"
        name, number = base[:_LONGEST], self._last.get(base, 1)
        while name in self._taken:
            number += 1
            ending = f"_{number}"
            name = base[: _LONGEST - len(ending)] + ending
        self._taken.add(name)
        self._last[base] = number
        return name

    def take_given(self, name: str) -> bool:
        """Take a name that the user chose; False if it is taken already."""
        is_free = name not in self._taken
        self._taken.add(name)
        return is_free


def name_steps(trace: Trace) -> Names:
    """Give every step its id."""
    names = Names()
    for step in trace.steps:
        if step.given_name is not None:
            _give(trace, names, step, step.given_name)
    held = dict(_held(trace.variables()))
    for step in trace.steps:
        if not step.id and id(step) in held:
            step.id = names.take(held[id(step)])
    for step in trace.steps:
        if not step.id and step.named_after is None:
            step.id = names.take(step.base)
    for step in trace.steps:
        if step.named_after is not None:
            other, ending = step.named_after
            step.id = names.take(other.id + ending)
    return names


def _give(trace: Trace, names: Names, step: Step, name: str) -> None:
    if not NAME.match(name) or not _is_usable(name):
        is_reserved = name in RESERVED_VARIABLES or name.startswith("__")
        trace.refuse(
            "TEN-1114",
            f"{name!r} cannot be the name of a step" + (": it is reserved" if is_reserved else ""),
            "Choose a name that the context does not have, without `__` before it."
            if is_reserved
            else "Use up to 64 letters, digits, `_` and `-`, without `-` at the beginning.",
            step.place,
        )
        step.id = names.take(step.base)
        return
    if not names.take_given(name):
        trace.refuse(
            "TEN-1114",
            f"`{name}` is the name of an earlier step",
            "Give each step a name of its own.",
            step.place,
        )
    step.id = name


def _held(variables: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Which step each variable holds; of several variables the first."""
    for name, value in reversed(list(variables.items())):
        step: Step | None = None
        if isinstance(value, FutureValue):
            step = step_of(value)
        elif isinstance(value, LoopBlock):
            step = value.head
        if step is None or name in step.variables:
            continue
        if NAME.match(name) and _is_usable(name):
            yield id(step), name


def _is_usable(name: str) -> bool:
    """Whether it can also be a variable of the context."""
    return name not in RESERVED_VARIABLES and not name.startswith("__")
