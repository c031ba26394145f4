"""Parsing the arguments of a call, and the arrow functions among them."""

from __future__ import annotations

from typing import Final

from tenuto.expr.cursor import Cursor
from tenuto.expr.library import CALLBACKS, ITERATIONS, METHODS
from tenuto.expr.syntax import Argument, Arrow, Call, Local
from tenuto.expr.words import LITERALS, OPERATORS, RESERVED

_MOST_PARAMETERS: Final = 4


class ArgumentParser(Cursor):
    """The brackets after a name."""

    def arguments(self, method: str | None) -> tuple[Argument, ...]:
        """What stands in the brackets of a call; `method` says whose, None for a function."""
        opening = self.expect("(")
        takes_arrow = method in ITERATIONS
        found: list[Argument] = []
        while not self.at(")"):
            if self.at("..."):
                found.append(self.spread())
            elif takes_arrow and not found:
                found.append(self.callback())
            else:
                found.append(self.expression())
            if not self.accept(","):
                break
        if self.at("=>"):
            raise self.unexpected(
                f"Arrow functions can only be the first argument of {', '.join(ITERATIONS)}."
            )
        self.expect(")")
        lacks_arrow = takes_arrow and not (found and isinstance(found[0], Arrow))
        if lacks_arrow and (found or method not in METHODS[list]):
            raise self.error(
                f"`{method}` needs an arrow function", opening, f"Write `.{method}(x => …)`."
            )
        return tuple(found)

    def callback(self) -> Argument:
        token = self.token
        if token.kind == "name" and token.text in CALLBACKS and self.ahead(1).text in (",", ")"):
            self.advance()
            slot = self.new_slot()
            place = {"start": token.start, "end": token.end}
            body = Call(token.text, (Local(slot, "value", **place),), **place)
            return Arrow((slot,), body, **place)
        if not self.starts_arrow():
            return self.expression()
        self.scopes.append({})
        parameters = self.parameters()
        self.expect("=>")
        if self.at("{"):
            raise self.unexpected(
                "The body is one expression; an object stands in brackets: ({…})."
            )
        body_node = self.expression()
        self.scopes.pop()
        return self.grown(Arrow(parameters, body_node, start=token.start, end=body_node.end))

    def starts_arrow(self) -> bool:
        if self.token.kind == "name":
            return self.ahead(1).text == "=>" and self.ahead(1).kind == "sign"
        if not self.at("("):
            return False
        depth = 0
        for index in range(self.position, len(self.tokens) - 1):
            token = self.tokens[index]
            if token.kind == "sign" and token.text in "([{":
                depth += 1
            elif token.kind == "sign" and token.text in ")]}":
                depth -= 1
                if depth == 0:
                    following = self.tokens[index + 1]
                    return following.kind == "sign" and following.text == "=>"
        return False

    def parameters(self) -> tuple[int | tuple[int, ...], ...]:
        if self.token.kind == "name":
            return (self.parameter(),)
        self.expect("(")
        found: list[int | tuple[int, ...]] = []
        while not self.at(")"):
            found.append(self.parts() if self.at("[") else self.parameter())
            if not self.accept(","):
                break
        if len(found) > _MOST_PARAMETERS:
            raise self.unexpected(f"An arrow function has at most {_MOST_PARAMETERS} parameters.")
        self.expect(")")
        return tuple(found)

    def parts(self) -> tuple[int, ...]:
        """`[a, b]` as a parameter: the elements of an array, by name."""
        self.expect("[")
        found: list[int] = []
        while not self.at("]"):
            found.append(self.parameter())
            if not self.accept(","):
                break
        self.expect("]")
        return tuple(found)

    def parameter(self) -> int:
        token = self.token
        if token.kind != "name":
            raise self.unexpected("A parameter is a name, or [names] that take an array apart.")
        if token.text in RESERVED | OPERATORS | LITERALS:
            raise self.error(f"`{token.text}` cannot be the name of a parameter", token)
        if token.text in self.scopes[-1]:
            raise self.error(f"two parameters are called `{token.text[:40]}`", token)
        self.advance()
        slot = self.new_slot()
        self.scopes[-1][token.text] = slot
        return slot
