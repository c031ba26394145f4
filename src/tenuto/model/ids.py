"""Ids: their syntax, their limits, and those that are derived from others."""

from __future__ import annotations

import re

from msgspec import Struct

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}\Z")
"""The syntax of node, step, branch and arm ids."""

LONGEST_ID = 255
"""The most characters of a key, a correlation id, an event's id or name, or a task's id."""
# In UTF-8 they are at most 1,020 bytes. PostgreSQL indexes rows of up to 2,704, and the longest of
# them holds an event's pattern beside INDEXED_BYTES, an instance, a node and an iteration.


class NodeKey(Struct, frozen=True, gc=False, order=True, cache_hash=True, array_like=True):
    """One activation of a node: the node, and which iteration of the loops around it."""

    node: str
    iteration: str = ""


_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]")
_OF_AN_INSTANCE = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}:", re.IGNORECASE)


def is_of_an_instance(event_id: str) -> bool:
    """Whether an event's id is reserved for events of instances: it begins with such an id."""
    return _OF_AN_INSTANCE.match(event_id) is not None


def start_letter(instance_id: str) -> str:
    """The id of the mailbox message that starts an instance."""
    return f"{instance_id}/start"


def iteration_of(around: str, index: int) -> str:
    """The path of a loop's iteration, inside the iteration `around` the loop: "2", nested "2/0"."""
    return f"{around}/{index}" if around else str(index)


def around(iteration: str) -> str:
    """The iteration around the loop that `iteration` is one of; empty at the top."""
    return iteration.rpartition("/")[0]


def path_of(iteration: str) -> tuple[int, ...]:
    """An iteration as numbers, which sort like the items, not like their digits."""
    return tuple(map(int, iteration.split("/"))) if iteration else ()


def index_of(iteration: str) -> int:
    """The number of the iteration within its loop."""
    return int(iteration.rpartition("/")[2])


def too_long(text: str) -> str | None:
    """Why an id is too long; None if it is not."""
    if len(text) <= LONGEST_ID:
        return None
    return f"{len(text):,} characters are more than the limit of {LONGEST_ID} (TOO_LONG)"


def unseen_in(text: str) -> str | None:
    """Which invisible characters an id has; None if it has none."""
    if _CONTROL.search(text) is not None:
        return f"{text!r} has a control character"
    return None if text == text.strip() else f"{text!r} begins or ends with white space"


def idempotency_key(instance_id: str, key: NodeKey) -> str:
    """The key that every attempt of one activation carries, and no other activation does."""
    if key.iteration:
        return f"{instance_id}:{key.node}:{key.iteration}"
    return f"{instance_id}:{key.node}"
