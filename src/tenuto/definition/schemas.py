"""JSON Schemas: whether they are well formed, and whether values conform."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, TypeAlias, cast

import jsonschema_rs
from jsonschema_rs import FancyRegexOptions, RegexOptions, ValidationError, Validator

from tenuto.definition.fields import UNUSABLE
from tenuto.definition.report import MOST_PROBLEMS, Place, Report, did_you_mean
from tenuto.definition.schema_nodes import ReferenceNotFound, SchemaTooCostly
from tenuto.definition.schema_patterns import BACKTRACKS
from tenuto.definition.schema_work import MOST_STEPS, STEPS_OF_A_PROBLEM, SchemaWork
from tenuto.model.errors import Problem
from tenuto.model.graph import Definition
from tenuto.model.json import JSON, Object, kind_of, size_of
from tenuto.model.text_forms import BY_PATTERN, TextForm

SchemaJSON: TypeAlias = Object | bool

_MOST_VALIDATORS = 1000
_MOST_VALIDATOR_BYTES = 32_000_000
"""The most bytes of schemas whose validators are kept."""
_LONGEST_MESSAGE = 300
_MOST_OF_A_TASK = 10
"""The most problems of a task's value that are recorded in the log."""
_MOST_NAMED = 8
"""The most properties that an advice names."""
_STEPS_OF_A_REFUSAL = MOST_STEPS // 10
"""To find that a value would take too many steps costs at most about as many."""
_OF_SHAPES = frozenset(
    {"type", "required", "additionalProperties", "minItems", "maxItems", "minProperties"}
)
"""Keywords whose problems do not depend on the parts of a value."""
_LINEAR = RegexOptions()
_BACKTRACKING = FancyRegexOptions(backtrack_limit=BACKTRACKS)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef", "$schema")
_ELSEWHERE = "not present in a registry"


_KEYWORDS = frozenset(
    """
    $anchor $comment $defs $dynamicRef $id $recursiveRef $ref $schema additionalProperties allOf
    anyOf const contains default definitions dependencies dependentRequired dependentSchemas
    deprecated description else enum examples exclusiveMaximum exclusiveMinimum format if items
    maxItems maxLength maxProperties maximum minItems minLength minProperties minimum multipleOf not
    nullable oneOf pattern patternProperties prefixItems properties propertyNames readOnly required
    then title type unevaluatedItems unevaluatedProperties uniqueItems writeOnly
    """.split()  # noqa: SIM905
)


class Schema:
    """A kind: a JSON Schema that needs no other document."""

    def read(self, value: JSON, place: Place) -> object:
        if not isinstance(value, dict | bool):
            place.wrong("TEN-1010", f"expected a schema, found {kind_of(value)}")
            return UNUSABLE
        if place.report.is_saved:
            # It is compiled when a value is first checked: that may take long, and not here.
            return value
        try:
            _compile(value, SchemaWork(value))
        except ReferenceNotFound as error:
            if not _refuse_references(value, place):
                place.wrong("TEN-1060", f"not a JSON Schema: {error}")
            return UNUSABLE
        except SchemaTooCostly as error:
            # One that was saved before stays as it is: it is refused wherever a value is checked.
            _inside(place, error.keys).wrong("TEN-1063", str(error))
            return value
        except ValidationError as error:
            if _ELSEWHERE in error.message or "Unknown meta-schema" in error.message:
                if not _refuse_references(value, place):
                    place.wrong("TEN-1061", _short(error.message))
            else:
                there = _inside(place, error.instance_path)
                there.wrong("TEN-1060", f"not a JSON Schema: {_short(error.message)}")
            return UNUSABLE
        except ValueError as error:
            place.wrong("TEN-1060", f"not a JSON Schema: {_short(str(error))}")
            return UNUSABLE
        if isinstance(value, dict) and value and not _KEYWORDS & value.keys():
            place.warn(
                "TEN-1053",
                "none of its names is a keyword of JSON Schema, so that it allows everything",
                'Write for example `{"type": "object", "properties": {"id": {"type": "string"}}}`.',
            )
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {"type": ["object", "boolean"]}


def schema_problems(value: Object, path: str = "$") -> tuple[Problem, ...]:
    """Why a value is no JSON Schema that needs no other document and little work."""
    report = Report()
    Schema().read(value, Place(path, report))
    return report.problems


def input_problems(definition: Definition, value: JSON) -> tuple[Problem, ...]:
    """All problems of an input by the definition's `inputSchema`."""
    return problems_by_schema(definition.input_schema, value)


