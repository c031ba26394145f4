"""The messages of a socket and its client, and the codes that it is closed with."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tenuto.model.errors import TenutoError

SUBPROTOCOL: Final = "tenuto"
"""The subprotocol that the socket answers with, where the client offers it."""

GOING: Final = 1012
"""The process stops: reconnect to another one."""
UNAUTHENTICATED: Final = 4401
"""The credential was revoked or has expired."""
IDLE: Final = 4400
"""The client watched nothing, and sent nothing, for too long."""
FORBIDDEN: Final = 4403
"""The credential has lost the permission."""
GONE: Final = 4404
"""What a widget shows is not there any more."""
SLOW: Final = 4408
"""The client was too slow: reconnect with the cursors."""

RunId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Seq: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class Join(Struct, frozen=True, kw_only=True, tag_field="event", tag="workflow_run_join"):
    """Watch an instance, from the entry after `since` on."""

    runId: RunId  # noqa: N815 - its name on the wire
    since: Seq = 0


class Leave(Struct, frozen=True, kw_only=True, tag_field="event", tag="workflow_run_leave"):
    """Stop watching it."""

    runId: RunId  # noqa: N815


class Ping(Struct, frozen=True, kw_only=True, tag_field="event", tag="ping"):
    """A sign of life, which is answered with a pong."""


class JoinInbox(Struct, frozen=True, kw_only=True, tag_field="event", tag="inbox_join"):
    """Watch the inbox: learn that events came in."""


class LeaveInbox(Struct, frozen=True, kw_only=True, tag_field="event", tag="inbox_leave"):
    """Stop watching it."""


Asked: TypeAlias = Join | Leave | Ping | JoinInbox | LeaveInbox


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message of the socket itself, beside the messages of instances."""

    event: Literal[
        "workflow_run_joined",
        "workflow_run_left",
        "workflow_run_dropped",
        "inbox_joined",
        "inbox_left",
        "inbox_update",
        "pong",
        "error",
    ]
    instanceID: str | UnsetType = UNSET  # noqa: N815 - its name on the wire
    cursor: int | UnsetType = UNSET
    """Everything up to this entry was sent: join again with it as `since`."""
    eventID: str | UnsetType = UNSET  # noqa: N815
    """The newest event of the inbox."""
    pattern: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    about: str | UnsetType = UNSET
    """Of an error: the kind of the client's message that was refused, where it could be read."""
    code: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    advice: str | UnsetType = UNSET


read = msgspec.json.Decoder(Asked).decode
_encode = msgspec.json.Encoder().encode


def written(said: Said) -> str:
    """The message as text."""
    return _encode(said).decode()


def of_error(
    error: TenutoError,
    instance_id: str | None = None,
    cursor: int | None = None,
    *,
    asked: Asked | None = None,
) -> Said:
    """The message of an error; `cursor`: the last entry that was sent.

    `asked`: what it is the answer to, so that the client knows what it has not got.
    """
    if isinstance(asked, Join | Leave):
        instance_id = asked.runId
    return Said(
        event="error",
        about=UNSET if asked is None else str(asked.__struct_config__.tag),
        instanceID=UNSET if instance_id is None else instance_id,
        cursor=UNSET if cursor is None else cursor,
        code=error.code,
        message=error.public_message,
        advice=error.public_advice,
    )
