"""Stores as a program sees them that is older than what is in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.turns import StoredInstance
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call
from tests.kit.scripted_store import ScriptedStore

UNKNOWN = frozenset({"PAUSE_REQUESTED"})
"""Kinds of entries that an old program does not know; of workflows called `newer`, all of them."""


class OldProgram(ScriptedStore):
    """Shows entries and messages of a newer program as it would see them, and counts its claims."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.asked: Counter[str] = Counter()
        self.most_looks: int | None = None
        """A program that looks more often never comes to an end."""

    async def called(self, call: Call) -> Any:  # noqa: ANN401
        self.asked[call.verb] += 1
        if call.verb in {"mailbox.claim", "timers.due"} and self.most_looks is not None:
            assert self.asked[call.verb] <= self.most_looks, call.verb
        return await super().called(call)

    async def on_turns_load(self, call: Call) -> object:
        return {id: _as_seen(each) for id, each in (await call()).items()}

    async def on_mailbox_claim(self, call: Call) -> object:
        return [_letter_as_seen(each) for each in await call()]


def _as_seen(stored: StoredInstance) -> StoredInstance:
    is_newer = stored.row.definition_id == "newer"
    seen = [
        row._replace(event_type="OF_A_NEWER_PROGRAM")
        if is_newer or row.event_type in UNKNOWN
        else row
        for row in stored.tail
    ]
    return replace(stored, tail=tuple(seen))


def _letter_as_seen(letter: Mail) -> Mail:
    is_known = b"cancel-asked" not in letter.input and b'"newer"' not in letter.input
    return letter if is_known else replace(letter, input=b'{"type":"of-a-newer-program"}')
