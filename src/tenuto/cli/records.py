"""Documents of schedules, calendars, data sources and data queries in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

from msgspec import Struct

from tenuto.cli.positions import Located, Positions
from tenuto.cli.sources import read_file
from tenuto.definition import parse_document
from tenuto.model.errors import InvalidDefinition, InvalidInput
from tenuto.model.json import JSON

if TYPE_CHECKING:
    from tenuto.workspace.data_values import SavedDataQuery, SavedDataSource
    from tenuto.workspace.protocol import Workspace
    from tenuto.workspace.schedule_values import SavedCalendar, SavedSchedule

RecordKind: TypeAlias = Literal["workflow", "schedule", "calendar", "data source", "data query"]
BEFORE_WORKFLOWS: Final = ("calendar", "data source", "data query")
"""Kinds that are saved before definitions, in this order, since one may name another."""
AFTER_WORKFLOWS: Final = ("schedule",)
_OF_WORKFLOWS: Final = frozenset({"steps", "nodes", "edges"})
_OF_SCHEDULES: Final = frozenset({"cron", "cronExpression", "executeAt", "timing", "scheduleId"})
_OF_CALENDARS: Final = frozenset({"week", "extends", "holidays", "dates"})
_OF_DATA_QUERIES: Final = frozenset({"dataSourceId", "sql"})
_PLACES_OF_SOURCES: Final = frozenset({"url", "file", "host"})
_NAMED: Final = (".schedule", ".calendar")


class Record(Struct, frozen=True, kw_only=True):
    """The document of a record, such as a schedule, and its places in the file."""

    path: Path
    document: JSON
    positions: Positions

    @property
    def kind(self) -> RecordKind:
        """What it describes."""
        return kind_of(self.document)

    @property
    def zone(self) -> str:
        """The time zone that it names; one that is none is left to those who check it."""
        given = self.document if isinstance(self.document, dict) else {}
        timing = given.get("timing")
        within = timing if isinstance(timing, dict) else {}
        zone = given.get("timezone", within.get("timezone"))
        try:
            return ZoneInfo(zone).key if isinstance(zone, str) else "UTC"
        except (KeyError, ValueError, OSError):
            return "UTC"

    @property
    def id(self) -> str:
        """Its id, as far as it has one."""
        given = self.document if isinstance(self.document, dict) else {}
        return str(given.get("id", given.get("scheduleId", "")))

    async def saved_in(self, space: Workspace) -> tuple[str, int]:
        """Save it, and return its id and version; Located where it is not valid."""
        with self.located():
            saved = await self.save_in(space)
        return saved.id, saved.version

    async def save_in(
        self, space: Workspace
    ) -> SavedSchedule | SavedCalendar | SavedDataSource | SavedDataQuery:
        """Save it; InvalidInput."""
        match self.kind:
            case "calendar":
                return await space.calendars.save(self.document)
            case "data source":
                return await space.data_sources.save(self.document)
            case "data query":
                return await space.data_queries.save(self.document)
            case _:
                return await space.schedules.save(self.document)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Located, with the places in the file, for an InvalidInput inside."""
        try:
            yield
        except InvalidInput as error:
            raise Located(error, self.positions) from None


def read_record(path: Path) -> Record:
    """Read a document; without an id it is called like its file."""
    text = read_file(path)
    document = parse_document(text, str(path))
    if isinstance(document, dict) and "id" not in document and "scheduleId" not in document:
        document = {"id": _stem(path), **document}
    positions = Positions(str(path), text.decode("utf-8").removeprefix("\ufeff"))
    return Record(path=path, document=document, positions=positions)


def record_in(path: Path) -> Record | None:
    """The record in a file; None: it contains definitions, or cannot be read."""
    if path.suffix not in (".json", ".yaml", ".yml"):
        return None
    try:
        record = read_record(path)
    except (InvalidDefinition, UnicodeDecodeError):
        # It is read as a definition, which says what is wrong with it.
        return None
    return None if record.kind == "workflow" else record


def split(paths: Sequence[Path]) -> tuple[list[Path], list[Record]]:
    """Files of definitions, and the records that are in the others."""
    found = [(path, record_in(path)) for path in paths]
    records = [record for _, record in found if record is not None]
    return [path for path, record in found if record is None], records


def in_order(records: Sequence[Record], kinds: Sequence[str]) -> list[Record]:
    """The records of these kinds, one kind after the other."""
    return [record for kind in kinds for record in records if record.kind == kind]


def kind_of(document: JSON) -> RecordKind:
    """What a document describes, by its fields: a workflow has steps or nodes."""
    names = set(document) if isinstance(document, dict) else set()
    if names & _OF_WORKFLOWS:
        return "workflow"
    if names & _OF_SCHEDULES:
        return "schedule"
    if names >= _OF_DATA_QUERIES:
        return "data query"
    if "kind" in names and names & _PLACES_OF_SOURCES:
        return "data source"
    return "calendar" if names & _OF_CALENDARS else "workflow"


def _stem(path: Path) -> str:
    """`nightly` of `nightly.schedule.yaml`."""
    stem = path.stem
    for ending in _NAMED:
        stem = stem.removesuffix(ending)
    return stem
