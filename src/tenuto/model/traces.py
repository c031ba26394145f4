"""W3C trace context of instances and attempts.

The span id of an attempt is computed from its ids. Every process and worker computes the same one,
also after a restart, so that it is not stored.
"""

from __future__ import annotations

import re
from hashlib import sha256

from tenuto.model.ids import NodeKey

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def read_traceparent(text: str | None) -> str | None:
    """A valid header `traceparent` of the known version; None otherwise."""
    if text is None or _TRACEPARENT.fullmatch(text.strip()) is None:
        return None
    return text.strip()


def of_attempt(traceparent: str, instance_id: str, key: NodeKey, attempt: int) -> str:
    """The `traceparent` of an attempt, in the trace that its instance was started in."""
    version, trace, _, flags = traceparent.split("-")
    named = "\0".join((instance_id, key.node, key.iteration, str(attempt)))
    span = sha256(f"{trace}\0{named}".encode()).hexdigest()[:16]
    return f"{version}-{trace}-{span}-{flags}"
