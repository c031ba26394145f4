"""Templates: JSON values in whose strings `{{ … }}` stands for the value of an expression.

A secret, `{{secrets.NAME}}`, has no value here: it stays as it is written, and its place is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from tenuto.expr.bounds import RESULT_BYTES
from tenuto.expr.coerce import to_text
from tenuto.expr.errors import ExpressionError, ExpressionSyntaxError
from tenuto.expr.expression import Expression
from tenuto.expr.frame import Frame, Meter
from tenuto.expr.library.json_text import json_text
from tenuto.expr.segments import segments
from tenuto.expr.syntax import ALL_ROOTS
from tenuto.expr.values import UNDEFINED, Undefined, Value
from tenuto.model.pauses import between_parts
from tenuto.model.secret_place import ROOT, SecretPlace, reference, secret_name

Scope: TypeAlias = Mapping[str, Any]
Render: TypeAlias = Callable[[Scope, Meter], Value | Undefined]
Fault: TypeAlias = tuple[str, ExpressionSyntaxError]

FAULTS: Final = 1_000
"""The most faults that are named."""
_LONGEST_KEY: Final = 200
"""The most characters of a key that a path shows."""


class Rendered(NamedTuple):
    """The value of a template, and the places in it where secrets belong."""

    value: Value | Undefined
    secrets: tuple[SecretPlace, ...] = ()


class _Noting(Meter):
    """A meter that also notes where secrets belong."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        super().__init__()
        self.places: list[SecretPlace] = []


@dataclass(frozen=True, slots=True)
class Template:
    """A JSON value that was checked and made ready to be filled in. Keys are never templates."""

    roots: frozenset[str]
    """The roots that its expressions use."""
    paths: tuple[tuple[str, ...], ...]
    """The static paths that its expressions use."""
    is_constant: bool
    """Whether it holds no expression, so that it renders the same whatever the scope."""
    secrets: tuple[str, ...]
    """The names of the secrets in it, each once."""
    _render: Render = field(repr=False, compare=False)

    def render(self, scope: Scope) -> Value | Undefined:
        """The value with every expression filled in. Constant parts are shared, not copied."""
        return self._render(scope, Meter())

    def render_with_secrets(self, scope: Scope) -> Rendered:
        """The same, with the places of secrets, in which `{{secrets.NAME}}` stands."""
        if not self.secrets:
            return Rendered(self.render(scope))
        meter = _Noting()
        value = self._render(scope, meter)
        return Rendered(value, tuple(meter.places))


def compile_template(value: Value, *, roots: frozenset[str] = ALL_ROOTS) -> Template:
    """Check every expression in `value`; the first fault is raised, with its place in `.path`."""
    building = _Building(roots)
    render = building.value(value, [])
    if building.faults:
        raise building.faults[0]
    used = [each for _, each in building.placed]
    return Template(
        roots=frozenset().union(*(each.roots for each in used)),
        paths=tuple(dict.fromkeys(path for each in used for path in each.paths)),
        is_constant=not used,
        secrets=tuple(dict.fromkeys(building.secrets)),
        _render=render,
    )


def template_problems(value: Value, *, roots: frozenset[str] = ALL_ROOTS) -> list[Fault]:
    """The first faults in `value`, each with the JSON path from `value` to its string."""
    building = _Building(roots)
    building.value(value, [])
    return [(_json_path(fault.path), fault) for fault in building.faults[:FAULTS]]


def template_expressions(
    value: Value, *, roots: frozenset[str] = ALL_ROOTS
) -> list[tuple[str, Expression]]:
    """The expressions in `value`, each with the JSON path from `value` to its string."""
    building = _Building(roots)
    building.value(value, [])
    return [(_json_path(path), each) for path, each in building.placed]


