"""Values of the store sealed and opened, each for the record that it belongs to.

Kinds, ids, steps, moments, statuses, correlation ids and codes of errors stay readable, so that
rows are found and ordered as ever; all that an instance was given, has computed or has told is
sealed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenuto.encryption.codec import Codec
from tenuto.encryption.envelope import MARK, is_sealed, key_id_of
from tenuto.encryption.errors import CannotOpen, damaged, key_missing
from tenuto.model.events import Event
from tenuto.model.failure import LastError
from tenuto.model.json import JSON
from tenuto.model.log import LogRow
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.inbox import Delivery, SealedEvent
from tenuto.store.parts.instances import InstanceRow
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.turns import InstanceUpdate, InstanceWrite, Snapshot, StoredInstance
from tenuto.store.parts.waits import WaitRow

BLINDED: Final = "~"
"""Begins the paths of terms whose values are blinded; the key id and the paths follow."""
SEALED_KEY: Final = "$sealed"
"""The only name in the payload of an event that is stored sealed."""
SEALED_TEXT: Final = "$sealed:"
"""Begins a text that is stored sealed."""
_WITH_MESSAGES: Final = frozenset({"NODE_FAILED", "COMPENSATION_FAILED"})
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_log_row = tuple.__new__

S = TypeVar("S", bound=Struct)


class SealedWait(Struct, frozen=True, array_like=True):
    """The values of a wait, sealed together."""

    captures: str
    term_paths: str
    term_values: str


_decode_wait = msgspec.json.Decoder(SealedWait).decode


class Values:
    """Seals and opens values with a codec."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec

    # -- bytes and texts

    def sealed(self, value: bytes | None, about: bytes) -> bytes | None:
        return None if value is None else self.codec.seal(value, about)

    def opened(self, value: bytes | None, about: bytes) -> bytes | None:
        """The value, sealed or not; CannotOpen."""
        if value is None or not value.startswith(MARK):
            return value
        return self.codec.open(value, about)

    def sealed_text(self, text: str, about: bytes) -> str:
        return SEALED_TEXT + base64.b64encode(self.codec.seal(text.encode(), about)).decode()

    def opened_text(self, text: str | None, about: bytes) -> str | None:
        """A text, sealed or not; None for one that cannot be opened."""
        if text is None or not text.startswith(SEALED_TEXT):
            return text
        sealed = sealed_text(text)
        try:
            return None if sealed is None else self.codec.open(sealed, about).decode()
        except CannotOpen:
            return None

    # -- logs

    def sealed_rows(self, rows: Sequence[LogRow], about: bytes) -> tuple[LogRow, ...]:
        seal = self.codec.seal
        sealed: list[LogRow] = []
        for row in rows:
            seq, kind, node, iteration, attempt, status, variable, payload, _, at = row
            if payload is not None or seq == 1:
                # The first entry is always sealed: by it a sealed instance is known.
                payload = seal(payload or b"", about)
            place = (seq, kind, node, iteration, attempt, status, variable)
            sealed.append(_log_row(LogRow, (*place, payload, None, at)))
        return tuple(sealed)

    def opened_rows(self, rows: Sequence[LogRow], about: bytes) -> Sequence[LogRow]:
        """Rows of one log; the same object where none of them is sealed. CannotOpen."""
        for row in rows:
            if row.payload is not None and row.payload.startswith(MARK):
                return [self._opened_row(each, about) for each in rows]
        return rows

    def _opened_row(self, row: LogRow, about: bytes) -> LogRow:
        payload = row.payload
        if payload is None or not payload.startswith(MARK):
            return row
        plain = self.codec.open(payload, about) or None
        message = row.error_message
        if plain is not None and row.event_type in _WITH_MESSAGES:
            message = _decode(plain)["error"]["message"]
        return row._replace(payload=plain, error_message=message)

    # -- instances

    def sealed_write(self, write: InstanceWrite) -> InstanceWrite:
        """All that a turn writes for one instance, but its events."""
        about = write.instance_id.encode()
        update, snapshot = write.update, write.snapshot
        return replace(
            write,
            rows=self.sealed_rows(write.rows, about),
            update=None if update is None else self._sealed_update(update, about),
            snapshot=None
            if snapshot is None
            else Snapshot(version=snapshot.version, state=self.codec.seal(snapshot.state, about)),
            waits_opened=tuple(map(self.sealed_wait, write.waits_opened)),
            deliveries=tuple(map(self.sealed_delivery, write.deliveries)),
            mail_sent=tuple(map(self.sealed_mail, write.mail_sent)),
            dead_letters=tuple(self.sealed_letter(each) for each in write.dead_letters),
        )

    def _sealed_update(self, update: InstanceUpdate, about: bytes) -> InstanceUpdate:
        if update.output is None and update.last_error is None and update.cancellation is None:
            return update
        return replace(
            update,
            output=self.sealed(update.output, about),
            last_error=self.sealed(update.last_error, about),
            cancellation=self.sealed(update.cancellation, about),
        )

    def opened_instance(self, row: InstanceRow) -> InstanceRow:
        """The row of an instance; one whose values cannot be opened has the reason as its error."""
        if not any(map(_is_sealed, (row.output, row.last_error, row.cancellation))):
            return row
        about = row.id.encode()
        try:
            return replace(
                row,
                output=self.opened(row.output, about),
                last_error=self.opened(row.last_error, about),
                cancellation=self.opened(row.cancellation, about),
            )
        except CannotOpen as error:
            said = LastError(
                code=error.code, message=error.message, step_id=None, at=row.updated_at
            )
            return replace(row, output=None, last_error=_encode(said), cancellation=None)

    def opened_stored(self, stored: StoredInstance) -> StoredInstance:
        """An instance as it was loaded; one that cannot be opened says why."""
        state, tail = stored.state, stored.tail
        if not (_is_sealed(state) or any(_is_sealed(row.payload) for row in tail)):
            return stored
        about = stored.row.id.encode()
        try:
            return replace(
                stored,
                row=self.opened_instance(stored.row),
                state=self.opened(state, about),
                tail=tuple(self.opened_rows(tail, about)),
                is_sealed=True,
            )
        except CannotOpen as error:
            row = self.opened_instance(stored.row)
            return replace(stored, row=row, state=None, tail=(), is_sealed=True, unreadable=error)

    # -- rows beside the log

    def sealed_mail(self, mail: Mail) -> Mail:
        if _is_sealed(mail.input):
            return mail
        return replace(
            mail, input=self.codec.seal(mail.input, mail.instance_id.encode()), is_sealed=True
        )

    def opened_mail(self, mail: Mail) -> Mail:
        """A message; one that cannot be opened stays sealed, which no program can read."""
        if not is_sealed(mail.input):
            return mail
        try:
            plain = self.codec.open(mail.input, mail.instance_id.encode())
        except CannotOpen:
            return replace(mail, is_sealed=True)
        return replace(mail, input=plain, is_sealed=True)

    def sealed_letter(self, letter: DeadLetterRow) -> DeadLetterRow:
        about = letter.instance_id.encode()
        return replace(
            letter,
            input=self.sealed(letter.input, about),
            error=None if letter.error is None else self.sealed_error(letter.error, about),
            output=self.sealed(letter.output, about),
        )

    def sealed_error(self, error: bytes, about: bytes) -> bytes:
        """An error whose code, its first field, stays readable: dead letters are found by it."""
        code = _decode(error).get("code")
        return b'{"code":' + _encode(code) + self.codec.seal(error, about)

    def opened_letter(self, letter: DeadLetterRow) -> DeadLetterRow:
        """A dead letter; one that cannot be opened has the reason as its error."""
        error = letter.error
        at = -1 if error is None else error.find(MARK)
        if at < 0 and not (_is_sealed(letter.input) or _is_sealed(letter.output)):
            return letter
        about = letter.instance_id.encode()
        try:
            return replace(
                letter,
                input=self.opened(letter.input, about),
                error=error if error is None or at < 0 else self.opened(error[at:], about),
                output=self.opened(letter.output, about),
            )
        except CannotOpen as refused:
            said = {"code": refused.code, "message": refused.message}
            return replace(letter, input=None, error=_encode(said), output=None)

    def sealed_wait(self, wait: WaitRow) -> WaitRow:
        values = SealedWait(wait.captures.decode(), wait.term_paths, wait.term_values)
        captures = self.codec.seal(_encode(values), wait.instance_id.encode())
        key_id = self.codec.current
        paths = blinded = ""
        if wait.term_paths and key_id is not None:
            found = self.blinded(wait.tenant, wait.term_paths, wait.term_values, key_id)
            if found is not None:
                paths, blinded = f"{BLINDED}{key_id}{BLINDED}{wait.term_paths}", found
        return replace(
            wait, captures=captures, term_paths=paths, term_values=blinded, is_sealed=True
        )

    def opened_wait(self, wait: WaitRow) -> WaitRow:
        """A wait; its terms are restored where they are in the index. CannotOpen."""
        if not is_sealed(wait.captures):
            return wait
        found = _decode_wait(self.codec.open(wait.captures, wait.instance_id.encode()))
        captures = found.captures.encode()
        if not wait.term_paths:
            return replace(wait, captures=captures, is_sealed=True)
        return replace(
            wait,
            captures=captures,
            term_paths=found.term_paths,
            term_values=found.term_values,
            is_sealed=True,
        )

    def blinded(self, tenant: str, paths: str, values: str, key_id: str) -> str | None:
        """The text under which the index has values; CannotOpen."""
        return self.codec.blind(values.encode(), f"{tenant}\0{paths}".encode(), key_id)

    def sealed_delivery(self, delivery: Delivery) -> Delivery:
        if delivery.reason is None:
            return delivery
        reason = self.sealed_text(delivery.reason, delivery.instance_id.encode())
        return delivery._replace(reason=reason)

    def opened_delivery(self, delivery: Delivery) -> Delivery:
        reason = delivery.reason
        if reason is None or not reason.startswith(SEALED_TEXT):
            return delivery
        return delivery._replace(reason=self.opened_text(reason, delivery.instance_id.encode()))

    # -- events

    def sealed_event(self, event: Event) -> Event:
        sealed = self.codec.seal(_encode(event.payload), _about_event(event))
        return SealedEvent(
            id=event.id,
            pattern=event.pattern,
            payload=event.payload,
            received_at=event.received_at,
            timestamp=event.timestamp,
            correlation_id=event.correlation_id,
            chain=event.chain,
            origin=event.origin,
            tenant=event.tenant,
            sealed=_encode({SEALED_KEY: base64.b64encode(sealed).decode()}),
        )

    def opened_event(self, event: Event) -> Event:
        """An event; the payload of one that cannot be opened stays as it is stored."""
        sealed = sealed_payload(event.payload)
        if sealed is None:
            return event
        try:
            return replace(event, payload=_decode(self.codec.open(sealed, _about_event(event))))
        except CannotOpen:
            return event


def sealed_payload(payload: JSON) -> bytes | None:
    """The sealed bytes in the payload of an event; None if it is a plain one."""
    if not isinstance(payload, dict) or len(payload) != 1:
        return None
    text = payload.get(SEALED_KEY)
    if not isinstance(text, str):
        return None
    try:
        sealed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return sealed if is_sealed(sealed) else None


def readable(event: Event) -> Event:
    """The same event; CannotOpen for one whose payload is still sealed."""
    sealed = sealed_payload(event.payload)
    if sealed is None:
        return event
    key_id = key_id_of(sealed)
    raise damaged(None) if key_id is None else key_missing(key_id, "it was stored by another one")


def sealed_text(text: str) -> bytes | None:
    """The sealed bytes in a text that is stored sealed; None if they are damaged."""
    try:
        return base64.b64decode(text[len(SEALED_TEXT) :])
    except (binascii.Error, ValueError):
        return None


def about_event(tenant: str, id: str) -> bytes:
    """What the payload of an event is sealed for."""
    return f"{tenant}\0{id}".encode()


def _about_event(event: Event) -> bytes:
    return about_event(event.tenant, event.id)


def _is_sealed(value: bytes | None) -> bool:
    return value is not None and value.startswith(MARK)
