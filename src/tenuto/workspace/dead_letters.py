"""The dead letters of one tenant: listed, run again, discarded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.engine.upkeep.dead_letter_history import entries_behind
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.edited import EditedInput
from tenuto.model.errors import Conflict, NotFound, StoreUnavailable, may_be_written
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.store.parts.dead_letters import (
    DeadLetterPlace,
    DeadLetterRow,
    LetterQuery,
)
from tenuto.store.protocol import Parts, Store
from tenuto.workspace.cursors import Milliseconds, read_cursor, write_cursor
from tenuto.workspace.history import history_view
from tenuto.workspace.letter_causes import (
    MOST_GROUPED,
    MOST_LOOKED_AT,
    Tally,
    fits,
    workflows_of,
)
from tenuto.workspace.portions import MOST_BYTES, Portions, size_of_parts
from tenuto.workspace.stored_instance import StoredInstance
from tenuto.workspace.values import ALL_DEAD_LETTERS, DeadLetterFilter, DeadLetterGroups, Page

_AHEAD = 500
"""So many letters more are read together to pass over those that only `fits` leaves out."""


class _Place(NamedTuple):
    """The last dead letter of a page."""

    at_ms: Milliseconds
    id: str
    instance_id: str


class _Portion(NamedTuple):
    """Dead letters that were read together."""

    rows: list[DeadLetterRow]
    end: DeadLetterPlace | None
    """The place down to which was read; None: there are no more."""


class DeadLetters:
    """Tasks whose failure nothing handled, poison tasks, and late results."""

    __slots__ = ("_at", "_store", "_tenant")

    def __init__(self, store: Store, tenant: str, at: Callable[[str], StoredInstance]) -> None:
        """`at` gives an instance of the tenant, in the name of who asks."""
        self._store = store
        self._tenant = tenant
        self._at = at

    async def rows(
        self, limit: int, cursor: str | None = None, which: DeadLetterFilter = ALL_DEAD_LETTERS
    ) -> tuple[list[DeadLetterRow], str | None]:
        """A page of dead letters as the store has them, newest first, and its cursor.

        A filter that finds few ends the page after many others: the cursor goes on from there.
        """
        at = read_cursor(cursor, _Place)
        place = None if at is None else DeadLetterPlace(from_epoch_ms(at.at_ms), *at[1:])
        found: list[DeadLetterRow] = []
        async for portion in self._portions(place, which, limit, found):
            found += (row for row in portion.rows if fits(row, which))
            if portion.end is None and len(found) <= limit:
                return found, None
            place = portion.end or _place_of(portion.rows[-1])
        if len(found) >= limit:
            found = found[:limit]
            place = _place_of(found[-1])
        assert place is not None
        return found, write_cursor(_Place(epoch_ms(place.at), place.id, place.instance_id))

    async def groups(self, which: DeadLetterFilter = ALL_DEAD_LETTERS) -> DeadLetterGroups:
        """The newest dead letters that a filter finds, by cause."""
        tally = Tally()
        is_complete = False
        looked_at = size = 0
        async for portion in self._portions(None, which, MOST_GROUPED, ()):
            found = [row for row in portion.rows if fits(row, which)]
            tally.add(found, await workflows_of(self._seen, self._tenant, found))
            is_complete = portion.end is None
            looked_at += len(portion.rows)
            size += sum(map(_size, portion.rows))
            if looked_at >= MOST_GROUPED or size >= MOST_BYTES:
                break
        return DeadLetterGroups(items=tally.groups(), is_complete=is_complete)

    async def workflows(self, rows: Sequence[DeadLetterRow]) -> Mapping[str, str]:
        """By the ids of their instances, the workflows of letters."""
        return await workflows_of(self._seen, self._tenant, rows)

    async def _portions(
        self,
        place: DeadLetterPlace | None,
        which: DeadLetterFilter,
        limit: int,
        found: Sequence[DeadLetterRow],
    ) -> AsyncIterator[_Portion]:
        """Letters below a place, as many as fit, until enough are found or were looked at.

        `found` grows meanwhile.
        """
        if place is None and which.created_before is not None:
            place = DeadLetterPlace(which.created_before, "", "")
        # The store compares the rest.
        asked = LetterQuery(which.kind, which.task_id, which.workflow, which.code or None)
        ahead = _AHEAD if which.is_narrower_than_a_store or which.code == "" else 0
        portions, down_to = Portions(), None
        if ahead or any(asked):
            # Those that do not fit are passed over, whose number only this bounds.
            letters = self._seen.dead_letters
            down_to = await letters.place(self._tenant, MOST_LOOKED_AT, below=place)
        while wanted := portions.next(limit + ahead, len(found)):
            if len(found) >= limit:
                return
            rows = await self._seen.dead_letters.page(
                self._tenant, wanted, below=place, down_to=down_to, which=asked
            )
            portions.add(map(_size, rows))
            is_past = which.created_from is not None and rows and rows[-1].at < which.created_from
            is_all = len(rows) < wanted
            place = down_to if is_all else _place_of(rows[-1])
            yield _Portion(rows, None if is_past else place)
            if is_all or is_past:
                return

    async def page(
        self,
        *,
        kind: str | None = None,
        task_id: str | None = None,
        workflow: str | None = None,
        step_id: str | None = None,
        code: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """A page of dead letters, newest first; `code` is that of their error."""
        which = DeadLetterFilter(
            kind=kind, task_id=task_id, workflow=workflow, step_id=step_id, code=code
        )
        rows, next_cursor = await self.rows(limit, cursor, which)
        return Page(items=[*map(letter_view, rows)], next_cursor=next_cursor)

    async def row(self, id: str) -> DeadLetterRow:
        """A dead letter as the store has it; NotFound."""
        return await letter_row(self._seen, self._tenant, id)

    async def get(self, id: str) -> Object:
        """A dead letter with the `history` of its step; NotFound."""
        letter = await self.row(id)
        entries = await entries_behind(self._seen, letter)
        return {**letter_view(letter), "history": [history_view(each) for each in entries]}

    async def retry(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Retry its task or compensation, and remove the dead letter. Conflict if impossible.

        `input` replaces the input that the task failed with; InvalidInput if it does not match the
        declared input schema of the task.
        """
        letter = await self.row(id)
        if letter.kind == "late-result":
            raise late_result()
        status = await self._run_again(letter, input)
        # Most letters went with the retry. One of a handled failure, such as of a poison step, is
        # left and goes now.
        try:
            await self._store.dead_letters.discard(self._tenant, letter.instance_id, id)
        except StoreUnavailable as error:
            raise may_be_written(
                f"it is tried again, and whether its letter is gone is not known: {error.message}"
            ) from error
        return status

    async def discard(self, id: str) -> None:
        """Remove a dead letter; the instance stays as it is. NotFound."""
        letter = await self.row(id)
        await self._store.dead_letters.discard(self._tenant, letter.instance_id, id)

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        rows = await self._seen.dead_letters.page(self._tenant, limit)
        return [*map(letter_view, rows)]

    async def _run_again(self, letter: DeadLetterRow, input: JSON | UnsetType) -> Status:
        instance = self._at(letter.instance_id)
        if letter.kind == "compensation-failed":
            return await instance.retry_compensation(letter.node, letter.iteration, input=input)
        if isinstance(input, UnsetType):
            await self._refuse_released_alone(instance)
            return await instance.retry()
        edited = EditedInput(step_id=letter.node, iteration=letter.iteration, input=input)
        return await instance.retry(edited=edited)

    async def _refuse_released_alone(self, instance: StoredInstance) -> None:
        """Conflict where a retry of the instance would release it, and not do what failed."""
        suspect = await self._store.quarantine.get(instance.id)
        if suspect is None or not suspect.is_quarantined:
            return
        if await instance.status() is not Status.FAILED:
            raise Conflict(
                f"instance {instance.id} is quarantined: {suspect.reason}",
                code="TEN-3013",
                advice=f"Release it first: tenuto retry {instance.id}. The dead letter stays.",
            )

    @property
    def _seen(self) -> Parts:
        return self._store.seen_by(self._tenant)


