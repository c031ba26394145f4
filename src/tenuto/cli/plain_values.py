"""Plain values of arguments and options, for which no command has to load pydantic."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from typer import Context
from typer.core import TyperCommand, TyperGroup

_OTHER: Final = object()
"""The parser converts it, or refuses it."""
_DIGITS: Final = 15


class PlainCommand(TyperCommand):
    """A command; its parser loads what converts values for those alone that are not plain."""

    def get_params(self, ctx: Context) -> list[Any]:  # type: ignore[override]
        """The parameters, with that of `--help`."""
        return _taking_plain_values(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands; its parser is like that of a command."""

    def get_params(self, ctx: Context) -> list[Any]:  # type: ignore[override]
        """The parameters, with that of `--help`."""
        return _taking_plain_values(super().get_params(ctx))


class _PlainValue:
    """The value of one parameter, where it is text, a choice, a number or the name of a file."""

    def __init__(self, parameter: Any) -> None:  # noqa: ANN401 - of the parser
        self._annotation = parameter.type_descriptor.annotation
        self._parsing = parameter.get_runtime_param

    def __call__(self) -> _PlainValue:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - whatever it is
        """The value that the command gets; what is not plain is left to the parser."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        plain = _plain(value, self._annotation, param)
        if plain is _OTHER:
            return self._parsing().coerce(value, param=param, ctx=ctx)
        return plain


def _taking_plain_values(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        # Parsers of other versions load nothing.
        if not isinstance(getattr(each, "get_runtime_param", None), _PlainValue | None):
            each.get_runtime_param = _PlainValue(each)
    return parameters


def _plain(value: Any, annotation: Any, param: Any) -> Any:  # noqa: ANN401 - whatever it is
    if get_origin(annotation) is list and isinstance(value, list | tuple):
        found = [_plain(each, get_args(annotation)[0], param) for each in value]
        return _OTHER if _OTHER in found else found
    if annotation is str and type(value) is str:
        return value
    if get_origin(annotation) is Literal and value in get_args(annotation):
        return value
    if annotation is int and (number := _number(value)) is not None:
        least, most = param.min, param.max
        fits = (least is None or least <= number) and (most is None or number <= most)
        return number if fits else _OTHER
    # One that is there and cannot be read is refused by the parser.
    if annotation is Path and isinstance(value, str | Path):
        return Path(value) if not Path(value).exists() or os.access(value, os.R_OK) else _OTHER
    return _OTHER


def _number(value: Any) -> int | None:  # noqa: ANN401 - whatever it is
    if type(value) is int:
        return value
    is_digits = type(value) is str and value.isascii() and value.isdigit()
    return int(value) if is_digits and len(value) <= _DIGITS else None
