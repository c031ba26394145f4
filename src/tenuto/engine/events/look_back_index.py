"""Looks up past events by indexed terms, for one wait or for many that look back together.

Indexed terms are the parts of a wait's condition that a database can evaluate: texts and numbers
that the payload must contain. A look-up may return too many events, never too few, since each is
then tested by the condition. So a term that a database might read otherwise than the expression
language does is left out.

When a burst of events meets many waits that have just opened, each wait would read nearly all of
them. So the values of a term are read once for all waits that ask for the same path.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from tenuto.expr import LOOSE
from tenuto.store.parts.inbox import PastEvents, PastTerm
from tenuto.store.parts.waits import WaitRow
from tenuto.store.protocol import Store

WORTHWHILE = 4
"""At least so many waits must ask for a path before its values are read for all of them."""
MOST_EACH = 40
"""The most events that are read for each wait."""
PAGE = 1_000
"""The most events of one read: other requests wait for the store meanwhile."""
_DIGITS = 8
"""Numbers that agree in so many significant digits count as equal."""
_APART = 1e-7
"""Closer numbers may be rounded differently."""


_PAYLOAD = "payload."
_NUMBER = re.compile(r"-?[0-9]{1,200}(\.[0-9]{1,200})?(e[+-]?[0-9]{1,3})?")
_decode = msgspec.json.Decoder(list[str]).decode
_unquote = msgspec.json.Decoder(str).decode


def indexed_terms(wait: WaitRow) -> tuple[PastTerm, ...]:
    """The equality terms of a wait that select stored events."""
    if not wait.term_paths:
        return ()
    found = []
    for path, value in zip(_decode(wait.term_paths), _decode(wait.term_values), strict=True):
        # Values that `==` converts into one another are left to the condition.
        if not path.startswith(_PAYLOAD) or path.endswith(LOOSE):
            continue
        names = path.removeprefix(_PAYLOAD)
        if value.startswith('"'):
            found.append(PastTerm(names, _unquote(value), None))
        elif _NUMBER.fullmatch(value):
            found.append(PastTerm(names, None, value))
    return tuple(found)


async def first_matches(store: Store, asked: Sequence[PastEvents]) -> list[int | None]:
    """For each query, the number of the first event that may match; None if there is none."""
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
                # Events after the last one that was read are not known.
                nothing = None if is_last else max(begins[at], number)
                firsts[at] = narrowing.found.get(at, nothing)
    return firsts


class _Narrowing:
    """Finds the first event that may match, for each of several queries."""

    def __init__(self, begins: dict[int, int], asked: Sequence[PastEvents]) -> None:
        self.found: dict[int, int] = {}
        self._begins = begins
        self._open_for: dict[str, dict[int, None]] = defaultdict(dict)
        for at in begins:
            self._open_for[_key(asked[at].terms[0])][at] = None

    @property
    def is_open(self) -> bool:
        """Whether a query has found nothing yet."""
        return bool(self._open_for)

    def look_at(self, texts: Sequence[tuple[int, str | None]]) -> None:
        """Take the next events: number and text of each."""
        for number, text in texts:
            # An unknown text may match every query.
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
    """The wanted keys that a text may match."""
    as_text = [key] if (key := f"={text}") in wanted else []
    try:
        number = float(text)
    except ValueError:
        return as_text
    if not math.isfinite(number):
        # Too large to be compared.
        return as_text + [key for key in wanted if not key.startswith("=")]
    near = {_rounded(number * (1 + by)) for by in (-_APART, 0.0, _APART)}
    return as_text + sorted(near & wanted.keys())


def _rounded(number: float) -> str:
    return f"{number + 0.0:.{_DIGITS}g}"  # -0.0 is 0.0
