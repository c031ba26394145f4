"""Options of a step that is no task, set before it is called: `http.after(paid)("https://…")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from msgspec.structs import replace

from tenuto.python_form.recorder import Recording, current
from tenuto.python_form.trace import Told
from tenuto.tasks.step_call import FirstOf, Prepared


class StepOptions:
    """What stands before the call of a construct that makes one step."""

    _word: str
    """The name of the construct."""

    def __init__(self, said: Prepared = Prepared()) -> None:  # noqa: B008 - it is immutable
        self._said = said

    def after(self, *values: object) -> Self:
        """Begin once all of these steps have completed, although none of their data is used."""
        return self._with(replace(self._said, after=(*self._said.after, *values)))

    def after_any(self, *values: object, at_least: int = 1, cancel_rest: bool = False) -> Self:
        """Begin once the first of these steps has completed, or `at_least` so many.

        With `cancel_rest`, the others are cancelled then.
        """
        some = FirstOf(values, at_least, cancel_rest)
        return self._with(replace(self._said, after_any=(*self._said.after_any, some)))

    def named(self, name: str) -> Self:
        """Give the step an id of its own, instead of that of the variable that holds it."""
        return self._with(replace(self._said, name=name))

    def on_error(self, handler: Callable[..., object]) -> Self:
        """Do this when the step fails for good; steps that depend on it are skipped."""
        return self._with(replace(self._said, on_error=handler))

    def _with(self, said: Prepared) -> Self:
        trace = self._used(self._word)
        made = type(self)(said)
        told = Told(
            f"`{self._word}` is not called here: options alone make no step",
            f"Call it: `{self._word}(…)`.",
        )
        trace.unused[made] = told, trace.here()
        return made

    def _used(self, what: str) -> Recording:
        trace = current(what)
        trace.unused.pop(self, None)
        return trace
