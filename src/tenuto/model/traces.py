"""Trace context as W3C has it: which trace something belongs to, and what it follows from.

An attempt's place in its trace follows from its names: whoever asks, before or after a restart, in
whichever process or worker, comes to the same, and nothing has to be kept for it.
"""

from __future__ import annotations

import re
from hashlib import sha256

from tenuto.model.ids import NodeKey

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def read_traceparent(text: str | None) -> str | None:
    """A header `traceparent` of the version that is known; None where there is none to go by."""
    if text is None or _TRACEPARENT.fullmatch(text.strip()) is None:
        return None
    return text.strip()


def of_attempt(traceparent: str, instance_id: str, key: NodeKey, attempt: int) -> str:
    """The `traceparent` of what an attempt does, in the trace that its instance was started in."""
    version, trace, _, flags = traceparent.split("-")
    named = "\0".join((instance_id, key.node, key.iteration, str(attempt)))
    span = sha256(f"{trace}\0{named}".encode()).hexdigest()[:16]
    return f"{version}-{trace}-{span}-{flags}"
