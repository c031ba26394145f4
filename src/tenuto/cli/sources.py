"""Reads the definitions and the JSON that a command is given."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tenuto.cli.positions import Located, Positions
from tenuto.cli.views.masking import MASK, is_masked
from tenuto.definition import check, parse_document
from tenuto.definition.code_places import CodePlace
from tenuto.model.errors import InvalidDefinition, InvalidInput, NotFound, Problem, TenutoError
from tenuto.model.graph import Definition
from tenuto.model.json import JSON, Object

if TYPE_CHECKING:
    from tenuto.python_form.workflow import WorkflowFunction
    from tenuto.workspace.protocol import Workspace

_PAIR: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)\Z", re.DOTALL)
"""A field of an input; no JSON document begins like that."""

Refusal: TypeAlias = InvalidDefinition | InvalidInput


class Source(Struct, frozen=True, kw_only=True):
    """A definition's file, read."""

    path: Path
    document: JSON
    positions: Positions | None
    """None: the problems name their positions themselves."""
    definition: Definition | None
    problems: tuple[Problem, ...]
    flow: WorkflowFunction[..., Any] | None = None
    """The function that describes it, if one does."""
    code: tuple[CodePlace, ...] = ()
    """The code in it, which is not parsed: see `cli/code.py`."""

    def checked(self) -> Definition:
        """The definition; Located when it has errors."""
        if self.definition is None:
            error = InvalidDefinition(f"{self.path} has {self.counted}", self.problems)
            raise Located(error, self.positions)
        return self.definition

    async def is_saved(self, space: Workspace) -> bool:
        """Whether it is the newest version of a saved definition already."""
        if not isinstance(self.document, dict):
            return False
        try:
            saved = await space.definition(str(self.document.get("id")))
        except TenutoError:
            return False
        return saved.definition == self.document

    @property
    def id(self) -> str:
        assert isinstance(self.document, dict)
        return str(self.document["id"])

    @property
    def deployable(self) -> WorkflowFunction[..., Any] | Object:
        """The function, or the document, that a workspace deploys."""
        if self.flow is not None:
            return self.flow
        return self.as_object

    @property
    def as_object(self) -> Object:
        """The document of the definition."""
        assert isinstance(self.document, dict)
        return self.document

    @property
    def counted(self) -> str:
        """`2 errors and 1 warning`."""
        errors = sum(problem.severity == "error" for problem in self.problems)
        warnings = len(self.problems) - errors
        parts = [_several(errors, "error")] if errors or not warnings else []
        if warnings:
            parts.append(_several(warnings, "warning"))
        return " and ".join(parts)


def read_source(path: Path) -> Source:
    """Read and check the definition in a JSON or YAML file, or the one in a Python file."""
    from tenuto.cli.python_files import named, read_flow

    which = named(path)
    return _read_document(path) if which is None else read_flow(path, which)


def read_sources(path: Path) -> list[Source]:
    """Read and check every definition in a file."""
    from tenuto.cli.python_files import named, read_flows

    which = named(path)
    return [_read_document(path)] if which is None else read_flows(path, which)


def read_all(paths: Sequence[Path]) -> list[Source]:
    """Read and check every definition in files; the problems of all are reported together."""
    sources: list[Source] = []
    errors: list[Refusal] = []
    for path in paths:
        try:
            sources += read_sources(path)
        except (InvalidDefinition, InvalidInput) as error:
            errors.append(error)
    if errors:
        refuse(errors, sources)
    return sources


def refuse(errors: Sequence[Refusal | Located], sources: Sequence[Source] = ()) -> NoReturn:
    """Raise one error with the problems of several files, and those of sources that are read."""
    found = [*errors]
    for source in sources:
        try:
            source.checked()
        except Located as error:
            found.append(error)
    if len(found) == 1:
        raise found[0]
    problems = [problem for each in found for problem in _placed(each)]
    raise InvalidDefinition("several definitions have errors", problems)


