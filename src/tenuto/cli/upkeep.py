"""Upkeep of a store: `tenuto verify`, `migrate`, `reindex` and `prune`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from tenuto.cli import exits
from tenuto.cli.backends.engine import engine
from tenuto.cli.backends.late_store import refuse_memory
from tenuto.cli.backends.reader import described, make_room, reading, require_there
from tenuto.cli.backends.recorded import recorded_here
from tenuto.cli.views.terminal import say, show, show_json, talk
from tenuto.compose import migrate_store as migrate, without_password
from tenuto.engine.upkeep.differences import Difference
from tenuto.engine.upkeep.reindexer import Reindexer
from tenuto.engine.upkeep.verification import verify
from tenuto.model.codes import CATALOGUE
from tenuto.model.durations import Duration, parse_duration
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Object
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.store.parts.instances import Erasure

DIFFERS: Final = "TEN-4007"
_MOST_SHOWN: Final = 20
_MOST_KEPT: Final = 1_000
"""So many differences are listed; the others are counted."""
_FIRST: Final = "0001 "
"""How the name of the first migration begins."""
_ALONE: Final = "Stop that process, do it, and start the process again: nothing is lost."
_ALONE_TO_PRUNE: Final = (
    f"{_ALONE} A running process also forgets by itself, every hour, what ended longer ago than "
    "the setting engine.instance_retention or the retention of a definition."
)
_FORGOTTEN: Final = {
    "instances": ("instance", "with all that was started by it"),
    "events": ("event", ""),
    "listeners": ("listener", ""),
    "bulkOperations": ("bulk operation", ""),
    "testRuns": ("test run", ""),
}


async def verify_store(url: str, *, is_json: bool) -> int:
    """Judge every instance; exits 1 when something stored does not follow from its log."""
    instances = entries = found = guilty = 0
    differences: list[Difference] = []
    async with reading(url) as reader:
        with talk().status("verifying …") as status:
            async for verdict in verify(reader.store, reader.plans):
                instances += 1
                entries += verdict.entries
                found += verdict.found
                guilty += bool(verdict.found)
                differences += verdict.differences[: _MOST_KEPT - len(differences)]
                if instances % 100 == 0:
                    status.update(f"verifying … {instances:,} instances")
    if is_json:
        shown: list[JSON] = [_difference(each) for each in differences]
        counts: Object = {"instances": instances, "entries": entries, "differenceCount": found}
        show_json({**counts, "differences": shown})
    elif found:
        several = f"{guilty:,} instances differ" if guilty > 1 else "1 instance differs"
        say(f"error {DIFFERS}  {several} from the log", style="red")
        _show_differences(differences[:_MOST_SHOWN])
        if found > _MOST_SHOWN:
            say(f"  … and {found - _MOST_SHOWN:,} more; -o json gives up to {_MOST_KEPT:,}")
        say(f"  {CATALOGUE[DIFFERS].advice}")
    else:
        show(
            f"✓ {described(url)}: {instances:,} instances, {entries:,} entries folded; "
            "everything stored follows from the logs"
        )
    return exits.FAILED if found else exits.DONE


def _show_differences(differences: list[Difference]) -> None:
    for each in differences:
        say(f"  {each.instance_id}  {each.what}")
        say(f"      stored   {each.stored}")
        say(f"      the log  {each.folded}")


def _difference(difference: Difference) -> JSON:
    return {
        "code": DIFFERS,
        "instanceId": difference.instance_id,
        "what": difference.what,
        "stored": difference.stored,
        "folded": difference.folded,
    }


async def migrate_store(url: str, *, is_beside_older: bool, is_json: bool) -> int:
    """Say what was done."""
    refuse_memory(url)
    make_room(url)
    done = await migrate(url, is_beside_older=is_beside_older)
    is_new = any(each.startswith(_FIRST) for each in done)
    if is_json:
        show_json({"store": without_password(url), "created": is_new, "applied": done})
        return exits.DONE
    name = described(url)
    if not done:
        show(f"✓ {name} is up to date")
    else:
        show(f"✓ {name} {'created' if is_new else 'brought up to date'}:")
        for each in done:
            number, _, what = each.partition(" ")
            show(f"  {number}  {what.replace('_', ' ')}")
    return exits.DONE


async def reindex(url: str, workflow: str | None, *, is_json: bool) -> int:
    """Say how many instances were indexed again."""
    refuse_memory(url)
    await require_there(url)
    done = 0
    async with engine(url, is_brief=True, is_guest=True, needs_store=_ALONE) as app:
        ours = app.engine
        reindexer = Reindexer(store=ours.store, plans=ours.plans, index_again=ours.index_again)
        with talk().status("indexing …") as status:
            async for done in reindexer.run(workflow):
                status.update(f"indexing … {done:,} instances")
    if is_json:
        show_json({"indexed": done})
    else:
        several = "1 instance" if done == 1 else f"{done:,} instances"
        show(f"{several} indexed by the values that they have, in {described(url)}")
    return exits.DONE


class PruneOptions(Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    older_than: str | None
    dry_run: bool
    with_dead_letters: bool
    tenant: str | None = None
    """None: every tenant's."""
    reason: str | None = None
    """Why, for the audit log."""


async def prune(url: str, options: PruneOptions, *, is_json: bool) -> int:
    """Say how much is gone, by kind."""
    older_than = _age(options.older_than)
    refuse_memory(url)
    await require_there(url)
    manner = Erasure(dry_run=options.dry_run, with_dead_letters=options.with_dead_letters)
    tenants = None if options.tenant is None else [options.tenant]
    async with engine(url, is_brief=True, is_guest=True, needs_store=_ALONE_TO_PRUNE) as app:
        ours = app.engine

        async def forget() -> dict[str, int]:
            gone = {"instances": await ours.upkeep.instances.prune(manner, older_than, tenants)}
            if tenants is None and not options.dry_run:
                # These have a time of their own, by which every engine forgets them too.
                pruned = await ours.upkeep.pruner.run_once()
                gone |= {
                    "events": pruned.events,
                    "listeners": pruned.listeners,
                    "bulkOperations": pruned.bulk_operations,
                    "testRuns": await ours.test_runs.run_once(),
                }
            return gone

        if options.dry_run:
            gone = await forget()
        else:
            # The log of the tenant; that of the tenant `default` where it is about all.
            tenant = options.tenant or DEFAULT_TENANT
            target = "" if options.tenant is not None else "all tenants"
            gone = await recorded_here(
                app, tenant, "prune_instances", target, forget, reason=options.reason
            )
    if is_json:
        show_json({"forgotten": {**gone}, "dryRun": options.dry_run})
    else:
        _tell_forgotten(gone, url, is_dry=options.dry_run)
    return exits.DONE


def _tell_forgotten(gone: Mapping[str, int], url: str, *, is_dry: bool) -> None:
    """A line for each kind of which there was anything; instances always have one."""
    would = "would be forgotten" if is_dry else "forgotten"
    for kind, count in gone.items():
        word, what_else = _FORGOTTEN[kind]
        if count or kind == "instances":
            several = f"1 {word}" if count == 1 else f"{count} {word}s"
            said = [f"{several} {would}", what_else, f"in {described(url)}"]
            show(", ".join(each for each in said if each))


def _age(text: str | None) -> Duration | None:
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
