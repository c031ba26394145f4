"""`tenuto start`: start an instance of a workflow that is deployed, and leave it to others."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.backends.mailbox import say_how_to_run
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.server import connected
from tenuto.cli.backends.store import require_there, store_flag
from tenuto.cli.deploying import unlocked
from tenuto.cli.follower import follow
from tenuto.cli.local_run import Ended, conclude, engine, space_of
from tenuto.cli.looking import looking_at
from tenuto.cli.views.progress import STATUS_MARKS
from tenuto.cli.views.terminal import say, say_command, show, show_json
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.json import JSON
from tenuto.model.status import Status

if TYPE_CHECKING:
    from tenuto.client import Client
    from tenuto.workspace.engine_workspace import EngineWorkspace


class Wish(Struct, frozen=True, kw_only=True):
    """An instance that is asked for."""

    workflow: str
    input: JSON = None
    key: str | None = None
    correlation_id: str | None = None
    version: int | None = None
    follows: bool = False
    timeout: float | None = None
    is_json: bool = False


async def start(url: str, wish: Wish) -> int:
    """Start it, tell its id, and watch it if that was asked for."""
    is_there = isinstance(url, ServerUrl)
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            begun = await _begun(client, wish)
    else:
        await require_there(url)
        with redirect_stdout(sys.stderr), unlocked():
            async with engine(url, is_brief=True) as app:
                begun = await _begun(space_of(app, url), wish)
    if begun.unseen is not None:
        return _tell_unseen(url, begun.id, begun.unseen, is_json=wish.is_json)
    if not wish.follows:
        _tell(url, begun.id, begun.status, is_there=is_there, is_json=wish.is_json)
        return exits.DONE
    try:
        return await watched(url, begun.id, timeout=wish.timeout, is_json=wish.is_json)
    except StoreUnavailable as error:
        return _tell_unseen(url, begun.id, error, is_json=wish.is_json)


async def watched(url: str, id: str, *, timeout: float | None, is_json: bool) -> int:  # noqa: ASYNC109
    """Watch an instance to its end and tell what came of it."""
    async with looking_at(url) as looker:
        ended = await follow(looker, id, url, timeout)
    if not isinstance(ended, Ended):
        return conclude(ended, url, is_json=is_json)
    if ended.code == exits.TIMED_OUT:
        say(f"not ended within {timeout:g} s; stopped watching", style="yellow")
    else:
        say("stopped watching", style="yellow")
    say("  It goes on. To look at it:")
    say_command(f"tenuto show {id}{store_flag(url)}")
    return ended.code


class _Begun(NamedTuple):
    """An instance that was accepted."""

    id: str
    status: Status = Status.CREATED
    unseen: TenutoError | None = None
    """Why nobody saw how it stands."""


async def _begun(place: EngineWorkspace | Client, wish: Wish) -> _Begun:
    instance = await place.start(
        wish.workflow,
        wish.input,
        key=wish.key,
        correlation_id=wish.correlation_id,
        version=wish.version,
    )
    # It is durable now: whatever happens to this question, the id is told.
    try:
        return _Begun(instance.id, await instance.status())
    except TenutoError as error:
        return _Begun(instance.id, unseen=error)


def _tell_unseen(url: str, id: str, why: TenutoError, *, is_json: bool) -> int:
    """Tell that it has started, so that nobody starts it again."""
    if is_json:
        show_json({"instanceId": id, "status": None})
    else:
        show(id)
    say(f"started, and what came of it was not seen: {why.code} {why.message}", style="yellow")
    say("  Do not start it again. To look at it:")
    say_command(f"tenuto show {id}{store_flag(url)}")
    return exits.ACCEPTED


def _tell(url: str, id: str, status: Status, *, is_there: bool, is_json: bool) -> None:
    if is_json:
        show_json({"instanceId": id, "status": status.value})
        return
    mark, _ = STATUS_MARKS[status]
    show(f"{mark} {status.value}  {id}")
    if is_there:
        say("  To watch it:")
        say_command(f"tenuto logs {id} -f{store_flag(url)}")
    elif not status.is_final:
        say_how_to_run(url, id)