def late_result() -> Conflict:
    """The refusal of a retry of a late result."""
    return Conflict(
        "a result that came too late cannot be tried again",
        code="TEN-3041",
        advice="Look at what it did, undo that by hand if need be, and discard the letter.",
    )


async def letter_row(store: Parts, tenant: str, id: str) -> DeadLetterRow:
    """A dead letter as the store has it; NotFound."""
    found = await store.dead_letters.get(tenant, id.partition(":")[0], id)
    if found is None:
        raise NotFound(f"there is no dead letter {id}", code="TEN-3040")
    return found


def _size(row: DeadLetterRow) -> int:
    return size_of_parts(row.input, row.error, row.output)


def _place_of(row: DeadLetterRow) -> DeadLetterPlace:
    return DeadLetterPlace(row.at, row.id, row.instance_id)


def letter_view(row: DeadLetterRow) -> Object:
    """A dead letter in JSON, with the names of the specification."""
    view: Object = {
        "id": row.id,
        "kind": row.kind,
        "instanceId": row.instance_id,
        "stepId": row.node,
        "iteration": row.iteration,
        "taskId": row.task_id,
        "input": _decoded(row.input),
        "error": _decoded(row.error),
        "attempts": row.attempt,
        "at": iso(row.at),
    }
    output = _decoded(row.output)
    if output is not None:
        view["output"] = output
    return view


def _decoded(stored: bytes | None) -> JSON:
    value: JSON = msgspec.json.decode(stored) if stored else None
    return value
