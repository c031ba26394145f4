"""A definition's triggers as rows among the waits: no instance, and no look back."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tenuto.core.terms import indexed_terms
from tenuto.expr import CountedScope, Steps, split_condition
from tenuto.model.graph import Definition
from tenuto.model.json import JSON
from tenuto.model.pauses import between_parts
from tenuto.store.parts.waits import WaitRow

_encode = msgspec.json.Encoder().encode


def trigger_rows(definition: Definition, tenant: str, now: datetime) -> list[WaitRow]:
    """How a definition's triggers stand among the waits; the store adds the version."""
    rows: list[WaitRow] = []
    steps = Steps()
    for position, trigger in enumerate(definition.triggers):
        condition = trigger.event_condition
        split = None if condition is None else split_condition(condition)
        scope = CountedScope({}, steps)
        captures: list[JSON] = [] if split is None else list(split.capture(scope))
        term_paths, term_values = indexed_terms(split, captures, steps)
        between_parts()
        rows.append(
            WaitRow(
                instance_id="",
                node=definition.id,
                iteration=tenant,
                arm=str(position),
                position=position,
                attempt=0,
                tenant=tenant,
                pattern=trigger.event_pattern,
                is_wildcard="*" in trigger.event_pattern,
                condition=condition,
                captures=_encode(captures),
                term_paths=term_paths,
                term_values=term_values,
                since=now,
                opened_at=now,
                correlation_id=None,
                looked_back=True,
            )
        )
    return rows
