"""Whether an audit log is as it was written: nothing changed, taken out, moved or put in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tenuto.model.errors import InvalidInput, Problem
from tenuto.store.audit_chain import line_hash
from tenuto.store.parts.audit import NO_HEAD, Audit, AuditHead, AuditRow

_PAGE = 1_000


class ChainFault(NamedTuple):
    """The first line at which a chain is not what it was."""

    number: int
    what: str


class Verdict(NamedTuple):
    """How far a chain was read, and where it is broken, if it is."""

    head: AuditHead
    """The last line that is as it was: worth keeping elsewhere."""
    fault: ChainFault | None


class ChainReader:
    """Reads lines in their order, from the first on."""

    def __init__(self) -> None:
        self.head = NO_HEAD

    def read(self, rows: Iterable[AuditRow]) -> ChainFault | None:
        """The first of these lines that does not follow; whatever comes after it is not read."""
        for row in rows:
            number = self.head.number + 1
            if row.number != number:
                return ChainFault(number, f"line {number} is missing: {row.number} comes instead")
            if row.previous_hash != self.head.hash:
                return ChainFault(number, f"line {number} does not follow the one before it")
            if row.hash != line_hash(number, row.entry, row.previous_hash):
                return ChainFault(number, f"line {number} was changed")
            self.head = AuditHead(number, row.hash)
        return None

    def end(self, head: AuditHead) -> ChainFault | None:
        """Whether a chain that was read to its end has the end that it should have."""
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


async def verify_chain(store: Audit, tenant: str, *, noted: AuditHead | None = None) -> Verdict:
    """Read a tenant's log from its beginning; lines may be written meanwhile.

    With `noted` its line of that number has to be the one that was noted, too.
    """
    verdict = await _read(store, tenant)
    if noted is None or verdict.fault is not None:
        return verdict
    number = noted.number
    rows = await store.lines(tenant, after=number - 1, limit=1)
    if rows and (rows[0].number, rows[0].hash) == noted:
        return verdict
    fault = ChainFault(number, f"line {number} or one before it is not what it was when noted")
    return verdict._replace(fault=fault)


async def _read(store: Audit, tenant: str) -> Verdict:
    reader = ChainReader()
    while True:
        rows = await store.lines(tenant, after=reader.head.number, limit=_PAGE)
        if fault := reader.read(rows):
            return Verdict(reader.head, fault)
        if rows:
            continue
        # Lines and end are written together: an end that is read later is never behind them.
        head = await store.head(tenant)
        more = await store.lines(tenant, after=reader.head.number, limit=1)
        if not more:
            return Verdict(reader.head, reader.end(head))
