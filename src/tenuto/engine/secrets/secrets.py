"""The secrets part of an engine: fills values into inputs, and keeps them out of what is recorded.

Values are read from the store and opened right before an attempt runs, or is handed to a worker.
They are in no state, no entry and no job: only in the input of that attempt, and in the redactor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import UNSET
from msgspec.structs import replace

from tenuto.model.effects import StartAttempt
from tenuto.model.errors import TenutoError
from tenuto.model.executions import TaskReport
from tenuto.model.failure import (
    SECRET_NOT_ALLOWED,
    SECRET_UNREADABLE,
    UNKNOWN_SECRET,
    Failure,
)
from tenuto.model.graph import BuiltIn, DataQuery, Http
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.model.json import JSON
from tenuto.model.secret_place import about, fill_in, names_of
from tenuto.model.task_logs import LogChunk
from tenuto.ports import Clock, Seals
from tenuto.store.parts.secrets import SecretRow
from tenuto.store.protocol import Store
from tenuto.tasks.redactor import Redactor
from tenuto.tasks.secrets import FilledInput

CheckInput: TypeAlias = Callable[[str, str, JSON], Failure | None]
"""Tenant, task and input → why the input does not fit."""
SourceOf: TypeAlias = Callable[[str, str], Awaitable[str | None]]
"""Tenant and query → the id of its data source."""

_NO_KEYS = "TEN-4120"
_ALL = 1_000
"""Secrets that are read at once."""


class NoSeals:
    """A process without encryption keys: it stores no secret, and reads none."""

    def seal(self, plain: bytes, about: bytes) -> bytes:  # noqa: ARG002 - as all others have it
        """TenutoError: there are no keys."""
        raise TenutoError("no encryption keys are configured", code=_NO_KEYS)

    def open(self, sealed: bytes, about: bytes) -> bytes:
        """TenutoError: there are no keys."""
        return self.seal(sealed, about)


class Secrets:
    """Fills in the secrets of all tenants, for one process."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        seals: Seals,
        check: CheckInput,
        source_of: SourceOf | None = None,
    ) -> None:
        """`check` is that of declared tasks; `source_of` finds the data source of a query."""
        self._store = store
        self._seals = seals
        self._check = check
        self._source_of = source_of
        self.redactor = Redactor(clock.ticks)

    async def fill(
        self, tenant: str, order: StartAttempt, config: BuiltIn | None = None
    ) -> FilledInput | Failure:
        """The input of an attempt with its secrets, or why it cannot run; StoreUnavailable.

        `config` is that of a built-in task. From now on the values are kept out of all records.
        """
        names = names_of(order.secrets)
        seen = self._store.seen_by(tenant).secrets
        rows = {name: await seen.get(tenant, name) for name in names}
        found = {name: row for name, row in rows.items() if row is not None}
        if unknown := [name for name in names if name not in found]:
            return _unknown(unknown)
        destination = await self._destination(tenant, order, config)
        for row in found.values():
            if not _may_be_sent(row, destination):
                return _not_allowed(row, destination)
        try:
            values = {name: self._opened(row) for name, row in found.items()}
        except TenutoError as error:
            return Failure(code=SECRET_UNREADABLE, message=error.message)
        for name, value in values.items():
            self.redactor.remember(tenant, name, value, order.timeout.total_seconds())
        filled = fill_in(order.input, order.secrets, values)
        if config is None and (misfit := self._check(tenant, order.task_id, filled)) is not None:
            return self.failure(tenant, misfit)
        return FilledInput(filled, tuple(values.values()))

    async def learn(self, tenant: str) -> None:
        """Keep all values of a tenant out of records: another process may have filled them in."""
        after = ""
        while True:
            rows = await self._store.secrets.page(tenant, after=after, limit=_ALL)
            for row in rows:
                try:
                    self.redactor.remember(tenant, row.name, self._opened(row))
                except TenutoError:
                    continue  # no process with these keys has filled it in
            if len(rows) < _ALL:
                return
            after = rows[-1].name

    # -- without secrets

    def outcome(
        self, tenant: str, report: TaskSucceeded | TaskFailed
    ) -> TaskSucceeded | TaskFailed:
        """The outcome of an attempt as it may be recorded."""
        if not self.redactor.knows(tenant):
            return report
        if isinstance(report, TaskFailed):
            error = self.failure(tenant, report.error)
            return report if error is report.error else replace(report, error=error)
        output = self.redactor.value(tenant, report.output)
        return report if output is report.output else replace(report, output=output)

    def report(self, tenant: str, report: TaskReport) -> TaskReport:
        """The report of a worker as it may be recorded."""
        redactor = self.redactor
        if not redactor.knows(tenant):
            return report
        error = report.error
        return replace(
            report,
            output=UNSET if report.output is UNSET else redactor.value(tenant, report.output),
            error=None
            if error is None
            else replace(
                error,
                code=redactor.text(tenant, error.code),
                message=redactor.text(tenant, error.message),
                details=redactor.value(tenant, error.details),
            ),
            logs=None if report.logs is None else self.lines(tenant, report.logs),
        )

    def failure(self, tenant: str, failure: Failure) -> Failure:
        """A failure as it may be recorded."""
        redactor = self.redactor
        if not redactor.knows(tenant):
            return failure
        return replace(
            failure,
            code=redactor.text(tenant, failure.code),
            message=redactor.text(tenant, failure.message),
            details=redactor.value(tenant, failure.details),
        )

    def lines(self, tenant: str, chunk: LogChunk) -> LogChunk:
        """Lines of an attempt as they may be recorded."""
        redactor = self.redactor
        if not redactor.knows(tenant):
            return chunk
        lines = [replace(line, text=redactor.text(tenant, line.text)) for line in chunk.lines]
        return replace(chunk, lines=tuple(lines))

    def value(self, tenant: str, value: JSON) -> JSON:
        """The details of a heartbeat, or another value, as it may be recorded."""
        return self.redactor.value(tenant, value)

    # -- inner

    def _opened(self, row: SecretRow) -> str:
        return self._seals.open(row.sealed, about(row.tenant, row.name)).decode()

    async def _destination(
        self, tenant: str, order: StartAttempt, config: BuiltIn | None
    ) -> str | None:
        """Where the input is sent: a host with its port, or a data source; None: anywhere."""
        match config:
            case Http():
                return _host_of(order.input)
            case DataQuery() if self._source_of is not None:
                return await self._source_of(tenant, config.data_query_id)
            case _:
                return None


