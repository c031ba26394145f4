"""Reads tokens one after the other, and raises syntax errors with their places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tenuto.expr.bounds import DEPTH
from tenuto.expr.errors import ExpressionSyntaxError, Misspelled
from tenuto.expr.lexer import Kind, Token, tokens
from tenuto.expr.syntax import AnyNode, Node, Spread
from tenuto.expr.words import advice_for_word

N = TypeVar("N", bound=AnyNode)


class Cursor(ABC):
    """A place among the tokens of a source, and what every part of the parser shares."""

    def __init__(self, source: str, roots: frozenset[str]) -> None:
        self.source = source
        self.roots = roots
        self.tokens = tokens(source)
        self.position = 0
        self.nesting = 0
        self.slots = 0
        self.scopes: list[dict[str, int]] = []
        # Nodes that stood in brackets: `(a && b) ?? c` is allowed, `a && b ?? c` is not.
        # A node is known by its place, since whatever stands around it has another one.
        self.bracketed: set[tuple[int, int]] = set()

    @abstractmethod
    def expression(self) -> Node:
        """A whole expression from here on."""

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def ahead(self, count: int) -> Token:
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def at(self, text: str, kind: Kind = "sign") -> bool:
        return self.token.text == text and self.token.kind == kind

    def accept(self, text: str) -> bool:
        if self.at(text):
            self.advance()
            return True
        return False

    def expect(self, text: str) -> Token:
        if not self.at(text):
            raise self.unexpected(f"Expected `{text}`.")
        return self.advance()

    def expect_end(self) -> None:
        if self.token.kind != "end":
            advice = advice_for_word(self.token.text) or "Put an operator between two values."
            if self.at("=>"):
                advice = "An arrow function can only be the argument of a method such as `map`."
            raise self.unexpected(advice)

    # Errors

    def error(
        self, message: str, token: Token, advice: str | Misspelled = ""
    ) -> ExpressionSyntaxError:
        if isinstance(advice, Misspelled):
            return ExpressionSyntaxError(
                message, source=self.source, position=token.start, misspelled=advice
            )
        return ExpressionSyntaxError(
            message, source=self.source, position=token.start, advice=advice
        )

    def unexpected(self, advice: str = "") -> ExpressionSyntaxError:
        token = self.token
        if token.kind == "end":
            message = "the expression is empty" if self.position == 0 else "the expression stops"
            return self.error(message, token, advice or "A value is missing here.")
        return self.error(f"unexpected `{token.text[:40]}`", token, advice)

    def grown(self, node: N) -> N:
        """The node, once it is known not to be too deep."""
        if node.depth > DEPTH:
            raise self.too_deep()
        return node

    def too_deep(self) -> ExpressionSyntaxError:
        return self.error(
            f"the expression is nested more than {DEPTH} deep",
            self.token,
            "Split the work over several steps.",
        )

    def is_bracketed(self, node: Node) -> bool:
        return (node.start, node.end) in self.bracketed

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level of nesting: keeps the parser's own recursion within bounds."""
        self.nesting += 1
        if self.nesting > DEPTH:
            raise self.too_deep()
        yield
        self.nesting -= 1

    def spread(self) -> Spread:
        start = self.expect("...").start
        value = self.expression()
        return self.grown(Spread(value, start=start, end=value.end))

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1
