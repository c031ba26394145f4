"""Keeps the values of secrets out of records and logs, in every form that it can find.

It knows the values that this process has filled in, for as long as the attempts that got them may
run and some time after. A tenant of which it knows no value costs one look into a map.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from weakref import WeakSet

from tenuto.model.failure import CUT
from tenuto.model.json import JSON
from tenuto.tasks.secret_forms import Forms, forms_of

KEPT_SECONDS: Final = 3_600.0
"""How long a value is known after the last attempt that got it may have ended."""
_LOOK_EVERY: Final = 60.0
"""Seconds between looks for values that can be forgotten."""
MOST_VALUES: Final = 10_000
"""Values that are known at once; beyond that those go first that would be forgotten first."""
_LEAST_CUT: Final = 4
"""Characters of a value at the end of a text that was cut there."""
_MOST_CUTS: Final = 16
"""Marks of cuts that are looked at, from the beginning of a text, and from its end."""
HIDDEN: Final = "[secret]"


_ALL: Final[WeakSet[Redactor]] = WeakSet()
"""Those of all engines in this process, which have one log together."""


def without_known_secrets(text: str) -> str:
    """A line of the service's own log without the values that this process has filled in."""
    for each in list(_ALL):
        text = each.line(text)
    return text


class Redactor:
    """The values that one process knows, by tenant."""

    def __init__(self, ticks: Callable[[], float]) -> None:
        """`ticks` is a clock that only measures."""
        self._ticks = ticks
        self.tenants: dict[str, _Known] = {}
        """Those with values that are known; asked for with every outcome, so it is no property."""
        self._number = 0
        self._looked_at = ticks()
        self._everything: _Known | None = None
        _ALL.add(self)

    def remember(self, tenant: str, name: str, value: str, seconds: float = 0.0) -> None:
        """Keep a value out of all records; `seconds`: how long the attempt may run."""
        self._forget_old()
        known = self.tenants.setdefault(tenant, _Known())
        is_new = known.add(name, value, self._ticks() + seconds + KEPT_SECONDS)
        if is_new:
            self._number += 1
            self._everything = None
            if self._number > MOST_VALUES:
                self._drop_first()

    def knows(self, tenant: str) -> bool:
        """Whether any value of a tenant is known."""
        return tenant in self.tenants

    def text(self, tenant: str, text: str) -> str:
        """A text of a tenant without its secrets, whose names stand there instead."""
        known = self.tenants.get(tenant)
        return text if known is None else known.text(text)

    def value(self, tenant: str, value: JSON) -> JSON:
        """A value of a tenant without its secrets; the same one if it has none."""
        known = self.tenants.get(tenant)
        return value if known is None else known.value(value)

    def line(self, text: str) -> str:
        """A line of the service's own log without the secrets of any tenant."""
        if not self.tenants:
            return text
        if self._everything is None:
            self._everything = together = _Known()
            # A copy: lines are logged in every thread.
            for known in list(self.tenants.values()):
                together.take(known)
        return self._everything.text(text)

    def _forget_old(self) -> None:
        now = self._ticks()
        if now - self._looked_at < _LOOK_EVERY:
            return
        self._looked_at = now
        for tenant, known in list(self.tenants.items()):
            if (gone := known.forget(now)) > 0:
                self._number -= gone
                self._everything = None
                if known.is_empty:
                    del self.tenants[tenant]

    def _drop_first(self) -> None:
        first = min(self.tenants.values(), key=lambda known: known.first)
        self._number -= first.forget(first.first)
        self._everything = None
        self.tenants = {name: each for name, each in self.tenants.items() if not each.is_empty}


class _Finder(NamedTuple):
    """What finds values; never changed, since lines are logged in every thread."""

    forms: Forms
    names: Mapping[str, str]
    """Form → what stands there instead."""


class _Known:
    """The values of one tenant, or of all."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], float] = {}
        """Name and value → until when."""
        self._finder: _Finder | None = None

    @property
    def is_empty(self) -> bool:
        return not self._until

    @property
    def first(self) -> float:
        """When the first of them is forgotten."""
        return min(self._until.values())

    def add(self, name: str, value: str, until: float) -> bool:
        """Know a value; False if it was known."""
        key = name, value
        before = self._until.get(key)
        self._until[key] = until if before is None else max(before, until)
        if before is None:
            self._finder = None
        return before is None

    def take(self, other: _Known) -> None:
        """Know the values of another one too, and tell none of their names."""
        for _, value in list(other._until):
            self._until["", value] = 0.0
        self._finder = None

    def forget(self, now: float) -> int:
        """Forget the values whose time is over; how many."""
        gone = [key for key, until in self._until.items() if until <= now]
        for key in gone:
            del self._until[key]
            self._finder = None
        return len(gone)

    def text(self, text: str) -> str:
        finder = self._made
        text = finder.forms.replaced(text)
        return text if CUT not in text else _without_parts(text, finder)

    def value(self, value: JSON) -> JSON:
        """A JSON value; what has no secret in it is not copied."""
        match value:
            case str():
                return self.text(value)
            case dict():
                changed = {self.text(key): self.value(each) for key, each in value.items()}
                return value if _is_same(changed, value) else changed
            case list():
                items = [self.value(each) for each in value]
                same = all(new is old for new, old in zip(items, value, strict=True))
                return value if same else items
            case bool() | None | float():
                return value
            case _:
                # Digits alone may be a number in what a service answers.
                return self._made.names.get(str(value), value)

    @property
    def _made(self) -> _Finder:
        finder = self._finder
        if finder is None:
            names = {
                form: f"[secret {name}]" if name else HIDDEN
                for name, value in list(self._until)
                for form in forms_of(value)
            }
            finder = self._finder = _Finder(Forms(names), names)
        return finder


def _without_parts(text: str, finder: _Finder) -> str:
    """A text without the parts of values beside marks of cuts."""
    first = text.split(CUT, _MOST_CUTS)
    parts = [*first[:-1], *first[-1].rsplit(CUT, _MOST_CUTS)]
    last = len(parts) - 1
    for place, part in enumerate(parts):
        if place < last:
            part = _without_end(part, finder)  # noqa: PLW2901 - then its beginning
        parts[place] = _without_beginning(part, finder) if place > 0 else part
    return CUT.join(parts)


def _without_end(text: str, finder: _Finder) -> str:
    """A text without the beginning of a value at its end."""
    for form, name in finder.names.items():
        head, at = form[:_LEAST_CUT], max(0, len(text) - len(form))
        while (at := text.find(head, at)) >= 0:
            if form.startswith(text[at:]):
                return text[:at] + name
            at += 1
    return text


def _without_beginning(text: str, finder: _Finder) -> str:
    """A text without the end of a value at its beginning."""
    for form, name in finder.names.items():
        tail, end = form[-_LEAST_CUT:], min(len(text), len(form))
        while (end := text.rfind(tail, 0, end)) >= 0:
            if form.endswith(text[: end + len(tail)]):
                return name + text[end + len(tail) :]
            end += len(tail) - 1
    return text


def _is_same(new: dict[str, JSON], old: dict[str, JSON]) -> bool:
    return len(new) == len(old) and all(
        key in old and each is old[key] for key, each in new.items()
    )
