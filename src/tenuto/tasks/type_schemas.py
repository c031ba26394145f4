"""JSON Schemas of annotated types: the values that an argument of the type can be made from.

The library derives them. Added is what it leaves out: a dataclass takes no other fields than its
own, text that is read as a moment has to look like one, and a decimal may be a number too. Open
schemas take all that a function can be called with: other fields of a dataclass, an item of a set
twice, and for a model whatever it validates itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import inspect

from tenuto.model import text_forms
from tenuto.model.json import Object

_TEXTS: dict[type, Object] = {
    inspect.DateTimeType: {"format": "date-time", "pattern": text_forms.MOMENT.pattern},
    inspect.DateType: {"pattern": text_forms.DATE.pattern},
    inspect.TimeType: {"format": "time", "pattern": text_forms.TIME.pattern},
    inspect.TimeDeltaType: {"pattern": text_forms.LENGTH.pattern},
    inspect.UUIDType: {"pattern": text_forms.UUID.pattern},
    inspect.DecimalType: {"type": ["string", "number"]},
}
_ANYTHING = "anything"
"""Marks the schema of `object`: the library takes no empty one."""


def schemas(
    annotations: Sequence[object], *, is_closed: bool = True
) -> tuple[list[Object], Object] | None:
    """JSON Schemas of the values that `hints.convert` accepts, and their shared definitions.

    None if they cannot be derived.
    """
    models: dict[str, Any] = {}
    try:
        found, components = msgspec.json.schema_components(
            annotations, schema_hook=lambda kind: _schema_of(kind, models, is_closed=is_closed)
        )
        kinds = inspect.multi_type_info(annotations)
        derived, shared = msgspec.to_builtins((found, components))
    except Exception:  # noqa: BLE001 - models are the user's code
        return None
    narrowing = _Narrowing(shared, is_closed=is_closed)
    for kind, schema in zip(kinds, derived, strict=True):
        narrowing.narrow(kind, schema)
    return list(derived), dict(sorted({**shared, **models}.items()))


class _Narrowing:
    """Goes through types and their schemas side by side."""

    def __init__(self, shared: dict[str, Any], *, is_closed: bool) -> None:
        self._shared = shared
        self._is_closed = is_closed
        self._seen: set[str] = set()

    def narrow(self, kind: object, schema: Any) -> None:  # noqa: ANN401 - a part of a schema
        if not isinstance(schema, dict):
            return
        match kind:
            case inspect.Metadata(type=inner):
                self.narrow(inner, schema)
            case inspect.DataclassType(fields=fields):
                self._fields(fields, schema, is_closed=self._is_closed)
            case inspect.StructType(fields=fields) | inspect.TypedDictType(fields=fields):
                self._fields(fields, schema, is_closed=False)
            case inspect.CollectionType(item_type=item):
                if not self._is_closed:
                    schema.pop("uniqueItems", None)
                self.narrow(item, schema.get("items"))
            case inspect.TupleType(item_types=items):
                self._each(items, schema.get("prefixItems"))
            case inspect.DictType(value_type=value):
                self.narrow(value, schema.get("additionalProperties"))
            case inspect.UnionType(types=kinds):
                self._each(kinds, schema.get("anyOf"))
            case inspect.CustomType() if _ANYTHING in schema:
                schema.clear()
            case _ if schema.get("type") == "string":
                schema.update(_TEXTS.get(type(kind), {}))
            case _:
                pass

    def _fields(
        self, fields: Sequence[inspect.Field], schema: dict[str, Any], *, is_closed: bool
    ) -> None:
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if name and name in self._seen:
            return
        self._seen.add(name)
        whole = self._shared.get(name, schema)
        if is_closed:
            whole["additionalProperties"] = False
        parts = whole.get("properties", {})
        for each in fields:
            self.narrow(each.type, parts.get(each.encode_name))

    def _each(self, kinds: Sequence[object], schemas: object) -> None:
        # Alternatives that the library puts together stand in another order.
        if isinstance(schemas, list) and len(schemas) == len(kinds):
            for kind, schema in zip(kinds, schemas, strict=True):
                self.narrow(kind, schema)


def _schema_of(kind: Any, shared: dict[str, Any], *, is_closed: bool) -> dict[str, Any]:  # noqa: ANN401 - Pydantic's, or like it
    if kind is object:
        return {_ANYTHING: True}
    if not is_closed:
        # It converts more than its schema says.
        return {"title": kind.__name__} if hasattr(kind, "model_validate") else {_ANYTHING: True}
    prefix = re.sub(r"[^\w.-]", "_", kind.__name__)
    schema = dict(kind.model_json_schema(ref_template=f"#/$defs/{prefix}.{{model}}"))
    for name, part in schema.pop("$defs", {}).items():
        if shared.setdefault(f"{prefix}.{name}", part) != part:
            raise TypeError(f"two models are called {kind.__name__}")
    return schema
