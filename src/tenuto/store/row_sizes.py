"""How large the rows of the last pages were: the next page of a kind is likely to be alike."""

from __future__ import annotations

from collections import OrderedDict

_MOST_KINDS = 10_000


class RowSizes:
    """The mean size of the rows of a page, by their kind."""

    def __init__(self) -> None:
        self._means: OrderedDict[str, int] = OrderedDict()

    def mean(self, kind: str) -> int | None:
        return self._means.get(kind)

    def keep(self, kind: str, mean: int) -> None:
        self._means[kind] = mean
        self._means.move_to_end(kind)
        if len(self._means) > _MOST_KINDS:
            self._means.popitem(last=False)
