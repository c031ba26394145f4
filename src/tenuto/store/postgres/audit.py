"""The audit log, whose lines and heads one statement writes."""

from __future__ import annotations

from tenuto.store.access_columns import Append, AuditColumns
from tenuto.store.cold.audit import AuditRecords
from tenuto.store.cold.port import Ask, Insert, Script
from tenuto.store.postgres.row_port import arrays


class PostgresAudit(AuditRecords):
    """The log as all SQL stores have it, with one round trip less."""

    def _insert(self, made: Append, tenants: list[str]) -> Script[None]:
        lines = arrays(Insert("insert_audit", AuditColumns._fields, made.rows))
        heads = {
            "head_tenants": tenants,
            "head_numbers": [made.heads[tenant].number for tenant in tenants],
            "head_hashes": [made.heads[tenant].hash for tenant in tenants],
        }
        yield Ask("insert_audit", lines | heads)
