"""The pages about Python: every public name with its signature and docstring."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, get_overloads, get_type_hints

import msgspec

import tenuto
import tenuto.testing
from tenuto.definition.time_kinds import iso_duration
from tenuto.model.durations import Duration, iso
from tenuto.testing import plugin
from tests.docs.reference.notes import notes_of, one_line, table

_CHAPTERS = {
    "Programs": (
        *("tenuto.app", "tenuto.workspace"),
        "tenuto.engine",
        *("tenuto.model.edited", "tenuto.model.failure", "tenuto.model.test_run"),
        *("tenuto.model.status", "tenuto.model.task_definition"),
    ),
    "Programs elsewhere": ("tenuto.client",),
    "Tasks": ("tenuto.tasks",),
    "Workflows": ("tenuto.python_form",),
    "Errors": ("tenuto.model.errors",),
}
_WIDEST = 88


def python_page() -> str:
    """Everything in `tenuto`."""
    public = {name: getattr(tenuto, name) for name in tenuto.__all__ if name != "__version__"}
    parts = [
        "# Python\n",
        "`from tenuto import …`. Introduction: [Workflows in Python](../python.md).\n",
    ]
    left = dict(public)
    for chapter, homes in _CHAPTERS.items():
        here = {name: left.pop(name) for name in public if _home(public[name]).startswith(homes)}
        parts += [f"## {chapter}\n", *_all(here, public.values())]
    assert not left, f"no chapter has {left}"
    return _with_types("\n".join(parts))


def testing_page() -> str:
    """Everything in `tenuto.testing`, and the fixture."""
    public = {name: getattr(tenuto.testing, name) for name in tenuto.testing.__all__}
    fixture = plugin.engine
    return _with_types(
        "\n".join(
            [
                "# Test kit\n",
                "`from tenuto.testing import …`.\n",
                "## Fixture `engine`\n",
                f"{inspect.getdoc(fixture)}\n",
                *_all(public, public.values(), level=2),
            ]
        )
    )


def _with_types(page: str) -> str:
    """The page, and what it calls its types: aliases with a text behind them, and enums."""
    said = _types()
    words = set(
        re.findall(r"\w+", " ".join(re.findall(r"```python.*?```|`[^`]+`", page, re.DOTALL)))
    )
    heads = set(re.findall(r"^#+ `(\w+)`", page, re.MULTILINE))
    rows = [(f"`{name}`", said[name]) for name in sorted((words & said.keys()) - heads)]
    return f"{page}\n## Types\n\n{table(('type', 'is'), rows)}" if rows else page


@cache
def _types() -> dict[str, str]:
    return dict(_found_types())


def _found_types() -> Iterator[tuple[str, str]]:
    for module in _modules():
        for name, text in notes_of(module).items():
            if name[0].isupper() and not name.isupper():
                yield name, text
        for name, each in vars(module).items():
            is_enum = isinstance(each, type) and issubclass(each, Enum)
            if is_enum and _home(each) == module.__name__:
                values = ", ".join(f"`{value}`" for value in each)
                yield name, f"{one_line(each.__doc__)} {values}"


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(tenuto.__path__, "tenuto."):
        # The demonstration is no library: to import it is to register its tasks.
        if not found.name.endswith("__main__") and ".demo" not in found.name:
            yield import_module(found.name)


def _all(names: dict[str, Any], public: Iterable[Any], level: int = 3) -> Iterator[str]:
    known = {id(each) for each in public}
    for name, each in names.items():
        yield _described(name, each, level)
        for part, kind in _parts(each):
            yield _described(kind.__name__, kind, level, given_by=f"{name}.{part}")
        for result in _results(each):
            if id(result) not in known:
                known.add(id(result))
                yield _described(result.__name__, result, level, given_by=name)


def _parts(each: Any) -> Iterator[tuple[str, type]]:  # noqa: ANN401
    """The protocols that a protocol is composed of, by their attributes."""
    if isinstance(each, type) and Protocol in each.__bases__:
        for name, member in vars(each).items():
            if isinstance(member, property):
                kind = get_type_hints(member.fget)["return"]
                if Protocol in getattr(kind, "__bases__", ()):
                    yield name, kind


def _described(name: str, each: Any, level: int, given_by: str = "") -> str:  # noqa: ANN401
    head = f"{'#' * level} `{name}`\n"
    if given_by:
        head += f"\nWhat `{given_by}` gives.\n"
    text = f"{inspect.getdoc(each)}\n"
    if not isinstance(each, type):
        # An object that is called, such as `child`, may have methods beside that.
        methods = [] if inspect.isroutine(each) else _methods(type(each))
        return "\n".join([head, f"{_code(name, each)}\n{text}", *methods])
    parts = [head, *([] if given_by else _constructor(name, each)), text]
    if issubclass(each, Enum):
        parts.append(", ".join(f"`{member.value}`" for member in each) + "\n")
    if rows := list(_attributes(each)):
        parts.append(table(("attribute", "type", "default", ""), rows))
    parts += _methods(each)
    return "\n".join(parts)


def _constructor(name: str, each: type) -> Iterator[str]:
    is_exception = issubclass(each, BaseException) and "__init__" not in vars(each)
    if not issubclass(each, msgspec.Struct | Enum) and not is_exception and _is_made(each):
        yield _code(name, each)


def _is_made(each: type) -> bool:
    """Whether users make it themselves: others are given to them."""
    parameters = inspect.signature(each).parameters.values()
    return all(
        parameter.default is not parameter.empty
        or parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
        or str(parameter.annotation) in {"str", "str | None"}
        for parameter in parameters
    )


def _attributes(each: type) -> Iterator[tuple[str, str, str, str]]:
    notes = {name: text for base in reversed(_bases(each)) for name, text in notes_of(base).items()}
    if issubclass(each, msgspec.Struct):
        for field in msgspec.structs.fields(each):
            is_needed = field.required or field.default is msgspec.NODEFAULT
            default = "" if is_needed else f"`{_Shown(field.default)!r}`"
            kind = each.__annotations__.get(field.name, "")
            yield f"`{field.name}`", f"`{kind}`" if kind else "", default, notes.get(field.name, "")
        return
    for name, text in notes.items():
        if not name.startswith("_"):
            yield f"`{name}`", "", "", text
    for name, member in _members(each):
        if isinstance(member, property):
            kind = inspect.signature(member.fget).return_annotation if member.fget else ""
            yield f"`{name}`", f"`{_plain(kind)}`", "", one_line(inspect.getdoc(member))


def _methods(each: type) -> Iterator[str]:
    for name, member in _members(each):
        is_async = inspect.iscoroutinefunction(member)
        if inspect.isfunction(member):
            text = inspect.getdoc(member)
            yield _code(name, member, prefix="await " if is_async else "")
            if text:
                yield f"{text}\n"


def _members(each: type) -> Iterator[tuple[str, Any]]:
    seen = set()
    for base in _bases(each):
        for name, member in vars(base).items():
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, member


def _bases(each: type) -> list[type]:
    return [base for base in each.__mro__ if base.__module__.startswith("tenuto.")]


def _results(each: Any) -> Iterator[type]:  # noqa: ANN401
    """The classes of Tenuto that a function gives back, as its annotations say."""
    if isinstance(each, type) or not callable(each):
        return
    function: Any = getattr(each, "__func__", each)
    if not inspect.isfunction(function):
        return
    spellings: list[Any] = [*get_overloads(function), function]
    for written in spellings:
        name = re.match(r"\w+", str(inspect.signature(written).return_annotation))
        found = getattr(import_module(_home(each)), name[0], None) if name else None
        if isinstance(found, type) and _home(found).startswith("tenuto."):
            has_words = any(not isinstance(member, property) for _, member in _members(found))
            if has_words:
                yield found


def _code(name: str, each: Callable[..., Any], prefix: str = "") -> str:
    signature = inspect.signature(each)
    parameters = [
        _shown(parameter) for key, parameter in signature.parameters.items() if key != "self"
    ]
    gives = "" if isinstance(each, type) else _plain(signature.return_annotation)
    arrow = f" -> {gives}" if gives and gives != "Any" else ""
    plain = signature.replace(parameters=parameters, return_annotation=signature.empty)
    line = f"{prefix}{name}{plain}{arrow}"
    if len(line) > _WIDEST:
        inner = ",\n    ".join(_split(str(plain)[1:-1]))
        line = f"{prefix}{name}(\n    {inner},\n){arrow}"
    return f"```python\n{line}\n```\n"


def _split(parameters: str) -> Iterator[str]:
    """At the commas that stand between parameters."""
    depth, word = 0, ""
    for character in parameters:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            yield word.strip()
            word = ""
        else:
            word += character
    yield word.strip()


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.annotation is not parameter.empty:
        parameter = parameter.replace(annotation=_Shown(_plain(parameter.annotation), is_code=True))
    if parameter.default is not parameter.empty:
        parameter = parameter.replace(default=_Shown(parameter.default))
    return parameter


class _Shown:
    """An annotation or a default, as it is written in code."""

    def __init__(self, value: object, *, is_code: bool = False) -> None:
        self._value = value
        self._is_code = is_code

    def __repr__(self) -> str:
        value = self._value
        match value:
            case str() if self._is_code:
                return value
            case str():
                return f'"{value}"'
            case timedelta():
                return f'"{iso_duration(Duration(value))}"'
            case datetime():
                return f'"{iso(value)}"'
            case msgspec.Struct():
                return f"{type(value).__name__}()"
            case (Enum() as first, *_):
                return f"tuple({type(first).__name__})"
            case msgspec.UnsetType():
                return "…"
            case _:
                return repr(value)


def _plain(annotation: object) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    return (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation))
    )


def _home(each: Any) -> str:  # noqa: ANN401
    return str(getattr(each, "__module__", ""))
