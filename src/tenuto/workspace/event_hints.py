"""Hints for events that nothing can take: most often their names are misspelled."""

from __future__ import annotations

import msgspec

from tenuto.definition.event_patterns import event_patterns
from tenuto.definition.report import nearest
from tenuto.events import fits
from tenuto.workspace.definitions import Definitions
from tenuto.workspace.source import Source

_MOST_DEFINITIONS = 100
_MOST_PATTERNS = 1_000
_MOST_COMPARED = 200
_LONGEST_COMPARED = 60
_MOST_LISTED = 5


class KnownPatterns:
    """The patterns that the newest definitions and the listeners of a tenant name."""

    def __init__(self, patterns: set[str], *, is_complete: bool) -> None:
        """`is_complete`: whether these are all of them."""
        self._patterns = sorted(patterns)[:_MOST_PATTERNS]
        self._is_complete = is_complete and len(patterns) <= _MOST_PATTERNS

    @classmethod
    async def of(cls, source: Source, tenant: str) -> KnownPatterns:
        """Read them: one page of definitions, which large documents end earlier."""
        rows, has_more = await Definitions(source, tenant).newest(limit=_MOST_DEFINITIONS)
        patterns = {
            pattern for row in rows for pattern in event_patterns(msgspec.json.decode(row.content))
        }
        for listener in await source.store.seen_by(tenant).listeners.of(tenant):
            patterns.update(listener.patterns)
        return cls(patterns, is_complete=not has_more)

    def hint(self, name: str) -> str | None:
        """What to correct in the name of an event; None where something may take it."""
        if any(fits(pattern, name) for pattern in self._patterns):
            return None
        short = [each for each in self._patterns if len(each) <= _LONGEST_COMPARED]
        near = nearest(name[:_LONGEST_COMPARED], short[:_MOST_COMPARED])
        if near is not None:
            return f"no definition or listener names `{name}`; did you mean `{near}`?"
        if not self._is_complete:
            return None
        if not self._patterns:
            return f"no definition or listener names `{name}`, or any other event"
        listing = ", ".join(f"`{each}`" for each in self._patterns[:_MOST_LISTED])
        more = len(self._patterns) - _MOST_LISTED
        others = f" and {more} more" if more > 0 else ""
        return f"no definition or listener names `{name}`; they name {listing}{others}"
