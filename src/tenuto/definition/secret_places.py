"""The places where a definition names secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tenuto.definition.expressions import is_templated
from tenuto.definition.report import did_you_mean
from tenuto.expr import template_expressions
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import Problem
from tenuto.model.graph import DataQuery, Definition, Http, JavaScript, Node, Task
from tenuto.model.json import JSON
from tenuto.model.secret_place import ROOT, secret_name

_MOST_NAMED: Final = 100
"""So many secrets are looked at."""


class SecretUse(NamedTuple):
    """A step, or a compensation step, that is given a secret."""

    name: str
    step_id: str
    path: str
    """JSONPath of the text in the document."""
    is_sent: bool
    """Whether the step sends it to one host or data source; else it is given to code."""


def secret_places(definition: Definition) -> list[SecretUse]:
    """The first place of each secret that a definition names, of both kinds."""
    found: dict[tuple[str, bool], SecretUse] = {}
    for place in _all(definition):
        found.setdefault((place.name, place.is_sent), place)
    return list(found.values())


def secret_problems(
    places: Iterable[SecretUse], known: Mapping[str, Sequence[str] | None]
) -> list[Problem]:
    """Warnings for secrets that do not exist, or may not be sent where a step sends them.

    `known`: the destinations of each secret that there is; None: it may be sent everywhere.
    """
    found: list[Problem] = []
    for each in list(places)[:_MOST_NAMED]:
        destinations = known.get(each.name)
        if each.name not in known:
            advice = did_you_mean(each.name, known, CATALOGUE["TEN-1661"].advice)
            said = f"{each.step_id}: there is no secret {each.name}"
            found.append(_warning("TEN-1661", each.path, said, advice))
        elif destinations is not None and not each.is_sent:
            said = (
                f"{each.step_id}: the secret {each.name} is for {', '.join(destinations)} alone, "
                "and a task or code gets it here"
            )
            found.append(_warning("TEN-1662", each.path, said, CATALOGUE["TEN-1662"].advice))
    return found


def _warning(code: str, path: str, message: str, advice: str) -> Problem:
    return Problem(code=code, path=path, message=message, advice=advice, severity="warning")


def _all(definition: Definition) -> Iterator[SecretUse]:
    in_steps = definition.spelling == "steps"
    spelled = "$.steps[{}]" if in_steps else "$.nodes[{}].config"
    for index, node in enumerate(definition.graph.nodes):
        yield from _of_node(node, spelled.format(index))
    for index, step in enumerate(definition.compensation_steps):
        if not isinstance(step.input, str) or is_templated(step.input):
            path = f"$.compensationSteps[{index}].input"
            yield from _in(step.input, step.step_id, path, is_sent=False)


def _of_node(node: Node, path: str) -> Iterator[SecretUse]:
    match node.config:
        case Task(input=given) | JavaScript(input=given):
            yield from _in(given, node.id, f"{path}.input", is_sent=False)
        case DataQuery(args=args):
            yield from _in(args, node.id, f"{path}.args", is_sent=True)
        case Http() as http:
            auth = None if http.auth is None else http.auth.value
            for field, value in (
                ("url", http.url),
                ("headers", http.headers),
                ("query", http.query),
                ("body", http.body),
                ("auth.value", auth),
            ):
                yield from _in(value, node.id, f"{path}.{field}", is_sent=True)
        case _:
            pass


def _in(value: JSON, step_id: str, path: str, *, is_sent: bool) -> Iterator[SecretUse]:
    if value is None:
        return
    for where, expression in template_expressions(value):
        if ROOT in expression.roots and (name := secret_name(expression.source)) is not None:
            yield SecretUse(name, step_id, f"{path}{where}", is_sent)
