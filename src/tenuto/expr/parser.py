"""Turning a source into a syntax tree, by precedence of operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tenuto.expr.lexer import Token
from tenuto.expr.syntax import (
    Binary,
    Chain,
    Conditional,
    Literal,
    Logical,
    Member,
    Method,
    Node,
    Path,
    Subscript,
    Unary,
    as_path,
)
from tenuto.expr.value_parser import ValueParser

_COALESCE: Final = 2
_POWER: Final = 9
STRENGTHS: Final = {
    "??": _COALESCE,
    "||": 3,
    "&&": 4,
    "===": 5,
    "!==": 5,
    "==": 5,
    "!=": 5,
    "<": 6,
    "<=": 6,
    ">": 6,
    ">=": 6,
    "in": 6,
    "+": 7,
    "-": 7,
    "*": 8,
    "/": 8,
    "%": 8,
    "**": _POWER,
}
_LOGICAL: Final = frozenset({"&&", "||", "??"})
_PREFIXES: Final = frozenset({"!", "-", "+", "typeof"})


def parse(source: str, roots: frozenset[str]) -> tuple[Node, int]:
    """The tree of `source` and how many slots its arrow functions need."""
    parser = _Parser(source, roots)
    node = parser.expression()
    parser.expect_end()
    return node, parser.slots


class _Parser(ValueParser):
    # Operators

    def expression(self) -> Node:
        with self.deeper():
            node = self.binary(_COALESCE)
            return self.conditional(node) if self.at("?") else node

    def conditional(self, test: Node) -> Node:
        self.expect("?")
        yes = self.expression()
        self.expect(":")
        no = self.expression()
        return self.grown(Conditional(test, yes, no, start=test.start, end=no.end))

    def binary(self, weakest: int) -> Node:
        left = self.unary()
        while True:
            operator = self.token.text if self.token.kind in ("sign", "name") else ""
            strength = STRENGTHS.get(operator, 0)
            if strength < weakest or (self.token.kind == "name") != (operator == "in"):
                return left
            token = self.advance()
            if operator == "**":
                left = self.power(left, token)
                continue
            right = self.binary(strength + 1)
            left = self.combined(operator, left, right, token)

    def power(self, left: Node, token: Token) -> Node:
        if isinstance(left, Unary) and not self.is_bracketed(left):
            raise self.error(
                f"`{left.operator}` before `**` could mean two things", token, "Use brackets."
            )
        with self.deeper():
            right = self.binary(_POWER)
        return self.grown(Binary("**", left, right, start=left.start, end=right.end))

    def combined(self, operator: str, left: Node, right: Node, token: Token) -> Node:
        if operator not in _LOGICAL:
            return self.grown(Binary(operator, left, right, start=left.start, end=right.end))
        for side in (left, right):
            mixed = isinstance(side, Logical) and not self.is_bracketed(side)
            if mixed and (side.operator == "??") != (operator == "??"):  # type: ignore[union-attr]
                raise self.error(
                    "`??` next to `&&` or `||` could mean two things", token, "Use brackets."
                )
        operands: tuple[Node, ...] = (left, right)
        if isinstance(left, Logical) and left.operator == operator and not self.is_bracketed(left):
            # `a && b && c` is one node of three, so that a long list of terms is not deep.
            operands = (*left.operands, right)
        return self.grown(Logical(operator, operands, start=left.start, end=right.end))

    def unary(self) -> Node:
        token = self.token
        if token.text in _PREFIXES and token.kind in ("sign", "name"):
            self.advance()
            with self.deeper():
                operand = self.unary()
            return self.grown(Unary(token.text, operand, start=token.start, end=operand.end))
        return self.links(self.primary())

    # Links: `.name`, `[key]`, `.method(…)`

    def links(self, node: Node) -> Node:
        has_optional = False
        while self.token.kind == "sign" and self.token.text in (".", "?.", "[", "("):
            optional = self.at("?.")
            has_optional = has_optional or optional
            if self.at("("):
                raise self.unexpected("Only methods and functions of the library can be called.")
            if self.at("[") or (optional and self.ahead(1).text == "["):
                node = self.subscript(node, optional=optional)
            else:
                node = self.link(node, optional=optional)
        if has_optional:
            return as_path(node) or self.grown(Chain(node, start=node.start, end=node.end))
        return node

    def link(self, node: Node, *, optional: bool) -> Node:
        self.advance()
        if self.token.kind != "name":
            raise self.unexpected("A property name follows the dot; other keys are read with [].")
        name = self.advance()
        if self.at("("):
            arguments = self.arguments(name.text)
            end = self.tokens[self.position - 1].end
            return self.grown(
                Method(node, name.text, arguments, optional, start=node.start, end=end)
            )
        return self.named(node, name.text, name.end, optional=optional)

    def named(self, node: Node, name: str, end: int, *, optional: bool) -> Node:
        if isinstance(node, Path) and not optional:
            return replace(node, names=(*node.names, name), end=end)
        return self.grown(Member(node, name, optional, start=node.start, end=end))

    def subscript(self, node: Node, *, optional: bool) -> Node:
        if optional:
            self.advance()
        self.expect("[")
        key = self.expression()
        end = self.expect("]").end
        if self.at("("):
            raise self.unexpected("Call a method with a dot: `value.method(…)`.")
        if isinstance(key, Literal) and isinstance(key.value, str):
            return self.named(node, key.value, end, optional=optional)
        return self.grown(Subscript(node, key, optional, start=node.start, end=end))
