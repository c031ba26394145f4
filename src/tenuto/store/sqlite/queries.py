"""The statements of `queries.sql`, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tenuto.store.sql import Named, queries_of

WIDTHS = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
"""How many rows a statement may take at once: few enough to be kept prepared."""

_LONGEST_KEPT = 16_000
"""Longer statements are not kept prepared by apsw."""

_FOR_EACH_ROW = re.compile(r"(\([^()]*\)) /\* for each row(, or null)? \*/")


class Query:
    """A statement, and its wider forms if it takes many rows."""

    def __init__(self, named: Named) -> None:
        self.name = named.name
        self.description = named.description
        self.sql = named.sql
        self.skips_nulls = "/* for each row, or null */" in named.sql
        """Whether rows of nulls change nothing, so that a wider form than needed will do."""

    def __repr__(self) -> str:
        return f"<{self.name}: {self.description}>"

    @cached_property
    def wide(self) -> dict[int, str]:
        """The statement for each fitting one of `WIDTHS`: its row of marks, so many times."""
        found = _FOR_EACH_ROW.search(self.sql)
        if found is None:
            raise LookupError(f"{self.name} does not say what it repeats for each row")
        row = found.group(1).replace(" ", "")
        before, after = self.sql[: found.start()], self.sql[found.end() :]
        wide = {width: f"{before}{','.join([row] * width)}{after}" for width in WIDTHS}
        return {width: sql for width, sql in wide.items() if len(sql) < _LONGEST_KEPT}

    def fitting(self, count: int) -> Iterator[tuple[int, str]]:
        """As few wide forms as possible for `count` rows; the last may be wider than needed.

        Between two statements Python's lock has to be had back from a loop that is busy: one with
        some rows of nulls is cheaper than several that fit.
        """
        for width, sql in self.wide.items():
            while count >= width:
                yield width, sql
                count -= width
            if self.skips_nulls and width * 2 // 3 < count:
                yield width, sql
                return


_SCHEMA = re.compile(r"\btenuto\.")
_CAST = re.compile(r"::\w+")
_ROW_LOCK = re.compile(r"\s+FOR (?:UPDATE|KEY SHARE)\b(?: OF \w+)?")


def adapted(named: Named) -> Named:
    """A statement of cold records as SQLite has it: without schemas, casts and row locks."""
    return named._replace(sql=_ROW_LOCK.sub("", _CAST.sub("", _SCHEMA.sub("", named.sql))))


_COLD = {name: adapted(named) for name, named in queries_of("tenuto.store.cold").items()}

QUERIES = {
    name: Query(named) for name, named in (_COLD | queries_of("tenuto.store.sqlite")).items()
}
