"""Events on their way to a server: each has an id, so that one that is sent twice acts once."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tenuto.client.connection import API, Ask, Connection
from tenuto.client.refusals import Refused, error_of
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON
from tenuto.workspace.values import Published


class _Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    event_id: str = ""
    duplicate: bool = False
    resumed: int = 0
    cancelled: int = 0
    started: int = 0
    targets: tuple[dict[str, Any], ...] | None = None
    near_misses: tuple[dict[str, Any], ...] = ()
    error: Refused | None = None


class Publishing:
    """Publishes events."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def one(self, event: dict[str, Any], *, dry_run: bool) -> Published:
        """Publish an event in Tenuto's own form."""
        said = {name: value for name, value in event.items() if value is not None}
        return _published(await self._send(self._named(said), _Answer, dry_run=dry_run))

    async def all(self, document: JSON, *, dry_run: bool) -> list[Published | TenutoError]:
        """Publish one event or several, in Tenuto's own form or as CloudEvents in JSON."""
        # One alone goes as an array too: what is wrong with it is then told apart from the rest.
        events = document if isinstance(document, list) else [document]
        named = [self._named(each) for each in events]
        answers = await self._send(named, list[_Answer], dry_run=dry_run)
        return [
            _published(each) if each.error is None else error_of(each.error) for each in answers
        ]

    async def _send(self, document: object, answer: type[Any], *, dry_run: bool) -> Any:  # noqa: ANN401 - as asked
        query = {"dryRun": True} if dry_run else {}
        ask = Ask("POST", f"{API}/events", query, document, may_overlap=True)
        answered = await self._connection.send(ask)
        return self._connection.decoded(answered, answer)

    def _named(self, event: Any) -> Any:  # noqa: ANN401 - whatever was given
        """The event with an id; what is none is refused by the server."""
        if not isinstance(event, dict) or "pattern" not in event or event.get("id") is not None:
            return event
        return {**event, "id": self._connection.ids.instance_id(self._connection.clock.now())}


def _published(answer: _Answer) -> Published:
    return Published(
        event_id=answer.event_id,
        duplicate=answer.duplicate,
        resumed=answer.resumed,
        cancelled=answer.cancelled,
        started=answer.started,
        is_dry=answer.targets is not None,
        targets=answer.targets or (),
        near_misses=answer.near_misses,
    )
