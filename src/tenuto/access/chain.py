"""Verifies the hash chain of an audit log: no line changed, removed, moved or added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tenuto.model.errors import InvalidInput, Problem
from tenuto.store.audit_chain import has_its_hash
from tenuto.store.parts.audit import NO_HEAD, Audit, AuditHead, AuditRow

_PAGE = 1_000


class ChainFault(NamedTuple):
    """The first line at which a chain is broken."""

    number: int
    what: str


class Verdict(NamedTuple):
    """How far a chain was read, and where it is broken, if it is."""

    head: AuditHead
    """The last intact line: worth noting elsewhere."""
    fault: ChainFault | None


class ChainReader:
    """Reads lines in their order, from the first on."""

    def __init__(self) -> None:
        self.head = NO_HEAD

    def read(self, rows: Iterable[AuditRow]) -> ChainFault | None:
        """The first of these lines that does not follow; later ones are not read."""
        for row in rows:
            number = self.head.number + 1
            if row.number != number:
                return ChainFault(number, f"line {number} is missing: {row.number} comes instead")
            if row.previous_hash != self.head.hash:
                return ChainFault(number, f"line {number} does not follow the one before it")
            if not has_its_hash(row):
                return ChainFault(number, f"line {number} was changed")
            self.head = AuditHead(number, row.hash)
        return None

    def end(self, head: AuditHead) -> ChainFault | None:
        """Whether the last line that was read is the end of the chain."""
        if self.head == head:
            return None
        if self.head.number < head.number:
            number = self.head.number + 1
            return ChainFault(number, f"lines {number} to {head.number} are missing")
        return ChainFault(head.number + 1, f"what follows line {head.number} was not written here")


def read_noted(text: str) -> AuditHead:
    """A line that was noted, as its number and its hash; InvalidInput."""
    number, _, digest = text.partition(":")
    try:
        if number.isascii() and number.isdecimal():
            return AuditHead(int(number), bytes.fromhex(digest))
    except ValueError:
        pass
    problem = Problem(
        code="TEN-2402",
        path="$.known",
        message=f"{text!r} is not a number and a hash",
        advice="Write what `tenuto audit verify` said, such as 120:9f86d0….",
    )
    raise InvalidInput("there is nothing to compare with", [problem])


async def verify_chain(
    store: Audit, tenant: str, *, noted: AuditHead | None = None, page: int = _PAGE
) -> Verdict:
    """Read a tenant's log from its beginning, `page` lines at a time; it may grow meanwhile.

    With `noted`, the line of that number has to be the noted one, too.
    """
    verdict = await _read(store, tenant, page)
    if noted is None or verdict.fault is not None:
        return verdict
    number = noted.number
    rows = await store.lines(tenant, after=number - 1, limit=1)
    if rows and (rows[0].number, rows[0].hash) == noted:
        return verdict
    fault = ChainFault(number, f"line {number} or one before it is not what it was when noted")
    return verdict._replace(fault=fault)


async def _read(store: Audit, tenant: str, page: int) -> Verdict:
    reader = ChainReader()
    while True:
        rows = await store.lines(tenant, after=reader.head.number, limit=page)
        if fault := reader.read(rows):
            return Verdict(reader.head, fault)
        if rows:
            continue
        # Lines and end are written together: an end that is read later is never behind them.
        head = await store.head(tenant)
        more = await store.lines(tenant, after=reader.head.number, limit=1)
        if not more:
            return Verdict(reader.head, reader.end(head))
