"""Where waits that look back together have to begin: one look at what came, and not one each.

When a burst of events meets many waits that have just opened, each of them would pass over nearly
all of it. So what the first of their terms is about is read once for all who ask about the same.
Like `engine/events/indexed_terms.py` it lets too much through, never too little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tenuto.store.parts.inbox import PastEvents, PastTerm
from tenuto.store.protocol import Store

WORTHWHILE = 4
"""So many have to ask about the same before it is read for them."""
MOST_EACH = 40
"""So many events are read for each that asks, at most."""
PAGE = 1_000
"""So many with one look: others wait for the store meanwhile."""
_DIGITS = 8
"""Numbers that are alike in so many count as the same one."""
_APART = 1e-7
"""Of two numbers that are closer one may be rounded up and the other down."""


async def first_matches(store: Store, asked: Sequence[PastEvents]) -> list[int | None]:
    """The number of the first event that may fit, for each, in their order; None: there is none."""
    firsts = await store.inbox.first_past(asked)
    alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for at, (each, first) in enumerate(zip(asked, firsts, strict=True)):
        if first is not None and each.terms and each.pattern is not None:
            alike[each.tenant, each.pattern, each.terms[0].path].append(at)
    for (tenant, pattern, path), places in alike.items():
        if len(places) >= WORTHWHILE:
            begins = {at: first for at in places if (first := firsts[at]) is not None}
            narrowing = _Narrowing(begins, asked)
            left = MOST_EACH * len(places)
            number, is_last = min(begins.values()), False
            while narrowing.is_open and left and not is_last:
                size = min(PAGE, left)
                page = await store.inbox.past_texts(tenant, pattern, path, first=number, limit=size)
                narrowing.look_at(page)
                left, is_last = left - size, len(page) < size
                number = page[-1][0] + 1 if page else number
            for at in places:
                # What comes behind the last that was looked at is not known.
                nothing = None if is_last else max(begins[at], number)
                firsts[at] = narrowing.found.get(at, nothing)
    return firsts


class _Narrowing:
    """Finds, for each of several that ask, the first event that may fit."""

    def __init__(self, begins: dict[int, int], asked: Sequence[PastEvents]) -> None:
        self.found: dict[int, int] = {}
        self._begins = begins
        self._open_for: dict[str, dict[int, None]] = defaultdict(dict)
        for at in begins:
            self._open_for[_key(asked[at].terms[0])][at] = None

    @property
    def is_open(self) -> bool:
        """Whether somebody has found nothing."""
        return bool(self._open_for)

    def look_at(self, texts: Sequence[tuple[int, str | None]]) -> None:
        """What stands in the next of the events, beside their numbers."""
        for number, text in texts:
            # What cannot be told may be for anybody.
            for key in list(self._open_for) if text is None else _keys(text, self._open_for):
                self._settle(key, number)

    def _settle(self, key: str, number: int) -> None:
        waiting = self._open_for[key]
        for at in [at for at in waiting if self._begins[at] <= number]:
            self.found[at] = number
            del waiting[at]
        if not waiting:
            del self._open_for[key]


def _key(term: PastTerm) -> str:
    return f"={term.text}" if term.number is None else _rounded(float(term.number))


def _keys(text: str, wanted: Mapping[str, object]) -> list[str]:
    """Under which keys somebody may want what reads like this."""
    as_text = [key] if (key := f"={text}") in wanted else []
    try:
        number = float(text)
    except ValueError:
        return as_text
    if not math.isfinite(number):
        # Beyond what can be told apart.
        return as_text + [key for key in wanted if not key.startswith("=")]
    near = {_rounded(number * (1 + by)) for by in (-_APART, 0.0, _APART)}
    return as_text + sorted(near & wanted.keys())


def _rounded(number: float) -> str:
    return f"{number + 0.0:.{_DIGITS}g}"  # -0.0 is 0.0
