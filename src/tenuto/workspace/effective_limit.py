"""The adaptive limit for users: what is in force and why, and the check of its document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from tenuto.model.errors import Problem
from tenuto.model.json import JSON
from tenuto.model.json_words import in_json_words
from tenuto.model.load import LoadReport, LoadTargets, ResourceBasedLimits
from tenuto.model.slots import ConcurrencyConfig
from tenuto.workspace.limit_values import EffectiveLimit

BAD_RULES: Final = "TEN-2860"
RULES: Final = "resourceBasedLimits"
"""The field of the document."""
_MOST_WRONG: Final = 100
"""Problems that are listed of one object."""
_WHERE: Final = f"$.{RULES}"
_ADVICE: Final = {
    RULES: "Give {enabled, min, max, targets}, or true or false for the defaults.",
    "enabled": "It is true or false.",
    "min": "It is a whole number from 1 to 1,000,000.",
    "max": "It is a whole number from 1 to 1,000,000.",
    "targets": "It is an object with loopLagMs, commitMs and memoryPercent.",
    "loopLagMs": "It is a number of milliseconds from 1 to 600,000, such as 100.",
    "commitMs": "It is a number of milliseconds from 1 to 600,000, such as 100.",
    "memoryPercent": "It is a number from 1 to 100, such as 85.",
}


def effective_limit(
    service: ConcurrencyConfig, reports: Sequence[LoadReport]
) -> EffectiveLimit | None:
    """What is in force by these limits of the service; None: the limit does not follow the load.

    `reports`: what processes ask for, the lowest first.
    """
    rules = service.resource_based_limits
    if rules is None or not rules.enabled:
        return None
    asked, reason, readings = rules.min, "no process has reported yet", None
    if reports:
        lowest = reports[0]
        asked = min(max(lowest.asked, rules.min), rules.max)
        reason, readings = lowest.reason, lowest.readings
    most = service.global_max_concurrent
    if most is not None and most < asked:
        asked, reason = most, f"globalMaxConcurrent; the load allows {asked} ({reason})"
    return EffectiveLimit(limit=asked, reason=reason, readings=readings, processes=len(reports))


def rules_problems(document: JSON) -> list[Problem]:
    """All problems of `resourceBasedLimits` in a document of limits."""
    given = document.get(RULES) if isinstance(document, dict) else None
    if given is None:
        return []
    if not isinstance(given, dict):
        return [_problem(_WHERE, "it is not an object", _ADVICE[RULES])]
    found = [*islice(_wrong_fields(given, ResourceBasedLimits, _WHERE), _MOST_WRONG)]
    targets = given.get("targets")
    if isinstance(targets, dict):
        found = [each for each in found if not each.path.startswith(f"{_WHERE}.targets")]
        found += islice(_wrong_fields(targets, LoadTargets, f"{_WHERE}.targets"), _MOST_WRONG)
    bounds = {name: given[name] for name in ("min", "max") if name in given}
    if not any(each.path in (f"{_WHERE}.min", f"{_WHERE}.max") for each in found):
        rules = msgspec.convert(bounds, ResourceBasedLimits)
        if rules.min > rules.max:
            message = f"min is {rules.min:,}, which is more than max, {rules.max:,}"
            found.append(_problem(f"{_WHERE}.min", message, "Lower min, or raise max."))
    return found


def _wrong_fields(
    given: dict[str, JSON], kind: type[ResourceBasedLimits | LoadTargets], where: str
) -> Iterator[Problem]:
    names = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name, value in given.items():
        field = names.get(name)
        if field is None:
            known = ", ".join(names)
            yield _problem(f"{where}.{name}", "there is no such field", f"There are: {known}.")
            continue
        try:
            msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            message = in_json_words(error).partition(" - at ")[0]
            yield _problem(f"{where}.{name}", message, _ADVICE[name])


def _problem(path: str, message: str, advice: str) -> Problem:
    return Problem(code=BAD_RULES, path=path, message=message, advice=advice)
