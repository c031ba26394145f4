"""Names of things: what an id is made of and which ids are derived from others."""

from __future__ import annotations

import re

from msgspec import Struct

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
"""What node, step, branch and arm ids look like."""


class NodeKey(Struct, frozen=True, gc=False, order=True, cache_hash=True, array_like=True):
    """One activation of a node: the node, and which iteration of the loops around it."""

    node: str
    iteration: str = ""


def idempotency_key(instance_id: str, key: NodeKey) -> str:
    """The key that every attempt of one activation carries, and no other activation does."""
    if key.iteration:
        return f"{instance_id}:{key.node}:{key.iteration}"
    return f"{instance_id}:{key.node}"
