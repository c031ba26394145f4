"""Names in expressions that are never there: steps, variables, fields of events and instances."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from tenuto.definition.draft import Draft, name_a_step
from tenuto.definition.report import Place, shown
from tenuto.definition.shape import Flow
from tenuto.expr import Reference
from tenuto.model.json import JSON, Object

_OF_STEP = ("status", "output", "attempts", "error", "errors")
_OF_EVENT = ("id", "eventId", "pattern", "payload", "timestamp", "correlationId")
_OF_WORKFLOW = ("id", "version", "input", "instance")
_OF_INSTANCE = ("id", "status", "input", "correlationId", "state", "cancellation")
_OF_STATE = ("input", "steps", "variables")
_OF_INPUT = "ctx.input"
_MOST_VISITS = 200_000
"""Of edges, in the search for steps that come later: it is a help, and must not take long."""


class References:
    """Compares the names in the expressions of one definition with what there is."""

    def __init__(self, draft: Draft, flow: Flow, input_schema: JSON) -> None:
        self._steps = {node.id for node in draft.nodes if node.named}
        self._around = flow.around
        self._later = _Later(flow)
        self._loops = flow.arrows.loops
        self._repeating = {
            node.id for node in draft.nodes if "while" in node.settings and node.id in self._loops
        }
        self._variables = {name for node in draft.nodes for name in _set_by(node.settings)}
        self._given = _properties(input_schema)
        self._is_closed = self._given is not None and _is_closed(input_schema)

    def check(self, found: Collection[tuple[Place, Reference]]) -> None:
        """Report each name once at each place: errors first, since warnings may be many."""
        seen: set[tuple[str, tuple[str, ...]]] = set()
        for place, each in sorted(found, key=lambda each: not self._is_refused(each[1])):
            if place.report.is_full:
                return
            path = each.path
            key = place.path, path[:3]
            if len(path) > 1 and key not in seen:
                seen.add(key)
                self._check(path, place, is_optional=each.is_optional)
            elif path == ("item",):
                self._check_item("item", place)

    def _is_refused(self, reference: Reference) -> bool:
        path = reference.path
        is_unknown = path[0] == "steps" and len(path) > 1 and path[1] not in self._steps
        return is_unknown and not reference.is_optional

    def _check(self, path: tuple[str, ...], place: Place, *, is_optional: bool) -> None:
        match path:
            case ("steps", name, *_) if is_optional and name not in self._steps:
                # It gives undefined where it is evaluated, and does not fail.
                self._unknown_step(name, place, place.warn)
            case ("steps", name, *rest):
                self._check_step(name, rest, place)
            case ("workflow", *rest):
                self._check_workflow(rest, place)
            case ("event", name, *_):
                _check_field("event", name, _OF_EVENT, place, within="payload")
            case ("item", *_):
                self._check_item("item", place)
            case ("ctx", "item", *_):
                self._check_item("ctx.item", place)
            case ("ctx", "index" | "last" as name, *_):
                self._check_iteration(name, place)
            case ("ctx", "input", name, *_):
                self._check_input(name, place)
            case ("ctx", name, *_):
                self._check_variable(name, place)
            case _:
                pass

    def _check_workflow(self, path: list[str], place: Place) -> None:
        match path:
            case ["input", name, *_]:
                self._check_input(name, place)
            case ["instance", "state", "steps", name, *rest]:
                self._check_step(name, rest, place)
            case ["instance", "state", name, *_]:
                _check_field("workflow.instance.state", name, _OF_STATE, place)
            case ["instance", name, *_]:
                _check_field("workflow.instance", name, _OF_INSTANCE, place)
            case [name, *_]:
                _check_field("workflow", name, _OF_WORKFLOW, place)
            case _:
                pass

    def _check_step(self, name: str, rest: list[str], place: Place) -> None:
        if name not in self._steps:
            self._unknown_step(name, place, place.wrong)
            return
        loop = self._around.get(name)
        if loop is not None and loop not in self._loops_seen(place):
            place.warn(
                "TEN-1058",
                f"`{name}` is in the body of loop `{loop}`, and this is outside of it",
                f"The results of all iterations are `steps.{loop}.output`.",
            )
        elif place.step and not place.sees_later and (name, place.step) in self._later:
            place.warn(
                "TEN-1058",
                f"`{name}` runs only after `{place.step}`, so that it has no output here",
                "Move the expression behind that step.",
            )
        elif rest:
            _check_field(f"steps.{name}", rest[0], _OF_STEP, place, within="output")

    def _unknown_step(
        self, name: str, place: Place, say: Callable[[str, str, str | None], None]
    ) -> None:
        advice = name_a_step(name, self._steps, place)
        if name == "length":
            advice = "The number of steps so far is `Object.keys(steps).length`."
        say("TEN-1057", f"there is no step {shown(name)}", advice)

    def _check_item(self, spelled: str, place: Place) -> None:
        loops = self._loops_seen(place)
        if not loops:
            # The roots of a place have `item` only in a loop.
            if spelled != "item":
                _warn_outside(spelled, place)
        elif loops <= self._repeating:
            place.warn(
                "TEN-1058",
                f"`{spelled}` is never there: a loop with `while` has no items",
                "The result of the iteration before is `ctx.last`, its number `index`.",
            )

    def _check_iteration(self, name: str, place: Place) -> None:
        own = {place.step} & self._loops
        if not own | self._loops_seen(place):
            _warn_outside(f"ctx.{name}", place)
        elif name == "last" and not (own | self._loops_seen(place)) & self._repeating:
            place.warn(
                "TEN-1058",
                "`ctx.last` is never there: it is the result of the iteration before, in a loop "
                "with `while`",
                "In a loop over items a step before it can set a variable.",
            )

    def _check_input(self, name: str, place: Place) -> None:
        if self._is_closed and self._given is not None and name not in self._given:
            near = place.nearest(name, self._given)
            place.warn(
                "TEN-1058",
                f"`inputSchema` allows no {shown(name)} in the input",
                "Add it to its `properties`."
                if near is None
                else f"Did you mean `{_OF_INPUT}.{near}`?",
            )

    def _check_variable(self, name: str, place: Place) -> None:
        if name in self._variables or name in ("input", "output"):
            return
        if name == "results" and place.step in self._loops:
            return
        place.warn("TEN-1058", f"no step sets the variable `{name}`", self._advice_on(name, place))

    def _advice_on(self, name: str, place: Place) -> str:
        if self._given is not None and name in self._given:
            return f"The input has it: `{_OF_INPUT}.{name}`."
        if name in self._steps:
            return f"The output of the step is `steps.{name}.output`."
        near = place.nearest(name, self._variables)
        if near is not None:
            return f"Did you mean `ctx.{near}`?"
        return (
            f"If the input has it, write `{_OF_INPUT}.{name}`; a step sets a variable with "
            "`outputVariable`."
        )

    def _loops_seen(self, place: Place) -> set[str]:
        """The loops around a place, from the innermost outwards."""
        step = place.step
        loop = None if step is None else self._around.get(step)
        if step in self._loops and place.is_in_body:
            loop = step
        seen: set[str] = set()
        while loop is not None and loop not in seen:
            seen.add(loop)
            loop = self._around.get(loop)
        return seen


class _Later:
    """Which steps begin only after another one."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._visits = _MOST_VISITS
        self._last: tuple[str | None, set[str]] = (None, set())

    def __contains__(self, pair: tuple[str, str]) -> bool:
        """Whether the first begins only after the second; False where that takes long to tell."""
        step, other = pair
        if self._last[0] != other:
            self._last = other, self._after(other)
        return step in self._last[1]

    def _after(self, step: str) -> set[str]:
        found: set[str] = set()
        todo = [step]
        while todo and self._visits > 0:
            for edge in self._flow.arrows.outgoing.get(todo.pop(), ()):
                self._visits -= 1
                if edge.target not in found and edge not in self._flow.shape.back:
                    found.add(edge.target)
                    todo.append(edge.target)
        return found if self._visits > 0 else set()


