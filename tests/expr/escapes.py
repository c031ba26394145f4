# ruff: noqa: E501
"""Attempts to get out of the expression language, collected from what broke others.

Sources of the ideas: walks over Python's dunder attributes, constructor and prototype walks of
JavaScript sandboxes, format-string tricks, frames and generators, look-alike characters,
numbers and strings that blow up, and nesting that exhausts a stack. Templates are multiplied by
variants, since a fix that closes one spelling often leaves the next one open.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

STARTS = ["ctx", "ctx.items", "''", "[]", "({})", "1", "true", "'a'.at(0)", "ctx.items[0]", "Math"]

DUNDERS = [
    "__class__", "__class__.__mro__", "__class__.__base__.__subclasses__", "__dict__", "__globals__",
    "__init__.__globals__", "__builtins__", "__import__", "__getattribute__", "__reduce__",
    "__subclasshook__", "__code__", "__closure__", "__func__", "__self__", "__module__", "__doc__",
    "__wrapped__", "__slots__", "__loader__", "__spec__", "gi_frame", "gi_frame.f_back", "f_globals",
    "f_builtins", "tb_frame", "cr_frame", "ag_frame", "mro",
]  # fmt: skip

PROTOTYPES = [
    "constructor", "constructor.constructor", "__proto__", "__proto__.constructor", "prototype",
    "constructor.prototype", "__defineGetter__", "__lookupGetter__", "__defineSetter__", "valueOf",
    "toLocaleString", "isPrototypeOf", "propertyIsEnumerable", "caller", "callee", "arguments",
]  # fmt: skip

CALLS = [
    "constructor.constructor('return process')()", "constructor('return this')()",
    "map.constructor('return 1')()", "format('{0.__class__}')", "format_map({})", "encode('utf8')",
    "__class__.__base__.__subclasses__()", "__getattribute__('__class__')", "__format__('')",
    "append(1)", "pop()", "clear()", "update({})", "items()", "get('a')", "setdefault('a', 1)",
    "toString.call(1)", "map.apply(null)", "map.bind(null)", "valueOf()", "match('(a+)+$')",
    "matchAll('.*')", "search('x')", "push(1)", "splice(0)", "fill(1)", "copyWithin(0)", "forEach(x => x)",
    "toLocaleString()", "localeCompare('a')", "normalize()", "anchor('x')", "link('x')", "eval('1')",
]  # fmt: skip

WHOLE = [
    "eval('1')", "Function('return 1')()", "new Function('return 1')()", "import('os')", "require('fs')",
    "process.exit()", "globalThis", "window", "self", "global", "this", "this.constructor", "arguments",
    "arguments.callee", "new Date()", "new Map()", "Symbol.iterator", "Reflect.ownKeys(ctx)", "Proxy",
    "WebAssembly", "Atomics", "SharedArrayBuffer", "setTimeout(() => 1)", "fetch('http://x')",
    "ctx = 1", "ctx.a = 1", "ctx.a += 1", "ctx.a++", "--ctx.a", "delete ctx.a", "void 0", "a, b",
    "(1, 2)", "(() => 1)()", "(x => x)(1)", "function f() {}", "class A {}", "async () => 1", "await 1",
    "yield 1", "let x = 1", "var x", "if (1) 2", "for (;;) {}", "while (1) {}", "throw 1", "try {}",
    "{ return 1 }", "`${1}`", "`a`", "tag`a`", "/(a+)+$/", "/x/.test('x')", "/[/]/", "ctx?.()",
    "ctx.items?.()", "ctx['items']()", "ctx.items['map'](x => x)", "Math['max'](1)", "Math.constructor",
    "Math.__proto__", "Object.constructor('x')", "Object.getPrototypeOf(ctx)", "Object.assign(ctx, {})",
    "Object.defineProperty(ctx, 'a', {})", "Object.create(null)", "Object.setPrototypeOf(ctx, null)",
    "JSON.constructor", "Array.from(ctx)", "Array(1e9)", "Array.prototype", "String.raw`a`",
    "String.fromCharCode(65)", "Number.prototype", "Boolean.prototype", "Date.now()", "Date()", "Math.random()",
    "[].map(eval)", "[1].map(Function)", "[1].map(Math.max)", "[1].map(x => { return x })", "super.x",
    "[1].map(function (x) { return x })", "[1].reduce(eval)", "[1].sort('return 1')", "[,1]", "[...1]",
    "[...{}]", "{...ctx}.__class__", "{__proto__: null}", "{'__proto__': {a: 1}}", "{get a() { return 1 }}",
    "{a() { return 1 }}", "{async a() {}}", "({}).a.b.c.d()", "ctx.items.length = 0", "ctx.#private",
    "ctx.items.map(x => x = 1)", "ctx.items.map((x = eval) => x)", "ctx.items.map(({a}) => a)",
    "ctx.items.map((...x) => x)", "ctx.items.map((x, x) => x)", "ctx.items.map(this => 1)", "@ctx", "#ctx",
    "%s", "{0.__class__}", "{ctx.__class__}", "$(id)", "${ctx}", "{{ctx}}", "{% raw %}", "<%= 1 %>", "1;2",
    "1//comment", "1/*comment*/", "<!--", "1 /**/ + 1", "lambda: 1", "x if 1 else 2", "not 1", "1 and 2",
    "1 or 2", "1 is 1", "f'{ctx}'", "b'x'", "r'x'", "'a' 'b'", "'a' % 1 % ctx", "print(1)", "len(ctx)",
    "str(1)", "open('/etc/passwd')", "__import__('os')", "__builtins__", "__name__", "__debug__", "ctx.__class__()",
    "1_000", "1n", "012", "0b2", "0xg", "1e", "1.2.3", "'\\x1'", "'\\u12'", "'\\u{110000}'", "'\\1'", "'a\nb'",
    '"unterminated', "'unterminated", "\\u0063tx", "ctx\\u002eitems", "'\\ud800'", "'\\0'", "\0", "\ufeff", "",
    " ", "(", ")", "[", "{", "}", "?", ".", "=>", "...", "ctx.", "ctx[", "ctx[]", "ctx..a", "ctx?.", "?.ctx",
    "a ? b", "1 +", "+", "!", "typeof", "in", "1 in", "in ctx", "null.x.y.z()", "undefined()", "null()",
]  # fmt: skip

LOOK_ALIKES = str.maketrans(
    {"c": "\u0441", "e": "\u0435", "o": "\u043e", "a": "\u0430", "_": "\uff3f"}
)

HEAVY = [
    "9" * 4000, "0x" + "f" * 4000, "1e" + "9" * 300, "'9'.repeat(4000) * 1", "2 ** 1e308", "(-2) ** 0.5",
    "'a'.repeat(1e9)", "'a'.repeat(2 ** 53)", "'a'.repeat(Infinity)", "'a'.repeat(-1)", "'a'.padEnd(1e9)",
    "'a'.padStart(2 ** 53, 'xy')", "'a'.repeat(1000).repeat(1000).repeat(1000)", "(1e21).toFixed(101)",
    "(5e-324).toFixed(100)", "(1).toString(1e9)", "(1e21).toString(36)", "'aaaa'.replaceAll('', 'b'.repeat(1e5))",
    "'a'.repeat(99999).replaceAll('a', 'b'.repeat(999))", "'a'.repeat(99999).split('')",
    "[1, 2, 3].map(x => [1, 2, 3].map(y => 'a'.repeat(9999)))", "JSON.parse('['.repeat(99999))",
    "JSON.parse('[' + '1,'.repeat(99999) + '1]')", "JSON.parse('9'.repeat(9999))", "JSON.parse('1e999')",
    "JSON.stringify(JSON.parse('['.repeat(500) + ']'.repeat(500)))", "Number('9'.repeat(99999))",
    "parseInt('z'.repeat(9999), 36)", "parseFloat('.' + '0'.repeat(99999))", "Date.parse('9'.repeat(9999))",
    "'x'.repeat(9999).split('').reduce((a, b) => [a], 0)", "'x'.repeat(9000).split('').sort((a, b) => 1)",
    "encodeURIComponent('\\ud800')", "encodeURIComponent('😀'.repeat(99999))", "[[]].flat(Infinity)",
    "'x'.repeat(50).split('').flatMap(x => 'y'.repeat(999).split(''))", "Math.max(...'x'.repeat(99999))",
    "[..." * 70 + "]" * 70, "(" * 2000, "(" * 70 + "1" + ")" * 70, "[" * 70 + "]" * 70, "-" * 3000 + "1",
    "- " * 2000 + "1", "!" * 2000 + "1", "1" + "+1" * 2000, "1" + "**1" * 1000, "ctx" + ".a" * 2000,
    "ctx" + "[0]" * 1000, "ctx" + "?.a" * 1000, "1" + "?1:1" * 900, "1?" * 900 + "1" + ":1" * 900,
    "a" * 4096, "a" * 4097, "'" + "a" * 5000 + "'", "ctx" + ".trim()" * 500, "{a:" * 100 + "1" + "}" * 100,
    "[1].map(x => " * 80 + "x" + ")" * 80, "typeof " * 500 + "1", "1" + "&&1" * 1300, "1" + "??1" * 1300,
]  # fmt: skip


def corpus() -> Iterator[str]:
    for start, name in itertools.product(STARTS[:5], DUNDERS):
        yield f"{start}.{name}"
    for name in DUNDERS + PROTOTYPES:
        parts = name.split(".")
        yield "ctx.items" + "".join(f"['{part}']" for part in parts)
        yield f"ctx?.{name}"
        yield f"ctx.items.map(x => x.{name})"
    for name in DUNDERS[:12]:
        yield f"ctx.{name}".translate(LOOK_ALIKES)
        yield "ctx['" + "".join(f"\\x{ord(c):02x}" for c in name) + "']"
        yield f"ctx['{name[:3]}' + '{name[3:]}']"
    for start, name in itertools.product(STARTS[:4], PROTOTYPES):
        yield f"{start}.{name}"
    for start, call in itertools.product(STARTS[1:5], CALLS):
        yield f"{start}.{call}"
    yield from WHOLE
    yield from HEAVY
