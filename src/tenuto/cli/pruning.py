"""`tenuto prune`: forget what is kept no longer, and say how much of what."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.running import engine
from tenuto.cli.stores import described, refuse_memory, require_there
from tenuto.cli.terminal import show, show_json
from tenuto.model.durations import Duration, parse_duration
from tenuto.model.errors import TenutoError
from tenuto.store.parts.instances import Erasure


class Wish(Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    older_than: str | None
    dry_run: bool
    with_dead_letters: bool
    tenant: str | None = None
    """None: every tenant's."""


async def prune(url: str, wish: Wish, *, is_json: bool) -> int:
    """Say how much is gone, by kind."""
    older_than = _length(wish.older_than)
    refuse_memory(url)
    await require_there(url)
    manner = Erasure(dry_run=wish.dry_run, with_dead_letters=wish.with_dead_letters)
    tenants = None if wish.tenant is None else [wish.tenant]
    async with engine(url, is_brief=True, is_guest=True) as app:
        ours = app.engine
        gone = {"instances": await ours.upkeep.instances.prune(manner, older_than, tenants)}
        if tenants is None and not wish.dry_run:
            # These have a time of their own, by which every engine forgets them too.
            pruned = await ours.upkeep.pruner.run_once()
            gone |= {
                "events": pruned.events,
                "listeners": pruned.listeners,
                "bulkOperations": pruned.bulk_operations,
                "testRuns": await ours.test_runs.run_once(),
            }
    if is_json:
        show_json({"forgotten": {**gone}, "dryRun": wish.dry_run})
    else:
        _tell(gone, url, is_dry=wish.dry_run)
    return exits.DONE


_WORDS = {
    "instances": ("instance", "with all that was started by it"),
    "events": ("event", ""),
    "listeners": ("listener", ""),
    "bulkOperations": ("bulk operation", ""),
    "testRuns": ("test run", ""),
}


def _tell(gone: Mapping[str, int], url: str, *, is_dry: bool) -> None:
    """A line for each kind of which there was anything; instances always have one."""
    would = "would be forgotten" if is_dry else "forgotten"
    for kind, count in gone.items():
        word, what_else = _WORDS[kind]
        if count or kind == "instances":
            several = f"1 {word}" if count == 1 else f"{count} {word}s"
            said = [f"{several} {would}", what_else, f"in {described(url)}"]
            show(", ".join(each for each in said if each))


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
