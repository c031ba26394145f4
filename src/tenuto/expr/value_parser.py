"""Parsing what an expression starts from: literals, names, brackets."""

from __future__ import annotations

import re
from typing import Final

from tenuto.expr.argument_parser import ArgumentParser
from tenuto.expr.errors import ExpressionSyntaxError, Misspelled
from tenuto.expr.lexer import Token
from tenuto.expr.library import CONSTANTS, FUNCTIONS, NAMESPACES
from tenuto.expr.syntax import (
    ArrayLiteral,
    Call,
    Literal,
    Local,
    Node,
    ObjectLiteral,
    Pair,
    Path,
    Spread,
)
from tenuto.expr.values import UNDEFINED
from tenuto.expr.words import (
    LITERALS,
    OPERATORS,
    RESERVED,
    advice_for_reserved,
    advice_for_word,
)

_DASHED: Final = re.compile(
    r"((?:steps|ctx|workflow|event|item)(?:\.\w+)*)\.([A-Za-z_]\w*(?:-\w+)+)\Z"
)
_REST_OF_NAME: Final = re.compile(r"(?:-\w+)*")
_LITERAL_VALUES: Final = {"true": True, "false": False, "null": None, "undefined": UNDEFINED}


class ValueParser(ArgumentParser):
    """The operands of operators, before any link."""

    def primary(self) -> Node:
        token = self.token
        if token.kind in ("number", "string"):
            self.advance()
            return Literal(token.value, start=token.start, end=token.end)
        if token.kind == "name":
            return self.name()
        if self.at("("):
            return self.brackets()
        if self.at("["):
            return self.array()
        if self.at("{"):
            return self.object()
        if self.at("/"):
            raise self.unexpected("There are no regular expressions; use string methods.")
        raise self.unexpected()

    def brackets(self) -> Node:
        self.expect("(")
        node = self.expression()
        if self.at(","):
            raise self.unexpected("Expected `)`.")
        self.expect(")")
        if self.at("=>"):
            raise self.unexpected(
                "An arrow function can only be the argument of a method such as `map`."
            )
        if isinstance(node, Path):
            # `(a.b).c` reads as `a.b.c` does.
            return node
        self.bracketed.add((node.start, node.end))
        return node

    def name(self) -> Node:
        token = self.advance()
        word = token.text
        for scope in reversed(self.scopes):
            if word in scope:
                return Local(scope[word], word, start=token.start, end=token.end)
        if word in _LITERAL_VALUES:
            return Literal(_LITERAL_VALUES[word], start=token.start, end=token.end)
        if word in self.roots:
            return Path(word, (), start=token.start, end=token.end)
        if word in RESERVED or word in OPERATORS:
            raise self.error(f"`{word}` cannot be used here", token, advice_for_reserved(word))
        if word in CONSTANTS or word in FUNCTIONS or word in NAMESPACES:
            return self.library_name(token)
        raise self.unknown_name(token)

    def unknown_name(self, token: Token) -> ExpressionSyntaxError:
        if self.at("=>"):
            return self.error(
                "an arrow function cannot stand here",
                self.token,
                "It can only be the argument of a method such as `map`.",
            )
        known = self.roots | NAMESPACES | frozenset(FUNCTIONS) | LITERALS
        listed = ", ".join(sorted(self.roots))
        advice = (
            self._dashed(token)
            or advice_for_word(token.text)
            or Misspelled(token.text, known, f"An expression starts from {listed} or a literal.")
        )
        return self.error(f"`{token.text[:40]}` is not known here", token, advice)

    def _dashed(self, token: Token) -> str:
        """Advice where a name with a dash was read as a subtraction: `steps.my-step.output`."""
        whole = _DASHED.search(self.source[max(0, token.end - 200) : token.end])
        if whole is None:
            return ""
        rest = _REST_OF_NAME.match(self.source, token.end)
        name = whole[2] + (rest[0] if rest is not None else "")
        return f"A name with a dash is written `{whole[1]}['{name[:64]}']`."

    def library_name(self, token: Token) -> Node:
        """A function that is called, or a constant: `Math.max(…)`, `Math.PI`, `Number(…)`."""
        name, end = token.text, token.end
        if name in NAMESPACES and self.at("."):
            self.advance()
            if self.token.kind != "name":
                raise self.unexpected("A name follows the dot.")
            last = self.advance()
            name, end = f"{name}.{last.text}", last.end
        if name in CONSTANTS:
            return Literal(CONSTANTS[name], start=token.start, end=end)
        if name not in FUNCTIONS:
            advice = Misspelled(name, {*FUNCTIONS, *CONSTANTS})
            raise self.error(f"`{name[:60]}` is not part of the library", token, advice)
        if not self.at("("):
            raise self.error(
                f"`{name}` is a function", token, f"Call it: `{name}(…)`. Functions are no values."
            )
        arguments = self.arguments(None)
        return self.grown(
            Call(name, arguments, start=token.start, end=self.tokens[self.position - 1].end)
        )

    def array(self) -> Node:
        start = self.expect("[").start
        elements: list[Node | Spread] = []
        while not self.at("]"):
            elements.append(self.spread() if self.at("...") else self.expression())
            if not self.accept(","):
                break
        end = self.expect("]").end
        return self.grown(ArrayLiteral(tuple(elements), start=start, end=end))

    def object(self) -> Node:
        start = self.expect("{").start
        entries: list[Pair | Spread] = []
        while not self.at("}"):
            entries.append(self.spread() if self.at("...") else self.pair())
            if not self.accept(","):
                break
        end = self.expect("}").end
        return self.grown(ObjectLiteral(tuple(entries), start=start, end=end))

    def pair(self) -> Pair:
        token = self.token
        if self.accept("["):
            key = self.expression()
            self.expect("]")
        elif token.kind in ("name", "string", "number"):
            self.advance()
            if token.kind == "name" and (self.at(",") or self.at("}")):
                return self.shorthand(token)
            text = token.text if token.kind == "name" else token.value
            if text == "__proto__":
                raise self.error("`__proto__` cannot be a key here", token)
            key = Literal(text, start=token.start, end=token.end)
        else:
            raise self.unexpected("A key is a name, a string, a number or [an expression].")
        self.expect(":")
        value = self.expression()
        return self.grown(Pair(key, value, start=token.start, end=value.end))

    def shorthand(self, token: Token) -> Pair:
        self.position -= 1
        if token.text in LITERALS:
            raise self.error(f"`{token.text}` cannot be a key alone", token, "Write `key: value`.")
        value = self.name()
        key = Literal(token.text, start=token.start, end=token.end)
        return Pair(key, value, start=token.start, end=token.end)
