"""JSON Schemas that take much work, each with a value for which they do."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tenuto.model.json import JSON, Object
from tests.bombs.bomb import Bomb


class Case(NamedTuple):
    """A schema, and a value to check by it."""

    schema: Object
    value: JSON


def _doubling(keyword: str, levels: int, value: JSON, last: Object, **beside: JSON) -> Case:
    """Each level applies the next one twice to the same value."""
    defs: Object = {f"a{levels}": last}
    for level in range(levels):
        twice: list[JSON] = [{"$ref": f"#/$defs/a{level + 1}"}] * 2
        defs[f"a{level}"] = {keyword: twice, **beside}
    return Case({"$ref": "#/$defs/a0", "$defs": defs}, value)


def _dependent(levels: int) -> Case:
    defs: Object = {f"a{levels}": {"type": "integer"}}
    for level in range(levels):
        following: JSON = {"$ref": f"#/$defs/a{level + 1}"}
        defs[f"a{level}"] = {"dependentSchemas": {"x": following, "y": following}}
    return Case({"$ref": "#/$defs/a0", "$defs": defs}, {"x": 1, "y": 1})


def _if_then(levels: int) -> Case:
    defs: Object = {f"a{levels}": {"type": "integer"}}
    for level in range(levels):
        following: JSON = {"$ref": f"#/$defs/a{level + 1}"}
        defs[f"a{level}"] = {"if": following, "then": following, "else": following}
    return Case({"$ref": "#/$defs/a0", "$defs": defs}, "x")


def _unevaluated(keyword: str, levels: int, value: JSON) -> Case:
    schema: Object = {"properties": {"x": True}}
    for _ in range(levels):
        schema = {"anyOf": [schema], keyword: False}
    return Case(schema, value)


def _nested(depth: int) -> JSON:
    value: JSON = "end"
    for _ in range(depth):
        value = {"next": value}
    return value


def _lists(depth: int) -> JSON:
    value: JSON = 1
    for _ in range(depth):
        value = [value]
    return value


def _recursive(depth: int) -> Case:
    """Each level of the value doubles the applications."""
    node: JSON = {"properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    return Case({"anyOf": [node, node, {"type": "integer"}]}, _nested(depth))


def _dynamic(depth: int) -> Case:
    twice: list[JSON] = [{"items": {"$dynamicRef": "#node"}}] * 2
    return Case({"$dynamicAnchor": "node", "allOf": twice}, _lists(depth))


def _contains(levels: int) -> Case:
    defs: Object = {f"a{levels}": {"const": "nothing"}}
    for level in range(levels):
        following: JSON = {"$ref": f"#/$defs/a{level + 1}"}
        defs[f"a{level}"] = {"contains": following, "not": {"contains": following}}
    return Case({"$ref": "#/$defs/a0", "$defs": defs}, _lists(levels))


def _wide(size: int) -> Case:
    branches: list[JSON] = [
        {"items": {"required": [f"r{n}"], "maxLength": n}} for n in range(1_000)
    ]
    return Case({"anyOf": branches}, ["x" * 5] * size)


SCHEMAS: tuple[Bomb[Case], ...] = (
    *(
        Bomb(f"{keyword}-{levels}", partial(_doubling, keyword, levels, "x", {"type": "integer"}))
        for keyword in ("allOf", "anyOf", "oneOf")
        for levels in (14, 20, 40)
    ),
    Bomb("dependent-schemas", partial(_dependent, 30)),
    Bomb("if-then-else", partial(_if_then, 30)),
    Bomb("cycle-of-itself", lambda: Case({"$ref": "#"}, 1)),
    Bomb(
        "cycle-of-two",
        lambda: Case(
            {
                "$ref": "#/$defs/a",
                "$defs": {
                    "a": {"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]},
                    "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]},
                },
            },
            1,
        ),
    ),
    Bomb("unevaluated-properties", partial(_unevaluated, "unevaluatedProperties", 24, {"x": 1})),
    Bomb("unevaluated-items", partial(_unevaluated, "unevaluatedItems", 24, [1])),
    Bomb(
        "unevaluated-doubling",
        partial(_doubling, "anyOf", 16, {"x": 1}, {"type": "object"}, unevaluatedProperties=False),
    ),
    Bomb("recursive", partial(_recursive, 60)),
    Bomb("dynamic-reference", partial(_dynamic, 60)),
    Bomb("contains", partial(_contains, 40)),
    Bomb("wide", partial(_wide, 60_000)),
    Bomb(
        "enum-of-large-items",
        lambda: Case({"enum": [{"a": "x" * 200 + str(n)} for n in range(20_000)]}, {"a": "x"}),
    ),
    Bomb(
        "enum-of-lists",
        lambda: Case({"items": {"enum": [[n] for n in range(5_000)]}}, [[-1]] * 20_000),
    ),
    Bomb("backtracking", lambda: Case({"pattern": "^(?=(a+)+$)b"}, "a" * 100_000)),
    Bomb("ambiguous-pattern", lambda: Case({"pattern": "([ab]*a[ab]{30}){30}c"}, "ab" * 400_000)),
    Bomb(
        "large-patterns",
        lambda: Case({"allOf": [{"pattern": f"(\\p{{L}}{{1,60}}){n}"} for n in range(500)]}, "é"),
    ),
    Bomb(
        "pattern-properties",
        lambda: Case(
            {"patternProperties": {f"(.*{n}){{9}}": True for n in range(500)}},
            {f"name{n}" * 9: 1 for n in range(5_000)},
        ),
    ),
    Bomb(
        "regex-format",
        lambda: Case(
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "items": {"format": "regex"},
            },
            ["(((a{99}){99}){99}){99}"] * 1_000,
        ),
    ),
    Bomb("unique-items", lambda: Case({"uniqueItems": True}, [{"a": [n]} for n in range(40_000)])),
    Bomb("wrong-items", lambda: Case({"items": {"type": "integer"}}, ["x"] * 480_000)),
    Bomb(
        "wrong-items-of-a-branch",
        lambda: Case({"anyOf": [{"items": {"type": "integer"}}, False]}, ["x"] * 200_000),
    ),
    Bomb(
        "wrong-and-quoted",
        lambda: Case({"required": [f"r{n}" for n in range(1_000)]}, {"a": "x" * 900_000}),
    ),
    Bomb(
        "wrong-below-a-long-name",
        lambda: Case(
            {"additionalProperties": {"items": {"type": "integer"}}}, {"k" * 400_000: ["x"] * 1_000}
        ),
    ),
    Bomb("deep-value", lambda: Case({"items": {"$ref": "#"}, "uniqueItems": True}, _lists(900))),
)


def _around(keyword: str, depth: int, schema: JSON) -> Object:
    made: Object = {keyword: schema}
    for _ in range(depth - 1):
        made = {keyword: made}
    return made


def _of_format(name: str, text: str, size: int = 150) -> Case:
    return Case({"items": {"format": name}}, [text] * size)


def _of_properties(size: int) -> Case:
    required: list[JSON] = [f"p{n}" for n in range(100)]
    branches: list[JSON] = [
        {"properties": {f"p{n}": {"const": n}}, "required": required} for n in range(size)
    ]
    return Case({"oneOf": branches}, {f"p{n}": n for n in range(size)})


RARER: tuple[Bomb[Case], ...] = (
    Bomb(
        "backtracking-pattern-properties",
        lambda: Case(
            {
                "patternProperties": {"^(a+)+$": {"type": "integer"}, "(x|x)*y": True},
                "additionalProperties": False,
            },
            {"a" * 5_000 + "b": 1},
        ),
    ),
    Bomb(
        "backtracking-names",
        lambda: Case(
            {"propertyNames": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}, {"a" * 3_000: 1}
        ),
    ),
    Bomb(
        "names-against-many-patterns",
        lambda: Case(
            {
                "propertyNames": {
                    "allOf": [{"not": {"pattern": f"(.*{n}.*){{12}}"}} for n in range(200)]
                }
            },
            {f"n{n}" * 40: 1 for n in range(3_000)},
        ),
    ),
    Bomb(
        "contains-of-many",
        lambda: Case(
            {
                "contains": {"type": "integer"},
                "minContains": 100_000,
                "maxContains": 200_000,
                "uniqueItems": True,
            },
            list(range(100_000)),
        ),
    ),
    Bomb(
        "unique-objects",
        lambda: Case(
            {"uniqueItems": True}, [{"a": 1.0 * n, "b": [n, {"c": n}]} for n in range(15_000)]
        ),
    ),
    Bomb(
        "dynamic-unevaluated-items",
        lambda: Case(
            {
                "$defs": {
                    "n": {
                        "$dynamicAnchor": "n",
                        "anyOf": [
                            {"type": "string"},
                            {"items": {"$dynamicRef": "#n"}, "unevaluatedItems": False},
                        ],
                    }
                },
                "$ref": "#/$defs/n",
            },
            [["x"] * 50] * 2_000,
        ),
    ),
    Bomb("nots-of-nots", lambda: Case(_around("not", 90, {"type": "string"}), "x")),
    Bomb("ifs-of-ifs", lambda: Case(_around("if", 90, True), 1)),
    Bomb("multiple-of-nearly-nothing", lambda: Case({"multipleOf": 1e-300}, 1e300)),
    Bomb(
        "multiples-of-a-hundredth",
        lambda: Case({"items": {"multipleOf": 0.01}}, [n + 0.333 for n in range(50_000)]),
    ),
    Bomb(
        "bounds-of-many-digits",
        lambda: Case({"maxLength": 10**1_000, "minimum": 10**3_000}, "x"),
    ),
    Bomb("mail-addresses", lambda: _of_format("idn-email", "x@" + "é" * 2_000, 300)),
    Bomb("regexes", lambda: _of_format("regex", "(" * 5_000)),
    Bomb("uri-templates", lambda: _of_format("uri-template", "{a" * 3_000)),
    Bomb("json-pointers", lambda: _of_format("json-pointer", "/~" * 3_000)),
    Bomb("host-names", lambda: _of_format("idn-hostname", "xn--" + "a" * 5_000 + ".")),
    Bomb(
        "required-by-each-other",
        lambda: Case(
            {"dependentRequired": {f"k{n}": [f"k{m}" for m in range(300)] for n in range(300)}},
            {f"k{n}": 1 for n in range(299)},
        ),
    ),
    Bomb(
        "enum-of-one-list",
        lambda: Case({"enum": [list(range(200))] * 300}, list(range(199))),
    ),
    Bomb("long-constant", lambda: Case({"const": "x" * 500_000}, "x" * 400_000)),
    Bomb("branches-of-properties", lambda: _of_properties(150)),
)
"""Keywords that few schemas have: no cycles and nothing that doubles, but large values."""
