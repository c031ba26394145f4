"""Sentences of docs/semantics.md that are not held yet, or not wholly, by what they are left to.

A sentence is named by its beginning. One that is quoted by a test and named here is held in part. A
row goes when its feature comes; in the end the file.
"""

from __future__ import annotations

from typing import Final

LATER: Final[dict[str, tuple[str, ...]]] = {
    "the command line": (
        "Command line: ",
        "`--store` (`TENUTO_STORE`",
    ),
    "limits of context, log and loops": ("Defaults, all settable",),
    "workers": (
        "Cancelling part of an instance",
        "After the grace its heartbeat",
        "A Python task may return",
        "An attempt lost with its process or lease",
        "A compensation is claimed",
        "Leases are durable",
        "Breaker, bulkhead and rate limit",
    ),
    "near misses": ("Inbox retention 7 days",),
    "the service": (
        "React Flow's drawing fields",
        "An error in a condition is",
        "`.` and `[]` on null or undefined",
        "Embedded and in `tenuto run`",
        "`POST /keys {name",
        "Auth is on when",
        "Not kept from the seeds",
    ),
}
