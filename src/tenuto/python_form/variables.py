"""`set_values`: computes variables of the context, without a task."""

from __future__ import annotations

from typing import Any, cast

from tenuto.python_form.recorder import current


def set_values(**values: object) -> dict[str, Any]:
    """Compute values when the workflow runs, without a task: `set_values(total=a["sum"] * 2)`.

    Each is a variable of the context, `ctx.total` in text, and a member of the result.
    """
    trace = current("set_values")
    given = {name: trace.traceable(each, f"`{name}`") for name, each in values.items()}
    step = trace.record("set", "set_values", {"values": given}, has_output=True)
    step.variables = frozenset(values)
    return cast("dict[str, Any]", trace.value_of(step, "values that are computed"))
