"""`tenuto prune`: forget instances that ended long ago."""

from __future__ import annotations

from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.running import engine
from tenuto.cli.stores import described, refuse_memory, require_there
from tenuto.cli.terminal import show, show_json
from tenuto.model.durations import Duration, parse_duration
from tenuto.model.errors import TenutoError
from tenuto.store.erasing_protocol import Erasure


class Wish(Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    older_than: str | None
    dry_run: bool
    with_dead_letters: bool


async def prune(url: str, wish: Wish, *, is_json: bool) -> int:
    """Say how many are gone."""
    older_than = _length(wish.older_than)
    refuse_memory(url)
    await require_there(url)
    manner = Erasure(dry_run=wish.dry_run, with_dead_letters=wish.with_dead_letters)
    async with engine(url, is_brief=True, is_guest=True) as app:
        gone = await app.engine.forgetter.prune(manner, older_than)
    if is_json:
        show_json({"forgotten": gone, "dryRun": wish.dry_run})
    else:
        several = "1 instance" if gone == 1 else f"{gone} instances"
        would = "would be forgotten" if wish.dry_run else "forgotten"
        show(f"{several} {would}, with all that was started by it, in {described(url)}")
    return exits.DONE


def _length(text: str | None) -> Duration | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        raise TenutoError(
            f"--older-than: {error}",
            code="TEN-2630",
            advice="Write a length of time such as P90D or PT12H.",
        ) from error
