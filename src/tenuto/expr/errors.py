"""The two ways in which an expression can fail."""

from __future__ import annotations


class ExpressionError(Exception):
    """An expression that is well formed failed on the values it was given."""

    def __init__(
        self, message: str, *, source: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.position = position

    def at(self, position: int) -> ExpressionError:
        """The same error, told where it happened; the innermost place stays."""
        if self.position is None:
            self.position = position
        return self

    def within(self, source: str) -> ExpressionError:
        """The same error, told in which expression it happened."""
        if self.source is None:
            self.source = source
        return self

    def __str__(self) -> str:
        if self.source is None:
            return self.message
        where = "" if self.position is None else f" at {self.position + 1}"
        return f"{self.message} (in `{self.source}`{where})"


class ExpressionSyntaxError(Exception):
    """A text is not an expression; found before anything runs."""

    def __init__(self, message: str, *, source: str, position: int, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.source = source
        self.position = position
        self.advice = advice
        self.path: list[str | int] = []
        """Where in a templated value the text stands; empty for a plain expression."""

    def __str__(self) -> str:
        advice = f" {self.advice}" if self.advice else ""
        return f"{self.message} at {self.position + 1}.{advice}"
