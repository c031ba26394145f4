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

from tenuto.engine.secrets.vault import NotAllowed, NotGiven, UnknownSecret, Vault
from tenuto.model.effects import StartAttempt
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
from tenuto.model.secret_place import fill_in, is_destination, names_of
from tenuto.model.task_logs import LogChunk
from tenuto.tasks.secrets import FilledInput

CheckInput: TypeAlias = Callable[[str, str, JSON], Failure | None]
"""Tenant, task and input → why the input does not fit."""
SourceOf: TypeAlias = Callable[[str, str], Awaitable[str | None]]
"""Tenant and query → the id of its data source."""


_URL = ("url",)
"""Where the request of an http step has its URL."""


class Secrets:
    """Fills in the secrets of all tenants, for one process."""

    def __init__(self, vault: Vault, check: CheckInput, source_of: SourceOf | None = None) -> None:
        """`check` is that of declared tasks; `source_of` finds the data source of a query."""
        self._vault = vault
        self._check = check
        self._source_of = source_of
        self._redactor = vault.redactor

    async def fill(
        self, tenant: str, order: StartAttempt, config: BuiltIn | None = None
    ) -> FilledInput | Failure:
        """The input of an attempt with its secrets, or why it cannot run; StoreUnavailable.

        `config` is that of a built-in task. From now on the values are kept out of all records.
        """
        if isinstance(config, Http) and (name := _in_host(order)) is not None:
            said = f"the secret {name} is a part of the host of a URL, and hosts are recorded"
            return _of(SECRET_NOT_ALLOWED, said, [name])
        destination = await self._destination(tenant, order, config)
        seconds = order.timeout.total_seconds()
        values: dict[str, str] = {}
        missing: dict[str, NotGiven] = {}
        for name in names_of(order.secrets):
            try:
                values[name] = await self._vault.value(
                    tenant, name, destination=destination, seconds=seconds
                )
            except NotGiven as error:
                missing[name] = error
        if missing:
            return _failure(missing)
        filled = fill_in(order.input, order.secrets, values)
        if config is None and (misfit := self._check(tenant, order.task_id, filled)) is not None:
            return self.failure(tenant, misfit)
        return FilledInput(filled, tuple(values.values()))

    async def learn(self, tenant: str) -> None:
        """Keep all values of a tenant out of records: another process may have filled them in."""
        await self._vault.learn(tenant)

    # -- without secrets

    def outcome(
        self, tenant: str, report: TaskSucceeded | TaskFailed
    ) -> TaskSucceeded | TaskFailed:
        """The outcome of an attempt as it may be recorded."""
        if tenant not in self._redactor.tenants:
            return report
        if isinstance(report, TaskFailed):
            return replace(report, error=self.failure(tenant, report.error))
        output = self._redactor.value(tenant, report.output)
        return report if output is report.output else replace(report, output=output)

    def report(self, tenant: str, report: TaskReport) -> TaskReport:
        """The report of a worker as it may be recorded."""
        redactor, error = self._redactor, report.error
        if not redactor.knows(tenant):
            return report
        if error is not None:
            error = replace(
                error,
                code=redactor.text(tenant, error.code),
                message=redactor.text(tenant, error.message),
                details=redactor.value(tenant, error.details),
            )
        return replace(
            report,
            output=UNSET if report.output is UNSET else redactor.value(tenant, report.output),
            error=error,
            logs=None if report.logs is None else self.lines(tenant, report.logs),
        )

    def failure(self, tenant: str, failure: Failure) -> Failure:
        """A failure as it may be recorded."""
        redactor = self._redactor
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
        redactor = self._redactor
        if not redactor.knows(tenant):
            return chunk
        lines = [replace(line, text=redactor.text(tenant, line.text)) for line in chunk.lines]
        return replace(chunk, lines=tuple(lines))

    def shown(self, tenant: str, value: JSON) -> JSON:
        """The details of a heartbeat, or another value, as it may be recorded."""
        return self._redactor.value(tenant, value)

    # -- inner

    async def _with_url(self, tenant: str, order: StartAttempt) -> JSON:
        """The input with the secrets of its URL, which say where the others are sent."""
        places = [place for place in order.secrets if place.path == _URL]
        try:
            values = {name: await self._vault.looked_at(tenant, name) for name in names_of(places)}
        except NotGiven:
            return None
        return fill_in(order.input, places, values)

    async def _destination(
        self, tenant: str, order: StartAttempt, config: BuiltIn | None
    ) -> str | None:
        """Where the input is sent: a host with its port, or a data source; None: anywhere."""
        match config:
            case Http():
                return _host_of(await self._with_url(tenant, order))
            case DataQuery() if self._source_of is not None:
                source_id = await self._source_of(tenant, config.data_query_id)
                return source_id if source_id is not None and is_destination(source_id) else None
            case _:
                return None


def _in_host(order: StartAttempt) -> str | None:
    """The secret that is a part of the host of a URL; a whole URL may be one."""
    url = order.input.get("url") if isinstance(order.input, Mapping) else None
    begin = url.find("://") + 3 if isinstance(url, str) and "://" in url else 0
    for place in order.secrets:
        if place.path == _URL and isinstance(url, str) and place.at > 0:
            before = url[begin : place.at]
            if place.at < begin or not any(each in before for each in "/?#"):
                return place.name
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
        return None
    shown = f"[{host}]" if ":" in host else host.rstrip(".")
    return f"{shown}:{port or (443 if parts.scheme == 'https' else 80)}"


def _failure(missing: Mapping[str, NotGiven]) -> Failure:
    """Why secrets were not given: all of them, by the first reason."""
    unknown = [name for name, error in missing.items() if isinstance(error, UnknownSecret)]
    if len(unknown) > 1:
        message = f"there are no secrets {', '.join(unknown)}; `tenuto secrets set` stores them"
        return _of(UNKNOWN_SECRET, message, unknown)
    if unknown:
        return _of(UNKNOWN_SECRET, str(missing[unknown[0]]), unknown)
    name, error = next(iter(missing.items()))
    if isinstance(error, NotAllowed):
        return _of(SECRET_NOT_ALLOWED, str(error), [name])
    # Another process may have the key.
    return _of(SECRET_UNREADABLE, str(error), [name], retryable=True)


def _of(code: str, message: str, names: list[str], *, retryable: bool = False) -> Failure:
    return Failure(code=code, message=message, details={"secrets": [*names]}, retryable=retryable)