def _host_of(request: JSON) -> str | None:
    """The host that a request goes to, by its URL; None where that is not sure."""
    url = request.get("url") if isinstance(request, Mapping) else None
    # Parsers disagree on what follows a backslash or a space.
    if not isinstance(url, str) or any(each <= " " or each == "\\" for each in url):
        return None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or "{" in host:
        # A part of the host is a secret itself.
        return None
    shown = f"[{host}]" if ":" in host else host.rstrip(".")
    return f"{shown}:{port or (443 if parts.scheme == 'https' else 80)}"


def _may_be_sent(row: SecretRow, destination: str | None) -> bool:
    if row.destinations is None:
        return True
    if destination is None:
        return False
    host = destination.rpartition(":")[0] if _has_port(destination) else destination
    return destination.lower() in row.destinations or host.lower() in row.destinations


def _has_port(destination: str) -> bool:
    return destination.rpartition(":")[2].isdigit() and ":" in destination


def _unknown(names: list[str]) -> Failure:
    said = f"secret {names[0]}" if len(names) == 1 else f"secrets {', '.join(names)}"
    return Failure(
        code=UNKNOWN_SECRET,
        message=f"there is no {said}; `tenuto secrets set {names[0]}` stores it",
        details={"secrets": [*names]},
        retryable=False,
    )


def _not_allowed(row: SecretRow, destination: str | None) -> Failure:
    allowed = ", ".join(row.destinations or ())
    where = "the input of this step" if destination is None else destination
    return Failure(
        code=SECRET_NOT_ALLOWED,
        message=f"the secret {row.name} may be sent to {allowed} only, and not to {where}",
        details={"secret": row.name, "destinations": [*(row.destinations or ())]},
        retryable=False,
    )
