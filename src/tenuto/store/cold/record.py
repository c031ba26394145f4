"""The parts of cold records that every SQL store makes alike."""

from __future__ import annotations

from typing import TypedDict

from tenuto.store.cold.access import AccessRecords
from tenuto.store.cold.bulk import BulkRecords
from tenuto.store.cold.port import RowPort
from tenuto.store.cold.quarantine import QuarantineRecords


class ColdParts(TypedDict):
    """Parts by the names of their attributes in `Parts`."""

    access: AccessRecords
    bulk: BulkRecords
    quarantine: QuarantineRecords


def cold_parts(port: RowPort) -> ColdParts:
    """The parts over the tables that a port reaches."""
    return ColdParts(
        access=AccessRecords(port), bulk=BulkRecords(port), quarantine=QuarantineRecords(port)
    )