def _placed(error: Refusal | Located) -> Iterable[Problem]:
    """The problems of an error, each with its place in a file."""
    if not isinstance(error, Located):
        return error.problems
    positions = error.positions
    if positions is None:
        return error.error.problems
    return [
        replace(each, path=str(at), message=f"{each.path}: {each.message}")
        if (at := positions.place(each.path)) is not None
        else each
        for each in error.error.problems
    ]


def _read_document(path: Path) -> Source:
    """A document without an id is called like its file."""
    text = read_file(path)
    document = parse_document(text, str(path))
    if isinstance(document, dict) and "id" not in document:
        document = {"id": path.stem, **document}
    checked = check(document)
    return Source(
        path=path,
        document=document,
        positions=Positions(str(path), text.decode("utf-8").removeprefix("\ufeff")),
        definition=checked.definition,
        problems=checked.problems,
        code=checked.code,
    )


def read_input(given: Sequence[str] | None, option: str = "--input") -> JSON:
    """The values of an option: one document, or fields as NAME=VALUE; None where there is none."""
    if not given:
        return None
    pairs = [_PAIR.match(each) for each in given]
    if len(given) == 1 and pairs[0] is None:
        return read_json(given[0], option)
    names = [pair["name"] for pair in pairs if pair is not None]
    wrong = [
        f"{text!r} is not NAME=VALUE" for text, pair in zip(given, pairs, strict=True) if not pair
    ]
    wrong += [f"{name} is given twice" for name in sorted({*names}) if names.count(name) > 1]
    if wrong:
        advice = "Write one JSON document, or each field once as NAME=VALUE, such as orderId=7."
        problems = [
            Problem(code="TEN-2004", path=option, message=message, advice=advice)
            for message in wrong
        ]
        raise InvalidInput("the input is neither one document nor fields", problems)
    found: Object = {
        pair["name"]: _value(pair["value"], pair["name"], option)
        for pair in pairs
        if pair is not None
    }
    _refuse_masked(found, option)
    return found


def _value(text: str, name: str, option: str) -> JSON:
    """JSON, `@FILE` or `-`; else the text itself."""
    if text == "-" or text.startswith("@"):
        return read_json(text, f"{option} {name}")
    try:
        return parse_document(text, name)
    except InvalidDefinition:
        return text


def read_json(text: str, option: str) -> JSON:
    """JSON given on the command line: itself, `@FILE`, or `-` for stdin."""
    content: str | bytes
    if text == "-":
        content, where = sys.stdin.buffer.read(), "stdin"
    elif text.startswith("@"):
        content, where = read_file(Path(text[1:])), text[1:]
    else:
        content, where = text, option
    try:
        found = parse_document(content, where)
    except InvalidDefinition as error:
        problems = [
            Problem(
                code="TEN-2004",
                path=option,
                message=problem.message,
                advice="Write JSON in single quotes, such as '{\"orderId\": 7}', "
                "or @FILE to read it from a file.",
            )
            for problem in error.problems
        ]
        raise InvalidInput(f"{option} is not JSON", problems) from None
    _refuse_masked(found, option)
    return found


def _refuse_masked(found: JSON, option: str) -> None:
    if is_masked(found):
        problem = Problem(
            code="TEN-2004",
            path=option,
            message=f"a value is {MASK}, which stands for one that was masked when it was read",
            advice="Read it again with --reveal, or write the value itself.",
        )
        raise InvalidInput(f"{option} has a masked value", [problem])


def read_file(path: Path) -> bytes:
    """The content of a file; NotFound with the nearest name when it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", advice=_near(path)) from None
    except IsADirectoryError:
        raise NotFound(f"{path} is a folder", advice="Name a file in it.") from None
    except OSError as error:
        advice = "Check that this user may read it."
        raise NotFound(f"cannot read {path}: {error.strerror}", advice=advice) from None


def _near(path: Path) -> str:
    try:
        names = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return "Correct the path."
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"Did you mean {path.parent / near[0]}?" if near else "Correct the path."


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
