"""Suspects, and quarantined instances."""

from __future__ import annotations

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.store.cold.port import RowPort
from tenuto.store.parts.quarantine import Suspect


class QuarantineRecords:
    """Suspects in a table."""

    def __init__(self, port: RowPort) -> None:
        self._port = port

    async def suspect(self, suspect: Suspect) -> None:
        columns: dict[str, object] = {
            "instance_id": suspect.instance_id,
            "place": suspect.place,
            "process_id": suspect.process_id,
            "at": epoch_ms(suspect.at),
            "reason": suspect.reason,
            "is_quarantined": int(suspect.is_quarantined),
        }
        await self._port.write("put_suspect", columns)

    async def suspects(self) -> list[Suspect]:
        return [
            Suspect(
                instance_id=instance_id,
                tenant=tenant,
                place=place,
                process_id=process_id,
                at=from_epoch_ms(at),
                reason=reason,
                is_quarantined=bool(is_quarantined),
            )
            for instance_id, tenant, place, process_id, at, reason, is_quarantined in (
                await self._port.rows("suspects", {})
            )
        ]

    async def clear(self, instance_id: str) -> bool:
        return bool(await self._port.write_beside("clear_suspect", {"instance_id": instance_id}))
