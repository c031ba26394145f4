"""The files of `tenuto serve` and `tenuto dev`: a faulty one need not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from msgspec import Struct

from tenuto.cli.deployment import deployed as deployed_version, saved_record
from tenuto.cli.positions import Located
from tenuto.cli.python_files import named
from tenuto.cli.records import AFTER_WORKFLOWS, BEFORE_WORKFLOWS, Record, in_order, record_in
from tenuto.cli.sources import Refusal, Source, read_sources, refuse
from tenuto.cli.task_modules import BESIDE, load_tasks
from tenuto.cli.task_warnings import misspelled, tasks_of
from tenuto.cli.views.errors import show_error
from tenuto.cli.views.terminal import say
from tenuto.model.errors import InvalidDefinition, InvalidInput, NotFound, TenutoError
from tenuto.model.tenants import DEFAULT_TENANT

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.workspace.engine_workspace import EngineWorkspace

T = TypeVar("T")
Tolerance: TypeAlias = Literal["none", "definitions", "files"]
"""Which faulty files are left out with a message: none; definitions, whose last version is in the
store, but no code, which an older process still has; or every file."""


class ReadFiles(Struct, frozen=True, kw_only=True):
    """What files contain."""

    definitions: list[tuple[Path, list[Source]]]
    records: list[Record]
    """Schedules, calendars, data sources and data queries."""


def read_files(tasks: Sequence[str], files: Sequence[Path], tolerance: Tolerance) -> ReadFiles:
    """Import the tasks and read the definitions; raises what is not tolerated.

    Documents of other records are recognised by their fields.
    """
    of_code: Tolerance = "none" if tolerance == "definitions" else tolerance
    reader = _Reader()
    for module in tasks:
        reader.read(partial(load_tasks, [module], None), module, of_code)
    read = {file: reader.read(partial(record_in, file), file, tolerance) for file in files}
    records = [each for each in read.values() if each is not None]
    files = [file for file in files if read[file] is None]
    for file in files:
        # A definition in Python is imported when it is read.
        if named(file) is None:
            reader.read(partial(load_tasks, (), file), str(file.parent / BESIDE), of_code)
    found = [(file, reader.read(partial(_read, file), file, tolerance)) for file in files]
    if reader.faults:
        refuse(reader.faults)
    definitions = [(file, sources) for file, sources in found if sources is not None]
    return ReadFiles(definitions=definitions, records=records)


class _Reader:
    """Reads files, and goes on after those that cannot be read."""

    def __init__(self) -> None:
        self.faults: list[Refusal | Located] = []
        """What is not tolerated."""
        self._shown: set[str] = set()
        """Errors that were shown: code beside many definitions fails for each of them alike."""

    def read(self, read: Callable[[], T], file: str | Path, tolerance: Tolerance) -> T | None:
        """What `read` gives; None where it fails."""
        try:
            return read()
        except NotFound:
            # The command line names what is not there.
            raise
        except (InvalidDefinition, InvalidInput, Located) as error:
            if _is_tolerated(file, tolerance):
                self._leave_out(file, error)
            else:
                self.faults.append(error)
        except TenutoError as error:
            if not _is_tolerated(file, tolerance):
                raise
            self._leave_out(file, error)
        return None

    def _leave_out(self, file: str | Path, error: TenutoError | Located) -> None:
        text = str(error.error if isinstance(error, Located) else error)
        if text not in self._shown:
            self._shown.add(text)
            _leave_out(file, error)


async def deploy_files(
    app: Tenuto,
    read: ReadFiles,
    announce: Callable[[str], None],
    tolerance: Tolerance,
) -> list[Source]:
    """Deploy the definitions of the files, and return those that were deployed.

    What they name is saved before them, calendars and data queries, and schedules after them.
    """
    deployed: list[Source] = []
    space = app.workspace(DEFAULT_TENANT, "app")
    await _save_records(app, space, read.records, BEFORE_WORKFLOWS, announce, tolerance)
    known = {*app.tasks, *await tasks_of(space)}
    for file, sources in read.definitions:
        for source in sources:
            try:
                definition = source.checked()
                version = await deployed_version(app, space, source)
            except (TenutoError, Located) as error:
                if tolerance == "none":
                    raise
                _leave_out(file, error)
                continue
            announce(f"{definition.id}@{version} from {file}")
            for each in misspelled(source, known):
                say(f"  {each.message}: {each.advice}", style="yellow")
            deployed.append(source)
    await _save_records(app, space, read.records, AFTER_WORKFLOWS, announce, tolerance)
    return deployed


async def _save_records(  # noqa: PLR0917 - before and after definitions
    app: Tenuto,
    space: EngineWorkspace,
    records: Sequence[Record],
    kinds: Sequence[str],
    announce: Callable[[str], None],
    tolerance: Tolerance,
) -> None:
    for record in in_order(records, kinds):
        try:
            id, version = await saved_record(app, space, record)
        except (TenutoError, Located) as error:
            if tolerance == "none":
                raise
            _leave_out(record.path, error)
            continue
        announce(f"{record.kind} {id}@{version} from {record.path}")


def _leave_out(file: str | Path, error: TenutoError | Located) -> None:
    """Say what is wrong with a file, and what is served instead of it."""
    if isinstance(error, Located):
        show_error(error.error, error.positions)
    else:
        show_error(error)
    say(f"  {file} is left out; all else is served, and so is what was deployed of it before.")


def _read(file: Path) -> list[Source]:
    sources = read_sources(file)
    for each in sources:
        each.checked()
    return sources


def _is_tolerated(file: str | Path, tolerance: Tolerance) -> bool:
    if tolerance == "definitions":
        return isinstance(file, Path) and named(file) is None
    return tolerance == "files"
