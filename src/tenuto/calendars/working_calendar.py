"""The version of a resolved calendar."""

from __future__ import annotations

import hashlib

import msgspec

from tenuto.model.working_time import WorkingCalendar


def with_version(calendar: WorkingCalendar) -> WorkingCalendar:
    """The same calendar with the digest of its content."""
    plain = msgspec.structs.replace(calendar, version="")
    digest = hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()
    return msgspec.structs.replace(calendar, version=digest[:16])
