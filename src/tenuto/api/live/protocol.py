"""What a socket and its client say to each other, and how a socket ends."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tenuto.model.errors import TenutoError

SUBPROTOCOL: Final = "tenuto"
"""What a client offers that names a subprotocol at all; it is what the socket answers with."""

GOING: Final = 1012
"""The process stops: come back, another one answers."""
UNAUTHENTICATED: Final = 4401
"""The credential was revoked or has expired."""
IDLE: Final = 4400
"""The client watched nothing, and said nothing, for too long."""
FORBIDDEN: Final = 4403
"""The credential may not watch any more."""
SLOW: Final = 4408
"""The client did not take what was sent: come back with the cursors."""

RunId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Seq: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class Join(Struct, frozen=True, kw_only=True, tag_field="event", tag="workflow_run_join"):
    """Watch an instance, from the entry after `since` on."""

    runId: RunId  # noqa: N815 - its name on the wire
    since: Seq = 0


class Leave(Struct, frozen=True, kw_only=True, tag_field="event", tag="workflow_run_leave"):
    """Watch it no more."""

    runId: RunId  # noqa: N815


class Ping(Struct, frozen=True, kw_only=True, tag_field="event", tag="ping"):
    """Answer, so that it is known that somebody is there."""


Asked: TypeAlias = Join | Leave | Ping


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the socket says beside what it tells of instances."""

    event: Literal[
        "workflow_run_joined", "workflow_run_left", "workflow_run_dropped", "pong", "error"
    ]
    instanceID: str | UnsetType = UNSET  # noqa: N815 - its name on the wire
    cursor: int | UnsetType = UNSET
    """Everything up to this entry was told: join again with it as `since`."""
    reason: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    advice: str | UnsetType = UNSET


read = msgspec.json.Decoder(Asked).decode
_encode = msgspec.json.Encoder().encode


def written(said: Said) -> str:
    """As it goes out."""
    return _encode(said).decode()


def of_error(error: TenutoError, instance_id: str | None = None, cursor: int | None = None) -> Said:
    """Why something that the client asked for is not done; `cursor`: up to where it was."""
    return Said(
        event="error",
        instanceID=UNSET if instance_id is None else instance_id,
        cursor=UNSET if cursor is None else cursor,
        code=error.code,
        message=error.message,
        advice=error.advice or "",
    )
