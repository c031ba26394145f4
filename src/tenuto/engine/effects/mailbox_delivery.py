"""Delivers mailbox messages to instances: at once in this process, else when the owner polls.

A mailbox message is a row that was written with its cause, and stays until the log of its instance
has taken it: a delivery is a hint, and may happen twice. The message that starts an instance
precedes all others for it; until it has been taken, the others stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable

import msgspec
from msgspec import UNSET

from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.effects.mailbox_starts import MailboxStarts
from tenuto.engine.events.mailbox_messages import InboxReader, InInbox
from tenuto.engine.turns.requests import IndexAgain, LookAgain, Request, ScheduledStart
from tenuto.model.effects import SendMail
from tenuto.model.errors import StoreUnavailable
from tenuto.model.ids import start_letter
from tenuto.model.inputs import EventCause, Occurrence, ScheduleCause, Started
from tenuto.store.parts.mailbox import Mail, MailKey
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.mail")

_GONE = "TEN-3001"
_ENOUGH = 4
"""With more than so many batches in hand, or before the lanes, further ones are read later."""
_FULL_HANDS_EVERY = 5
"""One in so many passes reads all the same."""
_decode = msgspec.json.Decoder(
    Occurrence | LookAgain | IndexAgain | InInbox | ScheduledStart
).decode


class MailboxDelivery:
    """Hands mailbox messages over to instances of this process."""

    def __init__(
        self,
        *,
        store: Store,
        starts: MailboxStarts,
        unreadable: Callable[[MailKey], None],
        may_start: Callable[[], Collection[str]],
        waiting: Callable[[], int] = lambda: 0,
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        """`unreadable`: a mailbox message is for a process whose program can read it.

        `may_start`: instances with unreadable messages, which may be their starts. `waiting`: how
        many promised inputs wait before the lanes.
        """
        self._store = store
        self.starts = starts
        self._unreadable = unreadable
        self._may_start = may_start
        self._waiting = waiting
        self._bounds = bounds
        self._in_hand: dict[MailKey, bool] = {}
        """Messages that were handed over and are not taken yet; whether each is a start."""
        self._taken: set[MailKey] | None = None
        """During a read: messages that were taken since, and that its result may still have."""
        self._repeated: set[MailKey] = set()
        """Messages in hand that were read or sent again: perhaps they were written anew after the
        turn that takes the first."""
        self._to_check: set[MailKey] = set()
        """Repeated messages that were taken: if they are there, they were not handed over."""
        self._left: list[Request] = []
        """Messages in hand whose instance does not exist yet."""
        self._others: list[MailKey] = []
        """Messages in hand that belong to other processes."""
        self._passes = 0
        self._is_in_doubt = False
        """Whether there may be messages that this process has claimed and not handed over."""
        self._is_stopped = False

    def stop(self) -> None:
        """Hand nothing over any more: the next process reads what is in the mailbox.

        Each message may lead to further ones: a family of instances would keep an engine that stops
        at work.
        """
        self._is_stopped = True

    def send(self, message: SendMail, tenant: str, *, is_sealed: bool = False) -> None:
        """Hand over a message that has just become durable; whether it is stored encrypted."""
        key = MailKey(message.id, message.to)
        if self._is_stopped:
            return
        if key in self._in_hand:  # a read was faster
            self._repeated.add(key)
            return
        self._in_hand[key] = isinstance(message.input, Started)
        request = Request(
            message.to, message.input, mail_id=message.id, tenant=tenant, is_sealed=is_sealed
        )
        started = message.input
        if not isinstance(started, Started):
            self.starts.follow(request)
            return
        self.starts.begin(request, started, tenant)

    async def begin(self) -> bool:
        """Read the oldest messages, and no more than one read has; whether there may be more."""
        return await self._read(1) >= self._bounds.mail_batch

    async def run_once(self) -> int:
        """Read new messages; returns how many were handed over."""
        self._passes += 1
        if self._passes % _FULL_HANDS_EVERY and self._has_hands_full:
            return 0
        return await self._read(self._bounds.mail_rounds)

    async def _read(self, rounds: int) -> int:
        await self.put_back()
        count = 0
        again = await self._were_sent_again() or self._is_in_doubt
        self._is_in_doubt = True
        batch = self._bounds.mail_batch
        for _ in range(0 if self._is_stopped else rounds):
            taken = self._taken = set()
            try:
                messages = await self._store.mailbox.claim(batch + len(self._in_hand), again=again)
            finally:
                self._taken = None
            fresh = [each for each in messages if self._is_fresh(_key(each), taken)]
            await self._hand_over(fresh)
            count += len(fresh)
            if len(fresh) < batch:
                break
            if self._waiting() > _ENOUGH * batch:
                self._is_in_doubt = again
                return count  # the rest is read with the next pass
        else:
            # Not all was read: a missing instance may exist once the others were handed over.
            self._is_in_doubt = again
            return count
        self._is_in_doubt = False
        return count + await self._hand_over_again()

    def _is_fresh(self, key: MailKey, taken: set[MailKey]) -> bool:
        """Whether a message that was read is to be handed over; `taken` during the read."""
        if key not in self._in_hand and key not in taken:
            return True
        if self._store.is_shared:
            (self._repeated if key in self._in_hand else self._to_check).add(key)
        return False

    async def _were_sent_again(self) -> bool:
        """Whether messages that were taken are there again: the next read returns them again."""
        # What is in hand by now is removed by the turn that takes it.
        self._to_check -= self._in_hand.keys()
        if not self._to_check:
            return False
        checked = sorted(self._to_check)
        there = await self._store.mailbox.waiting(checked)
        self._to_check.difference_update(checked)
        return bool(there)

    @property
    def _has_hands_full(self) -> bool:
        """Whether thousands are in hand, and a read would return each of them.

        A file does not know which those are. All of them were written here, except for the
        messages of processes that only publish, which wait a little longer then.
        """
        return not self._store.is_shared and len(self._in_hand) > _ENOUGH * self._bounds.mail_batch

    def taken(self, instance_id: str, mail_ids: Iterable[str], *, started: bool = True) -> None:
        """The log of an instance has taken messages: their rows are gone.

        `started`: whether there is such an instance.
        """
        for mail_id in mail_ids:
            key = MailKey(mail_id, instance_id)
            if self._in_hand.pop(key, None):
                self.starts.settled(instance_id, started=started)
            if self._taken is not None:
                self._taken.add(key)
            if key in self._repeated:
                self._repeated.remove(key)
                self._to_check.add(key)

    def let_go(self, request: Request) -> None:
        """The instance does not exist: the message is handed over again later."""
        if request.mail_id is not None:
            key = MailKey(request.mail_id, request.instance_id)
            is_start = isinstance(request.input, Started)
            self._in_hand.setdefault(key, is_start)
            if is_start:
                self.starts.settled(request.instance_id, started=False)
            self._left.append(request)

    def leave_to_owner(self, request: Request) -> None:
        """Another process owns the instance: leave the message to it."""
        if request.mail_id is not None:
            key = MailKey(request.mail_id, request.instance_id)
            if self._in_hand.pop(key, None):
                self.starts.settled(request.instance_id, started=False)
            self._repeated.discard(key)
            self._others.append(key)

    def given_back(self, key: MailKey) -> None:
        """The message is for a newer program; if it comes here again, it is handed over anew."""
        self._in_hand.pop(key, None)
        self._repeated.discard(key)

    async def put_back(self) -> None:
        """Put messages of other processes back, for them to claim."""
        others, self._others = self._others, []
        if others:
            try:
                await self._store.mailbox.put_back(others)
            except StoreUnavailable:
                self._others += others
                raise

    def let_all_go(self) -> None:
        """Drop the messages in hand, which may be another process's now."""
        self._in_hand.clear()
        self._repeated.clear()
        self._to_check.clear()
        self.starts.let_all_go()
        self._left.clear()
        self._others.clear()

    async def _hand_over_again(self) -> int:
        """Once all was read: hand messages over whose instance did not exist before."""
        left, self._left = self._left, []
        try:
            starting = self._starting() | await self._started_elsewhere(left)
        except StoreUnavailable:
            self._left = left + self._left
            raise
        for request in left:
            if not isinstance(request.input, Started):
                request.drops_if_gone = request.instance_id not in starting
            self.starts.follow(request)
        return len(left)

    async def _started_elsewhere(self, requests: list[Request]) -> set[str]:
        """Instances whose start another process has in hand.

        Asked before the instance is read once more: so one of both is found.
        """
        if not (requests and self._store.is_shared):
            return set()
        ids = {request.instance_id for request in requests}
        starts = [MailKey(start_letter(id), id) for id in sorted(ids)]
        return {key.instance_id for key in await self._store.mailbox.waiting(starts)}

    def _starting(self) -> set[str]:
        """Instances that may exist once a message in hand was taken."""
        starting = {key.instance_id for key, is_start in self._in_hand.items() if is_start}
        return starting.union(self._may_start())

    async def _hand_over(self, messages: list[Mail]) -> None:
        inbox = InboxReader(self._store)
        starting = self._starting()
        inputs = [_decoded(message) for message in messages]
        tenants = await self._tenants(inputs)
        for message, decoded in zip(messages, inputs, strict=True):
            key = _key(message)
            self._in_hand[key] = False
            input = decoded
            if isinstance(input, msgspec.MsgspecError):
                log.warning(
                    "instance=%s: message=%s is unreadable: %s",
                    message.instance_id,
                    message.id,
                    input,
                )
                self._in_hand[key] = True  # it may be the start
                starting.add(message.instance_id)
                self._unreadable(key)
                continue
            if isinstance(input, InInbox):
                try:
                    input = await inbox.complete(input)
                except StoreUnavailable:
                    self._in_hand.pop(key, None)
                    raise
            request = Request(
                message.instance_id,
                input,
                mail_id=message.id,
                tenant=message.tenant,
                is_sealed=message.is_sealed,
            )
            if isinstance(input, Started):
                self._in_hand[key] = True
                starting.add(message.instance_id)
                cause = _cause(input)
                tenant = tenants.get(_source(input)) if cause is None else cause.tenant
                if tenant is None:
                    self.starts.refuse(request, "the instance that it comes from is gone", _GONE)
                else:
                    self.starts.begin(request, input, tenant)
            else:
                # Messages come oldest first: an instance without a start before this message will
                # never exist, unless another process has its start in hand.
                is_known = message.instance_id in starting or self._store.is_shared
                request.drops_if_gone = not is_known
                self.starts.follow(request)

    async def _tenants(self, inputs: Iterable[object]) -> dict[str | None, str]:
        """The tenants of the instances that starts come from; those that are gone have none."""
        sources = {
            source
            for input in inputs
            if isinstance(input, Started)
            and _cause(input) is None
            and (source := _source(input)) is not None
        }
        found = await self._store.turns.load(sorted(sources)) if sources else {}
        return {id: instance.row.tenant for id, instance in found.items()}


def _decoded(
    message: Mail,
) -> Occurrence | LookAgain | IndexAgain | InInbox | msgspec.MsgspecError:
    try:
        input: Occurrence | LookAgain | IndexAgain | InInbox | ScheduledStart = _decode(
            message.input
        )
    except msgspec.MsgspecError as error:
        return error
    return input.started if isinstance(input, ScheduledStart) else input


def _cause(started: Started) -> EventCause | ScheduleCause | None:
    """The event, or the tick, that a start comes from."""
    return started.cause if started.schedule is UNSET else started.schedule


def _source(started: Started) -> str | None:
    """The instance that a start comes from, as its parent or for a rerun."""
    return started.rerun_of if started.parent is None else started.parent.id


def _key(message: Mail) -> MailKey:
    return MailKey(message.id, message.instance_id)
