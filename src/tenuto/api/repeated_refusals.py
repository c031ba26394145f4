"""Refusals under load of requests like one that was refused a moment ago, made at once.

A refusal by the request pipeline costs a tenth of a start, and three times of what a process can do
are two refusals for each start that it takes. So the pipeline leaves each refusal under load here,
with all of the request that its checks depend on: address, method, path, and every header but
those that no check before it reads. For two seconds it is decided here, before it has a task,
whether a request that is the same in these is refused too: many come at once, and each counts for
the next. It counts for rates, tenants and metrics as any other. One that is not refused takes the
way through the pipeline, which knows that this is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from tenuto.access.principal import Principal
from tenuto.api.incoming import IncomingRequest, Passed, read_request_id
from tenuto.api.problems import ProblemAnswer
from tenuto.api.responses import Pairs, refusal_body, refusal_headers
from tenuto.engine.load.pressure import Sheddable
from tenuto.engine.load.pressure_watch import PressureWatch
from tenuto.metrics.requests import RequestCounts
from tenuto.model.errors import Overloaded, TenutoError
from tenuto.ports import Ids

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]

_REQUEST_ID: Final = b"x-request-id"
_UNREAD: Final = frozenset(
    {
        *(b"content-length", b"content-type", b"idempotency-key", _REQUEST_ID),
        *(b"traceparent", b"tracestate", b"user-agent", b"accept", b"accept-encoding"),
    }
)
"""Headers on which no refusal under load depends: clients change them from request to request."""
_MOST: Final = 1_000
_READINGS: Final = 4
"""For how many readings of the load a refusal is repeated: two seconds."""
_PLACE: Final = "TENUTO-REQUEST-ID"
_STATUS_LINE: Final = b"HTTP/1.1 429 Too Many Requests\r\n"


class _Key(NamedTuple):
    address: str
    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]


class _Refused(NamedTuple):
    kind: Sheddable
    principal: Principal
    operation: str
    head: bytes
    """Headers, but for the id and the length."""
    body: tuple[bytes, bytes]
    """Before and after the id of the request."""


class RepeatedRefusals:
    """What was refused under load a moment ago."""

    def __init__(
        self,
        pressure: PressureWatch,
        requests: RequestCounts,
        ids: Ids,
        *,
        count_source: Callable[[str], None],
        count_request: Callable[[Principal], None],
        is_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """`count_source`, `count_request`: a TenutoError where there have been too many.

        `is_on`: whether answers may be made without the pipeline.
        """
        self._is_on = is_on
        self._pressure = pressure
        self._requests = requests
        self._ids = ids
        self._count_source = count_source
        self._count_request = count_request
        self._known: dict[_Key, _Refused] = {}
        self._as_of = 0
        """The number of the reading at which the oldest was refused."""

    @property
    def has_any(self) -> bool:
        """Whether any request was refused under load a moment ago, and may be again here."""
        self._forget_old()
        return bool(self._known) and self._is_on()

    def keep(
        self, incoming: IncomingRequest, kind: Sheddable, answer: ProblemAnswer, around: Pairs
    ) -> None:
        """A request was refused under load; `around`: headers of every answer to it."""
        scope, principal, found = incoming.scope, incoming.principal, incoming.found
        if scope["query_string"] or principal is None or found is None or not self._is_on():
            return
        if scope["method"] == "HEAD":
            return  # its answer has no body
        self._forget_old()
        if len(self._known) >= _MOST:
            return
        if not self._known:
            self._as_of = self._pressure.readings_taken
        headers = [
            pair
            for pair in refusal_headers(answer, around)
            if pair[0] not in (_REQUEST_ID, b"content-length")
        ]
        body = refusal_body(answer, request_id=_PLACE).partition(_PLACE.encode())
        key = _key(
            incoming.source or "", scope["method"].encode(), scope["raw_path"], scope["headers"]
        )
        self._known[key] = _Refused(
            kind,
            principal,
            found.operation.name,
            b"".join(b"%s: %s\r\n" % pair for pair in headers),
            (body[0], body[2]),
        )

    def answer(
        self, address: str, method: bytes, target: bytes, headers: RawHeaders, default: RawHeaders
    ) -> bytes | Passed | None:
        """The whole answer to a request that is refused like one before.

        Passed: it is not refused under load. None: the pipeline decides. `default`: headers that
        the server adds to every answer.
        """
        self._forget_old()
        found = self._known.get(_key(address, method, target, headers))
        if found is None:
            return None
        tenant = found.principal.tenant
        try:
            self._pressure.refuse(found.kind, tenant)
        except Overloaded:
            pass
        else:
            is_start = found.kind == "starts"
            return Passed(self._pressure.starts.enter(tenant) if is_start else None)
        try:
            self._count_source(address)
            self._count_request(found.principal)
        except TenutoError:
            return None  # the pipeline says which rate it is
        self._requests.answered(found.operation, 429, 0.0)
        given = next((value for name, value in headers if name == _REQUEST_ID), None)
        id = read_request_id(given, self._ids).encode()
        before, after = found.body
        return b"".join(
            (
                _STATUS_LINE,
                *(b"%s: %s\r\n" % pair for pair in default),
                found.head,
                b"%s: %s\r\n" % (_REQUEST_ID, id),
                b"content-length: %d\r\n\r\n" % (len(before) + len(id) + len(after)),
                before,
                id,
                after,
            )
        )

    def _forget_old(self) -> None:
        now = self._pressure.readings_taken
        if self._known and now >= self._as_of + _READINGS:
            self._known.clear()


def _key(address: str, method: bytes, target: bytes, headers: RawHeaders) -> _Key:
    return _Key(
        address, method, target, tuple([pair for pair in headers if pair[0] not in _UNREAD])
    )
