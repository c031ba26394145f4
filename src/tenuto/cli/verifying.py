"""`tenuto verify`: prove that what is stored follows from the logs."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.stores import described, reading
from tenuto.cli.terminal import say, show, show_json, talk
from tenuto.engine.verify import Difference, verify
from tenuto.model.codes import CATALOGUE
from tenuto.model.json import JSON

CODE = "TEN-4007"
_MOST_SHOWN = 20


async def verify_store(url: str, *, is_json: bool) -> int:
    """Judge every instance; exits 1 when something stored does not follow from its log."""
    instances = entries = 0
    differences: list[Difference] = []
    async with reading(url) as reader:
        with talk().status("verifying …") as status:
            async for verdict in verify(reader.store, reader.plans):
                instances += 1
                entries += verdict.entries
                differences += verdict.differences
                if instances % 100 == 0:
                    status.update(f"verifying … {instances:,} instances")
    if is_json:
        found: list[JSON] = [_item(each) for each in differences]
        show_json({"instances": instances, "entries": entries, "differences": found})
    elif differences:
        _show(differences)
    else:
        show(
            f"✓ {described(url)}: {instances:,} instances, {entries:,} entries folded; "
            "everything stored follows from the logs"
        )
    return exits.FAILED if differences else exits.DONE


def _show(differences: list[Difference]) -> None:
    guilty = len({each.instance_id for each in differences})
    say(f"error {CODE}  {guilty} instance{'s' * (guilty > 1)} differ from their logs", style="red")
    for each in differences[:_MOST_SHOWN]:
        say(f"  {each.instance_id}  {each.what}")
        say(f"      stored   {each.stored}")
        say(f"      the log  {each.folded}")
    if len(differences) > _MOST_SHOWN:
        say(f"  … and {len(differences) - _MOST_SHOWN} more; -o json gives them all")
    say(f"  {CATALOGUE[CODE].advice}")


def _item(difference: Difference) -> JSON:
    return {
        "code": CODE,
        "instanceId": difference.instance_id,
        "what": difference.what,
        "stored": difference.stored,
        "folded": difference.folded,
    }
