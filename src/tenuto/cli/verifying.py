"""`tenuto verify`: prove that what is stored follows from the logs."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.stores import described, reading
from tenuto.cli.terminal import say, show, show_json, talk
from tenuto.engine.upkeep.differences import Difference
from tenuto.engine.upkeep.verification import verify
from tenuto.model.codes import CATALOGUE
from tenuto.model.json import JSON, Object

CODE = "TEN-4007"
_MOST_SHOWN = 20
_MOST_KEPT = 1_000
"""So many differences are told; the others are counted."""


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
        shown: list[JSON] = [_item(each) for each in differences]
        counts: Object = {"instances": instances, "entries": entries, "differenceCount": found}
        show_json({**counts, "differences": shown})
    elif found:
        several = f"{guilty:,} instances differ" if guilty > 1 else "1 instance differs"
        say(f"error {CODE}  {several} from the log", style="red")
        _show(differences[:_MOST_SHOWN])
        if found > _MOST_SHOWN:
            say(f"  … and {found - _MOST_SHOWN:,} more; -o json gives up to {_MOST_KEPT:,}")
        say(f"  {CATALOGUE[CODE].advice}")
    else:
        show(
            f"✓ {described(url)}: {instances:,} instances, {entries:,} entries folded; "
            "everything stored follows from the logs"
        )
    return exits.FAILED if found else exits.DONE


def _show(differences: list[Difference]) -> None:
    for each in differences:
        say(f"  {each.instance_id}  {each.what}")
        say(f"      stored   {each.stored}")
        say(f"      the log  {each.folded}")


def _item(difference: Difference) -> JSON:
    return {
        "code": CODE,
        "instanceId": difference.instance_id,
        "what": difference.what,
        "stored": difference.stored,
        "folded": difference.folded,
    }