class _Building:
    """One walk over a value, which gathers its expressions and its faults."""

    def __init__(self, roots: frozenset[str]) -> None:
        self.roots = roots
        self.placed: list[tuple[list[str | int], Expression]] = []
        self.faults: list[ExpressionSyntaxError] = []
        self.secrets: list[str] = []
        self._cut: dict[str, list[str | Expression]] = {}
        """The pieces of the texts so far: cutting one takes as long as it is."""

    def value(self, value: Value, path: list[str | int]) -> Render:
        known = len(self.placed)
        render: Render
        if type(value) is str:
            return self.text(value, path)
        if type(value) is dict:
            fields = [(key, self.value(each, [*path, key])) for key, each in value.items()]
            render = _object(fields)
        elif type(value) is list:
            render = _array([self.value(each, [*path, i]) for i, each in enumerate(value)])
        else:
            return lambda _, __: value
        if len(self.placed) == known and not self.faults:
            constant = render({}, Meter())
            return lambda _, __: constant
        return render

    def text(self, text: str, path: list[str | int]) -> Render:
        if "{{" not in text or len(self.faults) >= FAULTS:
            return lambda _, __: text
        pieces = self._pieces(text, path)
        self.placed += ((path, piece) for piece in pieces if isinstance(piece, Expression))
        named = [_secret_in(piece) for piece in pieces]
        if any(named):
            self.secrets += (name for name in named if name is not None)
            return _text_with_secrets(pieces, named, tuple(path))
        match pieces:
            case [Expression() as lone]:
                return lone.metered
            case [] | [str()]:
                literal = "".join(piece for piece in pieces if isinstance(piece, str))
                return lambda _, __: literal
            case _:
                return _text(pieces)

    def _pieces(self, text: str, path: list[str | int]) -> list[str | Expression]:
        known = self._cut.get(text)
        if known is not None:
            return known
        between_parts()
        pieces, faults = segments(text, self.roots)
        for fault in faults:
            fault.path = path
        self.faults += faults
        if not faults:
            self._cut[text] = pieces
        return pieces


def _object(fields: list[tuple[str, Render]]) -> Render:
    def render(scope: Scope, meter: Meter) -> Value:
        rendered = ((key, each(scope, meter)) for key, each in fields)
        return {key: value for key, value in rendered if value is not UNDEFINED}

    return render


def _array(elements: list[Render]) -> Render:
    def render(scope: Scope, meter: Meter) -> Value:
        rendered = (each(scope, meter) for each in elements)
        return [None if value is UNDEFINED else value for value in rendered]

    return render


def _text(pieces: Sequence[str | Expression]) -> Render:
    def render(scope: Scope, meter: Meter) -> Value:
        out: list[str] = []
        room = RESULT_BYTES
        for piece in pieces:
            out.append(piece if isinstance(piece, str) else _as_text(piece, scope, meter))
            room -= len(out[-1])
            if room < 0:
                raise ExpressionError(f"the text is larger than {RESULT_BYTES:,} bytes")
        return "".join(out)

    return render


def _secret_in(piece: str | Expression) -> str | None:
    """The name of the secret that a piece of a template stands for; None: it is another one."""
    if isinstance(piece, str) or ROOT not in piece.roots:
        return None
    return secret_name(piece.source)


def _text_with_secrets(
    pieces: Sequence[str | Expression], named: Sequence[str | None], path: tuple[str | int, ...]
) -> Render:
    """Text in which secrets stay as they are written; where the next one begins is noted."""
    plain = [
        piece if name is None else reference(name)
        for piece, name in zip(pieces, named, strict=True)
    ]
    whole = _text(plain)

    def render(scope: Scope, meter: Meter) -> Value | Undefined:
        if not isinstance(meter, _Noting):
            return whole(scope, meter)
        out: list[str] = []
        at, room = 0, RESULT_BYTES
        for piece, name in zip(plain, named, strict=True):
            if name is not None:
                meter.places.append(SecretPlace(path, at, name))
            out.append(piece if isinstance(piece, str) else _as_text(piece, scope, meter))
            at += len(out[-1])
            room -= len(out[-1])
            if room < 0:
                raise ExpressionError(f"the text is larger than {RESULT_BYTES:,} bytes")
        return "".join(out)

    return render


def _as_text(expression: Expression, scope: Scope, meter: Meter) -> str:
    """How a value reads within other text: null is `null`, objects and arrays are JSON."""
    value = expression.metered(scope, meter)
    if type(value) is str:
        return value
    frame = Frame(scope)
    try:
        if type(value) is dict or type(value) is list:
            return str(json_text(frame, value))
        if value is not UNDEFINED:
            return to_text(frame, value)
    except ExpressionError as error:
        error.within(expression.source)
        raise
    finally:
        frame.fail()  # it takes as long, and no fuel: the bound is that of the text
    raise ExpressionError(
        "a template within text is undefined; write `?? ''` if it may be missing",
        source=expression.source,
    )


def _json_path(path: list[str | int]) -> str:
    return "".join(_steps(path))


def _steps(path: list[str | int]) -> Iterator[str]:
    for key in path:
        if isinstance(key, int):
            yield f"[{key}]"
            continue
        if len(key) > _LONGEST_KEY:
            yield f"['{key[:_LONGEST_KEY]}...']"
            continue
        if key.isidentifier() and key.isascii():
            yield f".{key}"
        else:
            escaped = key.replace("\\", "\\\\").replace("'", "\\'")
            yield f"['{escaped}']"