def _check_field(
    owner: str, name: str, known: Collection[str], place: Place, *, within: str | None = None
) -> None:
    if name in known:
        return
    near = place.nearest(name, known)
    guess = near if within is None or near is not None else f"{within}.{name}"
    listing = f"It has {', '.join(known)}."
    place.warn(
        "TEN-1058",
        f"`{owner}` has no {shown(name)}",
        listing if guess is None else f"Did you mean `{owner}.{guess}`? {listing}",
    )


def _warn_outside(spelled: str, place: Place) -> None:
    place.warn(
        "TEN-1058",
        f"`{spelled}` exists only in the body of a loop",
        "Lead the handle `loop` of a loop to this step, or use another name.",
    )


def _set_by(settings: Object) -> Iterator[str]:
    """The variables that a step with these settings may set."""
    variable = settings.get("outputVariable")
    if isinstance(variable, str):
        yield variable
    arms = settings.get("arms")
    given = [settings, *(arms if isinstance(arms, list) else ())]
    for each in given:
        mapping = each.get("eventPayloadMapping") if isinstance(each, dict) else None
        yield from mapping if isinstance(mapping, dict) else ()
    values = settings.get("values")
    yield from values if isinstance(values, dict) else ()


def _properties(schema: JSON) -> set[str] | None:
    """The names that an input schema gives; None where it gives none."""
    named = schema.get("properties") if isinstance(schema, dict) else None
    return set(named) if isinstance(named, dict) else None


def _is_closed(schema: JSON) -> bool:
    """Whether an input is an object without any other names."""
    return (
        isinstance(schema, dict)
        and schema.get("type") == "object"
        and schema.get("additionalProperties") is False
        and "patternProperties" not in schema
    )
