"""How the input of an attempt becomes the arguments of a function.

One data parameter gets the whole input; several are bound by name from the input object; none
ignores it. The first parameter annotated `Context` gets the context. The parameters of
a function are analysed once; each call then costs one copy of the input, which the task may change.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec
from msgspec import Struct, to_builtins

from tenuto.model.failure import Failure
from tenuto.model.json import JSON, kind_of
from tenuto.model.json_words import in_json_words
from tenuto.tasks import hints
from tenuto.tasks.context import Context
from tenuto.tasks.failures import INVALID_INPUT, Refused, storable

Call = Callable[[Context | None, JSON], Any]

_POSITIONAL = frozenset(
    {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
)


class Binding(Struct, frozen=True):
    """How a function is called with an input."""

    call: Call
    """Calls the function; raises Refused when the input does not fit."""
    takes_context: bool
    data: inspect.Signature
    """The function without its context, as a workflow calls it; annotations are resolved.

    An annotation whose names cannot be resolved is `hints.UNRESOLVED`.
    """

    @property
    def is_annotated(self) -> bool:
        """Whether a parameter has a type that is known."""
        untyped = {id(each) for each in (inspect.Parameter.empty, hints.UNRESOLVED, Any, object)}
        return any(id(each.annotation) not in untyped for each in self.data.parameters.values())


class _Data(Struct, frozen=True):
    name: str
    by_position: bool
    is_required: bool
    convert: Callable[[Any], Any] | None


def bind(
    fn: Callable[..., Any], local: Mapping[str, Any], *, may_leave_out: bool = False
) -> Binding:
    """Work out how `fn` is called; `local` has the names around its definition.

    Every member of an input that is bound by name needs a parameter, unless `may_leave_out`.
    """
    scope = getattr(inspect.unwrap(fn), "__globals__", {})
    context: inspect.Parameter | None = None
    data: list[_Data] = []
    called: list[inspect.Parameter] = []
    takes_any_name = False
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            takes_any_name = True
            called.append(parameter)
        elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            annotation = hints.resolve(parameter.annotation, scope, local)
            if context is None and hints.is_context(parameter, annotation):
                context = parameter
            else:
                data.append(_data(parameter, annotation))
                called.append(parameter.replace(annotation=annotation))
    call = _plain(fn, context, data) if not takes_any_name else None
    call = call or _by_name(
        fn, context, data, takes_any_name=takes_any_name, may_leave_out=may_leave_out
    )
    gives = hints.resolve(inspect.signature(fn).return_annotation, scope, local)
    signature = inspect.Signature(called, return_annotation=gives)
    return Binding(call, context is not None, signature)


def _data(parameter: inspect.Parameter, annotation: object) -> _Data:
    converts = hints.needs_conversion(annotation)
    return _Data(
        parameter.name,
        parameter.kind in _POSITIONAL,
        parameter.default is inspect.Parameter.empty,
        (lambda value: hints.convert(value, annotation)) if converts else None,
    )


def _plain(
    fn: Callable[..., Any], context: inspect.Parameter | None, data: list[_Data]
) -> Call | None:
    """The call of a function with at most one data parameter; the common case, and the fast one."""
    if len(data) > 1 or (context is not None and context.kind not in _POSITIONAL):
        return None
    if not data:
        return (lambda _, __: fn()) if context is None else (lambda ctx, _: fn(ctx))
    [only] = data
    if not only.by_position:
        return None
    own = _owned(only)
    if context is None:
        return lambda _, value: fn(own(value))
    if next(iter(inspect.signature(fn).parameters)) == context.name:
        return lambda ctx, value: fn(ctx, own(value))
    return lambda ctx, value: fn(own(value), ctx)


def _owned(data: _Data) -> Callable[[JSON], Any]:
    """Makes the argument from the input: a copy, converted to the annotated type."""
    if data.convert is None:
        return to_builtins
    convert, name = data.convert, data.name

    def own(value: JSON) -> object:
        return _converted(name, convert, to_builtins(value), "")

    return own


def _by_name(
    fn: Callable[..., Any],
    context: inspect.Parameter | None,
    data: list[_Data],
    *,
    takes_any_name: bool,
    may_leave_out: bool,
) -> Call:
    if len(data) == 1 and not takes_any_name:
        [only] = data
        own = _owned(only)
        return lambda ctx, value: fn(
            **{only.name: own(value)}, **({} if context is None else {context.name: ctx})
        )
    names = [one.name for one in data]
    signature = inspect.signature(fn)

    def call(ctx: Context | None, value: JSON) -> object:
        given = {} if value is None else to_builtins(value)
        if not isinstance(given, dict):
            _refuse(f"the input is {kind_of(given)}, but an object with {_list(names)} is needed")
        missing = [one.name for one in data if one.is_required and one.name not in given]
        unknown = [] if takes_any_name else [name for name in given if name not in names]
        if may_leave_out:
            for name in unknown:
                del given[name]
            unknown = []
        if missing or unknown:
            _refuse(_mismatch(missing, unknown, names))
        for one in data:
            if one.convert is not None and one.name in given:
                given[one.name] = _converted(one.name, one.convert, given[one.name], one.name)
        if context is not None:
            given[context.name] = ctx
        arguments = []
        for name, parameter in signature.parameters.items():
            # Positional-only parameters come first, without gaps.
            if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY or name not in given:
                break
            arguments.append(given.pop(name))
        return fn(*arguments, **given)

    return call


def _converted(name: str, convert: Callable[[Any], Any], value: object, place: str) -> object:
    try:
        return convert(value)
    except msgspec.ValidationError as error:
        said = in_json_words(error)
        message = said.replace("`$", f"`$.{place}") if place else said
        return _refuse(f"the input does not fit `{name}`: {message}")
    except Exception as error:  # noqa: BLE001 - validators are the user's code
        return _refuse(f"the input does not fit `{name}`: {error}")


def _mismatch(missing: list[str], unknown: list[str], names: list[str]) -> str:
    parts = []
    if missing:
        parts.append(f"the input has no {_list(missing)}")
        if "ctx" in missing:
            parts.append("to get the context, annotate the parameter: `ctx: Context`")
    if unknown:
        parts.append(f"no parameter is called {_list(unknown)}; there are {_list(names)}")
    return "; ".join(parts)


def _refuse(message: str) -> NoReturn:
    raise Refused(Failure(code=INVALID_INPUT, message=storable(message), retryable=False))


def _list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) if names else "no names"
