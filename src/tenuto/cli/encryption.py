"""`tenuto encryption`: which keys are in use, and encrypting again with the current one."""

from __future__ import annotations

from typing import Final

from tenuto.cli import exits
from tenuto.cli.backends.late_store import refuse_memory
from tenuto.cli.backends.reader import described, reading, require_there
from tenuto.cli.views.terminal import say, show, show_json, talk
from tenuto.encryption.rotation import Progress, Report, reencrypt, status
from tenuto.encryption.store import codec_of
from tenuto.model.codes import CATALOGUE
from tenuto.model.json import Object

MISSING: Final = "TEN-4122"


async def show_status(url: str, *, is_json: bool) -> int:
    """Say how many values are encrypted with each key, and which keys this process has."""
    refuse_memory(url)
    await require_there(url)
    async with reading(url) as reader:
        store = await reader.store.opened()
        codec = codec_of(store)
        known = () if codec is None else codec.ids
        current = None if codec is None else codec.current
        with talk().status("counting …") as line:
            found = await status(store, lambda at: line.update(_said("counting", at)))
    if is_json:
        keys: list[Object] = [
            {"id": key, "values": count, "isKnown": key in known, "isCurrent": key == current}
            for key, count in sorted(found.by_key.items())
        ]
        show_json({"current": current, "keys": [*keys]})
        return exits.DONE
    if not found.by_key:
        show(f"{described(url)} has no encrypted values")
    for key, count in sorted(found.by_key.items()):
        mark = "current" if key == current else "known" if key in known else "missing"
        show(f"{key}  {count:,} values  {mark}")
    return exits.DONE


async def encrypt_again(url: str, *, is_json: bool) -> int:
    """Encrypt everything with the current key; exits 1 where a key is missing for some of it."""
    refuse_memory(url)
    await require_there(url)
    async with reading(url) as reader:
        store = await reader.store.opened()
        codec = codec_of(store)
        with talk().status("encrypting …") as line:
            report = await reencrypt(store, lambda at: line.update(_said("encrypting", at)))
        current = None if codec is None else codec.current
    left = {key: count for key, count in report.by_key.items() if key != current}
    if is_json:
        show_json(
            {
                "current": current,
                "encrypted": report.resealed,
                "left": {**left},
                "unreadable": {**report.unreadable},
            }
        )
    else:
        _tell(report, current, left, url)
    return exits.FAILED if left else exits.DONE


def _tell(report: Report, current: str | None, left: dict[str, int], url: str) -> None:
    several = "1 value" if report.resealed == 1 else f"{report.resealed:,} values"
    show(f"{several} encrypted with {current}, in {described(url)}")
    for key, count in sorted(left.items()):
        say(f"  {count:,} are left with {key}", style="yellow")
    if report.unreadable:
        say(f"error {MISSING}  {', '.join(sorted(report.unreadable))}: not known here", style="red")
        say(f"  {CATALOGUE[MISSING].advice}")
    elif left:
        say("  A process still encrypts with another key. Give the same keys to all, and repeat.")


def _said(what: str, at: Progress) -> str:
    done = f", {at.resealed:,} encrypted" if at.resealed else ""
    return f"{what} … {at.column}: {at.rows:,} rows{done}"
