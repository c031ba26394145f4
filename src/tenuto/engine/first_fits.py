"""Where waits that look back together have to begin: one look at what came, and not one each.

When a burst of events meets many waits that have just opened, each of them would pass over nearly
all of it. So what the first of their terms is about is read once for all who ask about the same.
Like `engine/past_terms.py` it lets too much through, never too little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tenuto.store.protocol import PastEvents, PastTerm, Store

WORTHWHILE = 4
"""So many have to ask about the same before it is read for them."""
MOST_EACH = 40
"""So many events are read for each that asks, at most."""
_DIGITS = 8
"""Numbers that are alike in so many count as the same one."""
_APART = 1e-7
"""Of two numbers that are closer one may be rounded up and the other down."""


async def first_fits(store: Store, asked: Sequence[PastEvents]) -> list[int | None]:
    """The number of the first event that may fit, for each, in their order; None: there is none."""
    firsts = await store.first_past(asked)
    alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for at, (each, first) in enumerate(zip(asked, firsts, strict=True)):
        if first is not None and each.terms and each.pattern is not None:
            alike[each.tenant, each.pattern, each.terms[0].path].append(at)
    for (tenant, pattern, path), places in alike.items():
        if len(places) >= WORTHWHILE:
            begins = {at: first for at in places if (first := firsts[at]) is not None}
            limit = MOST_EACH * len(places)
            first = min(begins.values())
            texts = await store.past_texts(tenant, pattern, path, first=first, limit=limit)
            for at, found in _narrowed(begins, asked, texts):
                firsts[at] = found
            if len(texts) == limit:
                # What comes after it was not looked at.
                after = texts[-1][0] + 1
                firsts = [
                    max(begins[at], after) if at in begins and found is None else found
                    for at, found in enumerate(firsts)
                ]
    return firsts


def _narrowed(
    begins: dict[int, int], asked: Sequence[PastEvents], texts: Sequence[tuple[int, str | None]]
) -> Iterator[tuple[int, int | None]]:
    """Who asks, and which of these events is the first that may fit; None: none of them."""
    open_for: dict[str, dict[int, None]] = defaultdict(dict)
    for at in begins:
        open_for[_key(asked[at].terms[0])][at] = None
    for number, text in texts:
        for key in list(open_for) if text is None else _keys(text, open_for):
            for at in [at for at in open_for.get(key, ()) if begins[at] <= number]:
                yield at, number
                del open_for[key][at]
            if not open_for[key]:
                del open_for[key]
    for places in open_for.values():
        for at in places:
            yield at, None


def _key(term: PastTerm) -> str:
    return f"={term.text}" if term.number is None else _rounded(float(term.number))


def _keys(text: str, wanted: dict[str, dict[int, None]]) -> Iterator[str]:
    """Under which keys somebody may want what reads like this."""
    if (key := f"={text}") in wanted:
        yield key
    try:
        number = float(text)
    except ValueError:
        return
    if not math.isfinite(number):
        # Beyond what can be told apart.
        yield from [key for key in wanted if not key.startswith("=")]
        return
    near = {_rounded(number * (1 + by)) for by in (-_APART, 0.0, _APART)}
    yield from near & wanted.keys()


def _rounded(number: float) -> str:
    return f"{number + 0.0:.{_DIGITS}g}"  # -0.0 is 0.0
