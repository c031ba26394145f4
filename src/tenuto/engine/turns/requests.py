"""Requests to a lane: an input for an instance, and the future of its answer."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from tenuto.core import Plan, Rejection
from tenuto.model.events import Event
from tenuto.model.failure import Failure
from tenuto.model.inputs import Input, Started
from tenuto.model.slots import SlotRequest, SlotRules
from tenuto.model.status import Status
from tenuto.store.parts.turns import EventResult


class Answer(Struct, frozen=True, gc=False, kw_only=True):
    """The result of an input, given once it is durable."""

    instance_id: str
    status: Status
    version: int
    rejection: Rejection | None = None
    is_repeat: bool = False
    """The start repeated an idempotency key: nothing new was made."""
    failure: Failure | None = None
    """Why the attempt failed although its task had succeeded."""
    listens: bool = False
    """The node that an event was for takes further events."""


class RuledRequest(NamedTuple):
    """What a start asks for, by rules that were in force a moment ago."""

    rules: SlotRules
    request: SlotRequest | Rejection | None


class StartFacts(Struct, frozen=True, kw_only=True):
    """The facts of a start beside its input."""

    plan: Plan
    tenant: str = "default"
    key: str | None = None
    content_hash: bytes = b""
    needs_definition: bool = False
    """Whether the start is refused where its definition was removed before it is durable."""
    is_sealed: bool = False
    """Whether its values are encrypted whatever its definition says, as those of its parent are."""
    asked_at: datetime | None = None
    """When the request arrived: its place in a queue; None: the moment of its turn."""
    ruled: RuledRequest | None = None
    """What it asks for, where rules of the queue were evaluated before its turn."""


class Notice(Struct, frozen=True, gc=False):
    """An input for the owner of an instance, not for the core."""


class LookAgain(Notice, frozen=True, gc=False, tag="look-again"):
    """A mailbox message to the owner: another process has advanced the instance to `version`."""

    version: int = 0


class IndexAgain(Notice, frozen=True, gc=False, tag="index-again"):
    """The search terms of the instance have to be written, since they may be missing.

    The write has the terms that follow from the state. To an owner elsewhere it is a mailbox
    message.
    """


class ScheduledStart(Struct, frozen=True, gc=False, tag="scheduled-start"):
    """A mailbox message that starts the instance of a tick.

    A program that knows no schedules cannot read it, and leaves it to one that does.
    """

    started: Started


class TakenOver(Notice, frozen=True, gc=False, tag="taken-over"):
    """This process owns an instance of a dead process."""


class OfferJob(Notice, frozen=True, gc=False, tag="offer-job"):
    """An attempt that is offered to other processes."""

    node: str
    iteration: str
    attempt: int
    task_id: str
    timeout: timedelta
    heartbeat_timeout: timedelta | None


Matter: TypeAlias = Input | LookAgain | IndexAgain | TakenOver | OfferJob
"""The subject of a request: an input of the core, or one for the owner."""


class Request(Struct, eq=False):
    """An input on its way; without a future it has no waiting sender."""

    instance_id: str
    input: Matter
    future: asyncio.Future[Answer] | None = None
    mail_id: str | None = None
    start: StartFacts | None = None
    drops_if_gone: bool = False
    """A mailbox message: whether it is removed where its instance does not, and will not, exist."""
    lease: int | None = None
    """Of a report about a job: the token of its lease."""
    refusal: Rejection | None = None
    """Why it is refused: there can be no such instance, or the store refuses the consequences."""
    tenant: str = ""
    """The tenant, where the sender knows it: tenants take turns."""
    is_sealed: bool = False
    """Whether it comes from an instance whose values are encrypted."""
    setbacks: int = 0
    """How often not even its refusal could be written."""

    @property
    def is_new(self) -> bool:
        """Whether a sender waits to learn whether it is accepted; nothing is promised yet."""
        return self.future is not None and self.mail_id is None

    def answer(self, answer: Answer) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_result(answer)

    def refuse(self, error: Exception) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)


class EventRequest(Struct, frozen=True, kw_only=True):
    """An event on its way into the inbox."""

    event: Event
    future: asyncio.Future[EventResult]
    is_large: bool = False
    """Whether storing it takes long for others that wait."""
