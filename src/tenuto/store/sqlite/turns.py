"""Turns: commit, and load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from operator import attrgetter

from tenuto.model.log import LogRow
from tenuto.store.looking import looked_for_each
from tenuto.store.parts.turns import NOTHING_KNOWN, StoredInstance, Turn, TurnResult
from tenuto.store.sqlite.commit import commit_turn
from tenuto.store.sqlite.part import SqlitePart
from tenuto.store.sqlite.rows import OwnerRow, entries_of, instances_of, jobs_of, owners_of
from tenuto.store.sqlite.session import Session, as_json

_seq = attrgetter("seq")


class SqliteTurns(SqlitePart):
    """The hot path. There is one writer, whichever lane commits."""

    async def commit(self, turn: Turn, lane: int = 0) -> TurnResult:  # noqa: ARG002
        file = self._file
        file.require_writer()
        session, heard = file.writing, file.heard
        return await file.commit(lambda: commit_turn(session, turn, heard))

    async def load(
        self, instance_ids: Sequence[str], known: Mapping[str, int] = NOTHING_KNOWN
    ) -> dict[str, StoredInstance]:
        file = self._file
        return await looked_for_each(
            instance_ids,
            lambda ids: file.read(lambda session: _load(session, ids, known, file.left_clean)),
        )


def _load(
    session: Session,
    instance_ids: Sequence[str],
    known: Mapping[str, int],
    left_clean: AbstractSet[OwnerRow],
) -> dict[str, StoredInstance]:
    """Rows, folds and tails of one moment; `left_clean`: rows of owners that took over so."""
    wanted = list(dict.fromkeys(instance_ids))
    ids = (as_json(wanted),)
    rows = {row.id: row for row in instances_of(session, ids)}
    folds = {id: (version, state) for id, version, state in session.rows("snapshots", ids)}
    owners = {owner.instance_id: owner for owner in owners_of(session, ids)}
    jobs = jobs_of(session, ids)
    since = as_json([[id, known.get(id, 0)] for id in wanted])
    tails: dict[str, list[LogRow]] = {id: [] for id in rows}
    for instance_id, entry in entries_of(session, "tails", (since,)):
        if instance_id in tails:
            tails[instance_id].append(entry)
    return {
        id: StoredInstance(
            row=row,
            state=folds[id][1] if id in folds else None,
            state_version=folds[id][0] if id in folds else 0,
            state_bytes=len(folds[id][1]) if id in folds else 0,
            tail=tuple(sorted(tails[id], key=_seq)),
            owner=owners[id].process_id if id in owners else None,
            was_left_clean=id in owners and owners[id] in left_clean,
            jobs=tuple(job for job in jobs if job.key.instance_id == id) if jobs else (),
        )
        for id, row in rows.items()
    }
