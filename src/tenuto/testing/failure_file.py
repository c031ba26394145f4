"""The records of a failing test: a text to read at once, and a file to open later."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from tenuto import __version__
from tenuto.model.durations import iso
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Object
from tenuto.testing.calls import Call
from tenuto.testing.timeline import timeline

if TYPE_CHECKING:
    from tenuto.testing.engine import Engine
    from tenuto.testing.instance import Instance

FOLDER: Final = ".tenuto/failed"
_SHOWN: Final = 3
"""So many instances are shown; the file has all of them."""
_NAME: Final = 120


class KeptInstance(msgspec.Struct, kw_only=True):
    """All that is needed to see an instance again, and to start it again."""

    id: str
    workflow: str
    version: int
    status: str
    input: JSON
    definition: JSON
    history: list[Object]
    calls: list[Call]


class Kept(msgspec.Struct, kw_only=True):
    """A test as it was when it failed."""

    tenuto: str
    test: str
    now: str
    crashed: str | None
    story: str | None
    instances: list[KeptInstance]


def kept(
    engine: Engine, test: str, folder: Path, story: str | None = None, *, already: str = ""
) -> str:
    """Write the file of a failing test; returns a description and the path of the file.

    What stands in `already`, the error that is shown beside it, is not said again.
    """
    shown = engine.shown
    record = Kept(
        tenuto=__version__,
        test=test,
        now=iso(shown.now),
        crashed=shown.crashed,
        story=story,
        instances=[_kept_instance(each) for each in shown.instances],
    )
    place, _, name = test.partition("::")
    words = "-".join(part for part in (Path(place).stem, name) if part)
    file = folder / f"{re.sub(r'[^A-Za-z0-9_]+', '-', words).strip('-')[:_NAME]}.json"
    said = described(record, _SHOWN, already=already)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1))
    except OSError as error:
        # The test has failed for another reason, and that is what has to be seen.
        return f"{said}\n\nit could not be kept in {file}: {error.strerror}"
    return f"{said}\n\nkept: python -m tenuto.testing {os.path.relpath(file)}"


def read(file: Path) -> Kept:
    """The test that a file keeps."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Kept)
    except (OSError, msgspec.MsgspecError) as error:
        raise TenutoError(
            f"{file} cannot be read: {error}",
            code="TEN-2206",
            advice=f"Name a file that a failing test wrote, in {FOLDER}.",
        ) from error


def described(record: Kept, most: int | None = None, *, already: str = "") -> str:
    """A readable description of a kept test, without the lines that are in `already`."""
    parts = [] if record.story is None else [record.story]
    timelines = [
        timeline(
            f"{each.workflow}@{each.version}  {each.status}  {each.id}", each.input, each.history
        )
        for each in record.instances[:most]
    ]
    parts += [each for each in timelines if each not in already]
    left_out = len(record.instances) - len(record.instances[:most])
    if left_out:
        parts.append(f"and {left_out} more instances")
    if not record.instances:
        parts.append("no instance was started")
    if record.crashed is not None:
        parts.append(f"the engine is down: {record.crashed}")
    parts.append(f"the clock says {record.now}")
    return "\n\n".join(parts)


def _kept_instance(run: Instance) -> KeptInstance:
    state = run.engine.lives.reader.held(run.id).state
    return KeptInstance(
        id=run.id,
        workflow=state.definition_id,
        version=state.definition_version,
        status=state.status.value,
        input=state.input,
        definition=run.definition,
        history=run.history,
        calls=run.calls(),
    )
