"""What reaches a lane: an input for an instance, and who wants to know what became of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TypeAlias

from msgspec import Struct

from tenuto.core import Plan, Rejection
from tenuto.model.events import Event
from tenuto.model.inputs import Input
from tenuto.model.status import Status
from tenuto.store.parts.turns import EventResult


class Answer(Struct, frozen=True, gc=False, kw_only=True):
    """What became of an input, told only once it is durable."""

    instance_id: str
    status: Status
    version: int
    rejection: Rejection | None = None
    is_repeat: bool = False
    """The start repeated an idempotency key: nothing new was made."""


class StartFacts(Struct, frozen=True, kw_only=True):
    """What a start brings beside its input."""

    plan: Plan
    tenant: str = "default"
    key: str | None = None
    content_hash: bytes = b""


class LookAgain(Struct, frozen=True, gc=False, tag="look-again"):
    """A message to whoever owns an instance: another process has advanced it, to this version."""

    version: int = 0


class IndexAgain(Struct, frozen=True, gc=False, tag="index-again"):
    """By what the instance is found has to be written, since nobody may have yet.

    A write has what follows from the state, and that there is one is all it is for. To an owner
    elsewhere it is a message.
    """


class TakenOver(Struct, frozen=True, gc=False, tag="taken-over"):
    """This process owns an instance whose owner is gone."""


class OfferJob(Struct, frozen=True, gc=False, tag="offer-job"):
    """An attempt that this process's instance owes, and whose task others have."""

    node: str
    iteration: str
    attempt: int
    task_id: str
    timeout: timedelta
    heartbeat_timeout: timedelta | None


Matter: TypeAlias = Input | LookAgain | IndexAgain | TakenOver | OfferJob
"""What a request is about: something that happened to an instance, or to its owner."""


class Request(Struct, eq=False):
    """An input on its way; without a future nobody waits for the answer."""

    instance_id: str
    input: Matter
    future: asyncio.Future[Answer] | None = None
    mail_id: str | None = None
    start: StartFacts | None = None
    drops_if_gone: bool = False
    """A message: whether it is taken off where no instance is, and none will be, to take it."""
    lease: int | None = None
    """Of a report about a job: the token under which it came about."""
    refusal: Rejection | None = None
    """Why nothing can follow from it: there can be no such instance, or the store refuses that."""
    setbacks: int = 0
    """How often not even its refusal could be written."""

    @property
    def is_new(self) -> bool:
        """Whether somebody waits to hear if it is accepted; nothing is promised to them yet."""
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
