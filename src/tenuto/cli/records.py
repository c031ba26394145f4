"""Documents of schedules and calendars in files."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from tenuto.cli.positions import Positions
from tenuto.cli.sources import read_file
from tenuto.definition import parse_document
from tenuto.model.json import JSON

RecordKind: TypeAlias = Literal["workflow", "schedule", "calendar"]
_OF_WORKFLOWS: Final = frozenset({"steps", "nodes", "edges"})
_OF_SCHEDULES: Final = frozenset({"cron", "cronExpression", "executeAt", "timing", "scheduleId"})
_OF_CALENDARS: Final = frozenset({"week", "extends", "holidays", "dates"})
_NAMED: Final = (".schedule", ".calendar")


class Record(Struct, frozen=True, kw_only=True):
    """The document of a schedule or a calendar, and its places in the file."""

    path: Path
    document: JSON
    positions: Positions


def read_record(path: Path) -> Record:
    """Read a document; without an id it is called like its file."""
    text = read_file(path)
    document = parse_document(text, str(path))
    if isinstance(document, dict) and "id" not in document and "scheduleId" not in document:
        document = {"id": _stem(path), **document}
    positions = Positions(str(path), text.decode("utf-8").removeprefix("\ufeff"))
    return Record(path=path, document=document, positions=positions)


def kind_of(document: JSON) -> RecordKind:
    """What a document describes, by its fields: a workflow has steps or nodes."""
    names = set(document) if isinstance(document, dict) else set()
    if names & _OF_WORKFLOWS:
        return "workflow"
    if names & _OF_SCHEDULES:
        return "schedule"
    return "calendar" if names & _OF_CALENDARS else "workflow"


def _stem(path: Path) -> str:
    """`nightly` of `nightly.schedule.yaml`."""
    stem = path.stem
    for ending in _NAMED:
        stem = stem.removesuffix(ending)
    return stem