def problems_by_schema(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """The same, where only the schema is known."""
    return _problems(schema, value, _INPUT)


_MOST_STEPS_AT_ONCE = 20_000
"""The most steps of a check that takes at most some milliseconds."""
_MOST_STEPS_OF_A_LIST_AT_ONCE = 1_000
"""The same, where all problems are listed."""
_MOST_PATTERNS_AT_ONCE = 1_000
"""The most characters of patterns in a schema that takes at most some milliseconds to compile."""


def quick_input_problems(definition: Definition, value: JSON) -> tuple[Problem, ...] | None:
    """The same as `input_problems`; None where that may take longer than some milliseconds.

    A small value may take as long as a large one.
    """
    schema = definition.input_schema
    if schema is None:
        return ()
    try:
        made = _VALIDATORS.quickly(cast("SchemaJSON", schema))
        if made is None:
            return None
        validator, work = made
        steps = work.admit(value)
        if steps > _MOST_STEPS_AT_ONCE:
            return None
        if steps > _MOST_STEPS_OF_A_LIST_AT_ONCE:
            return () if validator.is_valid(value) else None
    except (SchemaTooCostly, ValueError):
        pass  # it is refused at once
    return input_problems(definition, value)


def weigh_input_schema(definition: Definition) -> None:
    """Find the bounds of its `inputSchema`, which are kept until an input is checked."""
    if isinstance(definition.input_schema, dict):
        _VALIDATORS.weigh(definition.input_schema)


def form_problems(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """All problems of the form of a decision by the approval's `formSchema`."""
    return _problems(schema, value, _FORM)


def given_problems(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """All problems of a task's input by its `inputSchema`."""
    return _problems(schema, value, _GIVEN)


def query_problems(schema: JSON, value: JSON) -> tuple[Problem, ...]:
    """All problems of the arguments of a data query by its `parameters`."""
    return _problems(schema, value, _ARGUMENTS)


class Finding(NamedTuple):
    """The problems of a value, and the steps of work that it took to find them."""

    problems: tuple[Problem, ...]
    steps: int


def check_task_input(schema: JSON, value: JSON) -> Finding:
    """The first problems of a step's input by its task's `inputSchema`."""
    return _found(schema, value, _TASK_INPUT, most=_MOST_OF_A_TASK)


def check_task_output(schema: JSON, value: JSON) -> Finding:
    """The first problems of a step's output by its task's `outputSchema`."""
    return _found(schema, value, _TASK_OUTPUT, most=_MOST_OF_A_TASK)


def check_literals(schema: JSON, template: JSON) -> Finding:
    """The problems of a step's input that it has whatever the expressions in it give."""
    try:
        validator, work = _VALIDATORS.of(cast("SchemaJSON", schema))
        steps = work.admit(template)
        if not work.of(template).may_list or validator.is_valid(template):
            return Finding((), steps)
    except (SchemaTooCostly, ValueError):
        # It is refused where a value is checked.
        return Finding((), _STEPS_OF_A_REFUSAL)
    report = Report()
    root = Place(_TASK_INPUT.path, report)
    for each in _meant(validator.iter_errors(template)):
        if not _depends(cast("JSON", each.instance)) or _is_of_the_shape(each):
            there = _inside(root, each.instance_path)
            there.wrong(_TASK_INPUT.code, _message(each), _advice(each, _TASK_INPUT, schema))
    return Finding(report.problems, steps * (1 + STEPS_OF_A_PROBLEM))


def _depends(value: JSON) -> bool:
    """Whether there is an expression in a value."""
    match value:
        case str():
            return "{{" in value
        case dict():
            return any(map(_depends, value.values()))
        case list():
            return any(map(_depends, value))
        case _:
            return False


def _is_of_the_shape(error: ValidationError) -> bool:
    """Whether it is about an object or a list as such, and not about what is in it."""
    return not isinstance(error.instance, str) and error.kind.name in _OF_SHAPES


class _Checked(NamedTuple):
    """A kind of checked value: its name, its path, the code of its problems, its schema's field."""

    name: str
    path: str
    code: str
    field: str


_INPUT = _Checked("input", "$", "TEN-2101", "inputSchema")
_GIVEN = _Checked("input", "$.input", "TEN-2101", "inputSchema")
_FORM = _Checked("form", "$.form", "TEN-2110", "formSchema")
_ARGUMENTS = _Checked("arguments", "$.args", "TEN-2779", "parameters")
_TASK_INPUT = _Checked("input of the step", "$", "TEN-2112", "inputSchema")
_TASK_OUTPUT = _Checked("output", "$", "TEN-2113", "outputSchema")


def _problems(schema: JSON, value: JSON, what: _Checked) -> tuple[Problem, ...]:
    return _found(schema, value, what, MOST_PROBLEMS).problems


def _found(schema: JSON, value: JSON, what: _Checked, most: int) -> Finding:
    if schema is None:
        return Finding((), 0)
    steps = 0
    try:
        validator, work = _VALIDATORS.of(cast("SchemaJSON", schema))
        steps = _STEPS_OF_A_REFUSAL
        steps = work.admit(value)
        if validator.is_valid(value):
            return Finding((), steps)
    except SchemaTooCostly as error:
        message = f"the {what.name} cannot be checked by `{what.field}`: {error}"
        return Finding(_problem(what, "TEN-2114", message), steps)
    except ValueError as error:
        message = f"the {what.name} cannot be checked: {_short(str(error))}"
        return Finding(_problem(what, what.code, message), steps)
    report = Report()
    root = Place(what.path, report)
    may_list = work.of(value).may_list
    for each in islice(_meant(_errors(validator, value, work, may_list=may_list)), most):
        there = _inside(root, each.instance_path)
        there.wrong(what.code, _message(each), _advice(each, what, schema))
    if not may_list:
        root.wrong(what.code, _AT_LEAST, f"Correct the {what.name}, then check it again.")
    return Finding(report.problems, steps * (1 + STEPS_OF_A_PROBLEM if may_list else 2))


def _problem(what: _Checked, code: str, message: str) -> tuple[Problem, ...]:
    report = Report()
    Place(what.path, report).wrong(code, message)
    return report.problems


_AT_LEAST = "it has at least one problem: finding every one would take too many steps of work"


def _errors(
    validator: Validator, value: JSON, work: SchemaWork, *, may_list: bool
) -> Iterator[ValidationError]:
    """Every problem, or of a large value the first: the library finds all before it gives one."""
    if may_list:
        yield from validator.iter_errors(value)
    elif not work.has_branches:
        # With branches even the first one would quote the problems of each.
        try:
            validator.validate(value)
        except ValidationError as error:
            yield error


def _meant(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """The same, but of alternatives of which one alone takes this kind of value, its problems."""
    for error in errors:
        # The problems of each alternative; the types of the library leave them out.
        options: list[list[ValidationError]] = getattr(error.kind, "context", None) or []
        taking = [option for option in options if not _is_of_another_kind(option, error)]
        if len(taking) == 1 and taking[0]:
            yield from _meant(taking[0])
        else:
            yield error


def _is_of_another_kind(option: Iterable[ValidationError], error: ValidationError) -> bool:
    return any(
        each.kind.name == "type" and each.instance_path == error.instance_path for each in option
    )


class _Kept(NamedTuple):
    """A schema, its bounds or why it has none, and what it was compiled to, once it was."""

    schema: SchemaJSON
    work: SchemaWork | SchemaTooCostly
    size: int
    validator: Validator | None = None


class _Validators:
    """The schemas that were used last, with their bounds; compiled when they are first needed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        """Large values are checked in a thread."""

    def of(self, schema: SchemaJSON) -> tuple[Validator, SchemaWork]:
        """The validator of a schema; SchemaTooCostly."""
        # The library expands branches when it compiles, so the bounds come first.
        kept, work = self._bounded(schema)
        validator = kept.validator
        if validator is None:
            validator = _compile(schema, work)
            self._keep(kept._replace(validator=validator))
        return validator, work

    def quickly(self, schema: SchemaJSON) -> tuple[Validator, SchemaWork] | None:
        """The same; None where compiling it takes longer than some milliseconds."""
        kept, work = self._bounded(schema)
        if kept.validator is not None:
            return kept.validator, work
        return None if work.pattern_size > _MOST_PATTERNS_AT_ONCE else self.of(schema)

    def weigh(self, schema: SchemaJSON) -> None:
        """Find and keep the bounds of a schema."""
        with suppress(SchemaTooCostly):
            self._bounded(schema)

    def _bounded(self, schema: SchemaJSON) -> tuple[_Kept, SchemaWork]:
        kept = self._found(schema)
        if kept is None:
            kept = _Kept(schema, _work_of(schema), size_of(schema))
            self._keep(kept)
        if isinstance(kept.work, SchemaTooCostly):
            raise kept.work
        return kept, kept.work

    def _found(self, schema: SchemaJSON) -> _Kept | None:
        key = id(schema)
        with self._lock:
            kept = self._kept.get(key)
            # The schema is kept beside its validator, so that no other object gets its identity.
            if kept is None or kept.schema is not schema:
                return None
            self._kept.move_to_end(key)
            return kept

    def _keep(self, kept: _Kept) -> None:
        with self._lock:
            before = self._kept.pop(id(kept.schema), None)
            self._size += kept.size - (0 if before is None else before.size)
            self._kept[id(kept.schema)] = kept
            while len(self._kept) > _MOST_VALIDATORS or self._size > _MOST_VALIDATOR_BYTES:
                self._size -= self._kept.popitem(last=False)[1].size


def _work_of(schema: SchemaJSON) -> SchemaWork | SchemaTooCostly:
    try:
        return SchemaWork(schema)
    except SchemaTooCostly as error:
        return SchemaTooCostly(error.keys, str(error))


def _compile(schema: SchemaJSON, work: SchemaWork) -> Validator:
    return jsonschema_rs.validator_for(
        schema,
        offline=True,
        pattern_options=_BACKTRACKING if work.is_backtracking else _LINEAR,
    )


def _refuse_references(schema: SchemaJSON, place: Place) -> bool:
    """Report each reference to another document; whether there is one."""
    found = False
    for keys, target in _references(schema):
        if not target.startswith("#"):
            _inside(place, keys).wrong("TEN-1061", f"`{target}` is not in this document")
            found = True
    return found


def _references(schema: JSON) -> Iterator[tuple[Sequence[str | int], str]]:
    todo: list[tuple[tuple[str | int, ...], JSON]] = [((), schema)]
    while todo:
        keys, value = todo.pop()
        if isinstance(value, dict):
            for name, inner in value.items():
                if name in _REFERENCES and isinstance(inner, str):
                    if name != "$schema" or "json-schema.org" not in inner:
                        yield (*keys, name), inner
                else:
                    todo.append(((*keys, name), inner))
        elif isinstance(value, list):
            todo.extend(((*keys, index), inner) for index, inner in enumerate(value))


def _inside(place: Place, keys: Sequence[str | int]) -> Place:
    for key in keys:
        place = place.at(key)
    return place


def _message(error: ValidationError) -> str:
    form = _form(error)
    if form is None:
        return _short(error.message)
    return _short(f"{json.dumps(error.instance, ensure_ascii=False)} is not {form.name}")


def _form(error: ValidationError) -> TextForm | None:
    """The form that a text should have, if it has a name."""
    return BY_PATTERN.get(str(error.kind.value)) if error.kind.name == "pattern" else None


def _advice(error: ValidationError, what: _Checked, schema: JSON) -> str:
    match error.kind.name:
        case "pattern" if (form := _form(error)) is not None:
            return f"Write it as `{form.example}`."
        case "type" if error.instance is None and not error.instance_path:
            return f"Send the {what.name}{_needed(schema)}."
        case "required" if what is _TASK_INPUT and getattr(error.kind, "property", "") == "ctx":
            return "To get the context, annotate the parameter: `ctx: Context`."
        case "required":
            return f"Add the property to the {what.name}."
        case "additionalProperties" | "unevaluatedProperties":
            instead = f"Remove the property from the {what.name}, or correct its name."
            return _near(error, schema, instead)
        case _ if what is _TASK_INPUT:
            return f"Correct the {what.name}, or the type that the task declares."
        case "type":
            return "Send a value of the expected type."
        case _:
            return f"Correct the value, or the definition's `{what.field}`."


def _near(error: ValidationError, schema: JSON, instead: str) -> str:
    """The name that an unknown property at the beginning of the value may be a misspelling of."""
    names = begun(schema).get("properties")
    unknown: list[str] = getattr(error.kind, "unexpected", [])
    if error.instance_path or not isinstance(names, dict) or len(unknown) != 1:
        return instead
    return did_you_mean(unknown[0], names, instead)


def begun(schema: JSON) -> Object:
    """The beginning of a schema: itself, or what it refers to."""
    whole = schema if isinstance(schema, dict) else {}
    shared, name = whole.get("$defs"), str(whole.get("$ref", "")).removeprefix("#/$defs/")
    if isinstance(shared, dict) and isinstance(found := shared.get(name), dict):
        return found
    return whole


def _needed(schema: JSON) -> str:
    """The properties that an object needs, as far as the beginning of its schema tells them."""
    names = begun(schema).get("required")
    if not isinstance(names, list) or not names:
        return ""
    listed = ", ".join(f"`{each}`" for each in names[:_MOST_NAMED])
    return f", an object with {listed}{', …' if len(names) > _MOST_NAMED else ''}"


def _short(message: str) -> str:
    message = message.splitlines()[0] if message else "refused"
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 3] + "..."


_VALIDATORS = _Validators()
