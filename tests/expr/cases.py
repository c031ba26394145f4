"""Expressions that together touch every operator, method and pair of coerced types.

Each section is a deterministic stream of cases. A case names the cells of the coverage table that
it counts for; `expected` lists the cells that a section must fill.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tenuto.expr.library import CONSTANTS, FUNCTIONS, ITERATIONS, METHODS
from tenuto.expr.operators import OPERATORS

SCOPE: dict[str, Any] = {
    "ctx": {
        "input": {"orderId": "o-1", "amount": 12.5, "count": 3, "paid": True, "note": None},
        "items": [
            {"sku": "a", "price": 3, "tags": ["x", "y"]},
            {"sku": "b", "price": 10.25, "tags": []},
            {"sku": "c", "price": -1, "tags": ["z"]},
        ],
        "names": ["Zoë", "adam", "Bob", "😀", ""],
        "numbers": [10, 9, 1, 0.5, -3],
        "nested": [[1, [2, [3]]], [4], 5],
        "empty": {},
    },
    "event": {"payload": {"id": 7, "kind": "paid", "ok": False}},
}

VALUES: dict[str, list[str]] = {
    "undefined": ["undefined", "ctx.missing"],
    "null": ["null", "ctx.input.note"],
    "boolean": ["true", "false"],
    "number": ["0", "-0", "1", "-1", "2", "0.5", "-1.5", "1e21", "1e-7", "NaN", "Infinity"],
    "string": [
        "''",
        "' '",
        "'0'",
        "'1'",
        "' -1.5 '",
        "'abc'",
        "'ABC'",
        "'0x10'",
        "'é😀'",
        "'😀'",
        "'\\uffee'",
    ],
    "array": ["[]", "[0]", "['1']", "[null]", "[undefined, 1]", "[[1, 2], 3]", "ctx.items"],
    "object": ["{}", "{a: 1}", "ctx.input"],
}
POOL = [(kind, value) for kind, values in VALUES.items() for value in values]
TYPES = {"string": str, "array": list, "number": int, "boolean": bool, "object": dict}
STRINGS = [
    "''", "'abc'", "'a,b,,c'", "' pad\\t'", "'éa😀b😀'", "'aaaa'", "'Straße ΑΣ'", "'$& cost'",
    "'\\ud83d'", "'x'.repeat(40)",
]  # fmt: skip
ARRAYS = [
    "[]", "[1, 2, 3]", "[3, 1, 10, 2]", "['b', 'a', 'é', '😀', '\\uffee']", "[1, '1', true, null]",
    "[undefined, NaN, 0, -0]", "[[1, [2]], [], [3]]", "[...ctx.items]", "[...ctx.names]",
]  # fmt: skip
NUMBERS = ["0", "-0", "1", "255", "-1.5", "1234.5678", "0.000001234", "1e21", "1.005", "NaN", "2.5"]
ARGUMENTS = [
    "0", "1", "2", "-1", "-2", "3.7", "'a'", "'b'", "''", "','", "'😀'", "'\\ude00'", "undefined",
    "null", "NaN", "Infinity", "true", "[1]", "100", "'$$-$&-$`-$\\''",
]  # fmt: skip
LONG_PATTERNS = [
    ("'a'.repeat(600)", "'a'.repeat(120)"),
    ("'a'.repeat(600)", "'a'.repeat(60) + 'b' + 'a'.repeat(60)"),
    ("('a'.repeat(130) + 'b').repeat(5)", "'a'.repeat(129) + 'b'"),
    ("('ab'.repeat(70) + '😀').repeat(4) + 'ab'", "'ab'.repeat(60) + '\\ud83d'"),
    ("'é'.repeat(140)", "'é'.repeat(139) + 'e'"),
    ("'a'.repeat(99)", "'a'.repeat(100)"),
]
REPLACEMENTS = [
    "''", "'$'", "'$$'", "'$$$'", "'$$$$&'", "'$&$&'", "'[$`|$\\'|$&]'", "'$a$$a$'", "'$0$1'",
    "'😀$&'", "'$`'", "'$\\''", "'\\ude00$&'",
]  # fmt: skip
ARROWS = {
    "every": ["x => x", "(x, i) => i < 2", "x => x !== null"],
    "reduce": ["(a, b) => a + b", "(a, x, i) => a + i", "(a, b) => [a, b]"],
    "sort": ["(a, b) => a - b", "(a, b) => b - a", "(a, b) => a < b ? 1 : a > b ? -1 : 0"],
    "map": ["x => x", "x => [x, x]", "(x, i, all) => all.length - i", "String", "x => typeof x"],
}
ARROWS |= {name: [*ARROWS["every"], "Boolean"] for name in ("some", "filter", "find", "findIndex")}
ARROWS |= dict.fromkeys(("findLast", "findLastIndex"), ARROWS["every"])
ARROWS |= {"reduceRight": ARROWS["reduce"], "toSorted": ARROWS["sort"], "flatMap": ARROWS["map"]}


@dataclass(frozen=True)
class Case:
    source: str
    cells: tuple[str, ...]


def coercions() -> Iterator[Case]:
    """Every operator between every two types."""
    for operator, (left, a), (right, b) in itertools.product(OPERATORS, POOL, POOL):
        yield Case(f"({a}) {operator} ({b})", (f"{left} {operator} {right}", operator))


def logic() -> Iterator[Case]:
    """Every operator that chooses, and every unary one."""
    for kind, value in POOL:
        for operator in ("!", "-", "+", "typeof "):
            yield Case(f"{operator}({value})", (f"{operator.strip()} {kind}",))
        for operator, (other_kind, other) in itertools.product(("&&", "||", "??"), POOL):
            yield Case(f"({value}) {operator} ({other})", (f"{kind} {operator} {other_kind}",))
        yield Case(f"({value}) ? 'yes' : 'no'", (f"{kind} ? :",))
        yield Case(f"[({value})].concat({value})", (f"[{kind}]",))
        yield Case(f"{{a: {value}, ['b' + 1]: 1, ...{{c: ({value})}}}}", (f"{{{kind}}}",))


def functions() -> Iterator[Case]:
    """Every function and constant of the library."""
    chance = random.Random(1)
    for name in CONSTANTS:
        yield Case(name, (name,))
    for name in FUNCTIONS:
        if name == "Date.parse":
            # Engines guess at texts that are not ISO 8601; ours does not. It has its own section.
            continue
        yield Case(f"{name}()", (name,))
        for _, value in POOL:
            yield Case(f"{name}({value})", (name,))
        for _ in range(80):
            picked = ", ".join(chance.choice(POOL)[1] for _ in range(chance.randint(2, 3)))
            yield Case(f"{name}({picked})", (name,))
        yield Case(f"{name}(...[1, 2], ...[3])", (name,))
    texts = [
        "'12px'", "' \\n-7.9e1x'", "'0x1F'", "'.5.5'", "'-.5e-2'", "'1e1000'", "'+Infinityx'",
        "'{\"a\": [1.0, -0, 1e2, \"\\\\u00e9\"]}'", "'[1,]'", "'NaN'", "'\"\\\\ud83d\"'", "'zz'",
    ]  # fmt: skip
    for name, text in itertools.product(("parseInt", "parseFloat", "Number", "JSON.parse"), texts):
        yield Case(f"{name}({text})", (name,))
        for radix in (2, 8, 10, 16, 36, 37, 1, 0):
            yield Case(f"parseInt({text}, {radix})", ("parseInt",))
    for value, indent in itertools.product(
        [
            "ctx",
            "ctx.nested",
            "'\\u2028\\x7f\\0\\ud800'",
            "[undefined, NaN, {a: undefined, b: -0}]",
        ],
        ["2", "'--'", "0", "99", "'a long indentation'", "null"],
    ):
        yield Case(f"JSON.stringify({value}, null, {indent})", ("JSON.stringify",))
    for value in ("ctx.input", "['a', 'b']", "'ab'", "{}"):
        yield Case(f"Object.fromEntries(Object.entries({value}))", ("Object.fromEntries",))


def methods() -> Iterator[Case]:
    """Every method that takes values, with arguments of all kinds, and on the wrong receivers."""
    chance = random.Random(2)
    receivers = {
        "string": STRINGS,
        "array": ARRAYS,
        "number": [f"({value})" for value in NUMBERS],
        "boolean": ["true", "false"],
        "object": ["({a: 1, b: undefined})", "ctx.empty"],
    }
    for kind, values in receivers.items():
        for name in METHODS[TYPES[kind]]:
            cell = (f"{kind}.{name}",)
            for value in values:
                yield Case(f"{value}.{name}()", cell)
                if kind == "number" and name == "toString":
                    yield from (Case(f"{value}.toFixed({i})", cell) for i in range(6))
                    continue
                if name in ITERATIONS:
                    continue
                for given in ARGUMENTS:
                    yield Case(f"{value}.{name}({given})", cell)
                for _ in range(6):
                    given = ", ".join(chance.choices(ARGUMENTS, k=2))
                    yield Case(f"{value}.{name}({given})", cell)
    yield from _searches()
    for radix, value in itertools.product((2, 7, 16, 36), ("0", "255", "-12", "9007199254740991")):
        yield Case(f"({value}).toString({radix})", ("number.toString",))
    for name in ("padStart", "trim", "toFixed", "flat", "map2"):
        yield from (Case(f"({value}).{name}(1)", ("no such method",)) for _, value in POOL)


def _searches() -> Iterator[Case]:
    """Patterns and replacements that the others do not have."""
    # Long patterns are searched for in another way, and marks are filled in anew at each match.
    for name, start in itertools.product(
        ("includes", "indexOf", "lastIndexOf"), ("", ", 3", ", -1", ", 260", ", 1e9", ", NaN")
    ):
        for text, pattern in LONG_PATTERNS:
            yield Case(f"({text}).{name}({pattern}{start})", (f"string.{name}",))
    for text, pattern in LONG_PATTERNS:
        yield Case(f"({text}).split({pattern})", ("string.split",))
        yield Case(f"({text}).split({pattern}, 1)", ("string.split",))
    for name, given, (text, pattern) in itertools.product(
        ("replace", "replaceAll"),
        REPLACEMENTS,
        [*LONG_PATTERNS, ("'a😀ba'", "'a'"), ("'xy'", "''")],
    ):
        yield Case(f"({text}).{name}({pattern}, {given})", (f"string.{name}",))


def iterations() -> Iterator[Case]:
    """Every method that takes an arrow function."""
    for name, arrows in ARROWS.items():
        for arrow, array in itertools.product(arrows, [*ARRAYS, "'abc'", "({})", "(null)"]):
            if name in ("sort", "toSorted") and not array.startswith(("[]", "[1, 2", "[3")):
                continue
            first = ["", ", 0", ", ''", ", undefined"] if name.startswith("reduce") else [""]
            for extra in first:
                yield Case(f"{array}.{name}({arrow}{extra})", (name,))
        for path in ("ctx.items", "ctx.numbers", "ctx.names"):
            if not name.startswith(("reduce", "sort", "toSorted")):
                yield Case(f"{path}.{name}(x => x.price > 2 && x.tags.includes('x'))", (name,))
                yield Case(f"{path}.{name}((x, i) => [x].some(y => y === x && i > 0))", (name,))
    yield Case("Object.entries(ctx.input).map(([key, value]) => key + value)", ("[a, b] =>",))


def lookups() -> Iterator[Case]:
    """Every way of reading a property or an element."""
    keys = [
        "0", "1", "-1", "1.5", "'0'", "'01'", "'length'", "'a'", "'b'", "null", "undefined", "NaN",
        "true", "[0]", "['a']", "{}", "-0", "'-0'", "1e3",
    ]  # fmt: skip
    holders = ["'é😀b'", "[7, 8]", "{a: 1, b: null}", "ctx.items", "ctx.input", "5", "true"]
    holders += ["null", "undefined", "{undefined: 1, null: 2, NaN: 3, true: 4}"]
    for holder, key in itertools.product(holders, keys):
        yield Case(f"({holder})[{key}]", ("[]",))
        yield Case(f"({holder})?.[{key}]?.length", ("?.[]",))
    for holder in holders:
        for link in (".a", ".length", "?.a", "?.a.b.c", "?.a?.b", "?.trim()", "?.a?.trim().length"):
            yield Case(f"({holder}){link}", ("?." if "?" in link else ".",))
    for path in ("ctx.a?.b.c.d()", "ctx.items[0].tags[1]", "ctx?.items?.[1]?.sku.length"):
        yield Case(path, ("?.",))


def numerals() -> Iterator[Case]:
    """Numbers written, read, rounded and combined."""
    chance = random.Random(3)
    for _ in range(1200):
        number = _double(chance)
        yield Case(f"String({number})", ("String(number)",))
        yield Case(f"Number('{number}')", ("Number(string)",))
        if abs(float(number)) < 1e20:
            yield Case(f"({number}).toFixed({chance.randint(0, 8)})", ("toFixed",))
        yield Case(f"Math.round({number})", ("round",))
        other = _double(chance)
        operator = chance.choice(["+", "-", "*", "/", "%", "**"])
        yield Case(f"({number}) {operator} ({other})", (f"random {operator}",))


def _double(chance: random.Random) -> str:
    match chance.randint(0, 4):
        case 0:
            return repr(chance.uniform(-1000, 1000))
        case 1:
            return repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-30, 30))
        case 2:
            return str(chance.randint(-(2**53) + 1, 2**53 - 1))
        case 3:
            return repr(chance.randint(-4000, 4000) / 8)
        case _:
            return repr(round(chance.uniform(-100, 100), 2))


def dates() -> Iterator[Case]:
    """ISO timestamps, valid and not."""
    chance = random.Random(4)
    zones = ["Z", "+00:00", "-05:30", "+14:00", "", "+25:00"]
    for _ in range(600):
        # Days that a month does not have are documented as NaN; engines disagree about them.
        day = chance.choice([*range(1, 29), 32])
        date = f"{chance.randint(0, 9999):04}-{chance.randint(1, 13):02}-{day:02}"
        time = f"T{chance.randint(0, 24):02}:{chance.randint(0, 60):02}"
        time += chance.choice(["", f":{chance.randint(0, 60):02}", ":59.1", ":00.123456"])
        zone = chance.choice(zones)
        text = chance.choice([date, date[:7], date[:4], date + time + zone])
        yield Case(f"Date.parse('{text}')", ("Date.parse",))


def nested() -> Iterator[Case]:
    """Expressions of several levels, put together at random."""
    chance = random.Random(5)
    for _ in range(8000):
        source = _expression(chance, chance.randint(2, 4))
        yield Case(source, ("nested",))


def _expression(chance: random.Random, depth: int) -> str:
    def below() -> str:
        return _expression(chance, depth - 1)

    if depth == 0:
        return chance.choice([value for _, value in POOL] + ["ctx.input.amount", "ctx.numbers"])
    match chance.randint(0, 9):
        case 0 | 1 | 2:
            return f"(({below()}) {chance.choice(list(OPERATORS))} ({below()}))"
        case 3:
            return f"({below()} {chance.choice(['&&', '||', '??'])} {below()})"
        case 4:
            return f"({below()} ? {below()} : {below()})"
        case 5:
            return f"{chance.choice(['!', '-', '+', 'typeof '])}({below()})"
        case 6:
            return f"[{below()}, ...[{below()}]]"
        case 7:
            return f"{{a: {below()}, b: {below()}}}"
        case 8:
            return f"String({below()}).{chance.choice(['trim()', 'length', 'slice(1)', 'at(-1)'])}"
        case _:
            arrow = chance.choice(["map(x => x)", "filter(Boolean)", "join('-')", "flat()"])
            return f"[{below()}, {below()}].{arrow}"


SECTIONS = {
    each.__name__: each
    for each in (
        coercions, logic, functions, methods, iterations, lookups, numerals, dates, nested,
    )
}  # fmt: skip


def expected(section: str) -> set[str]:
    """The cells that a section must fill, from the tables of the language itself."""
    kinds = list(VALUES)
    match section:
        case "coercions":
            pairs = itertools.product(kinds, OPERATORS, kinds)
            return {f"{a} {operator} {b}" for a, operator, b in pairs}
        case "logic":
            unary = {
                f"{operator} {kind}" for operator in ("!", "-", "+", "typeof") for kind in kinds
            }
            pairs = itertools.product(kinds, ("&&", "||", "??"), kinds)
            return unary | {f"{a} {operator} {b}" for a, operator, b in pairs}
        case "functions":
            return {*FUNCTIONS, *CONSTANTS} - {"Date.parse"}
        case "methods":
            return {f"{kind}.{name}" for kind, type_ in TYPES.items() for name in METHODS[type_]}
        case "iterations":
            return {*ITERATIONS, "[a, b] =>"}
        case "lookups":
            return {".", "?.", "[]", "?.[]"}
        case "numerals":
            return {"String(number)", "Number(string)", "toFixed", "round", "random **"}
        case "dates":
            return {"Date.parse"}
        case _:
            return {"nested"}
