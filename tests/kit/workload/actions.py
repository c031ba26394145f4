"""What clients do to a running instance, at moments of virtual time: data, to be played back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tests.kit.checker.graph import Node, read
from tests.kit.workload.choices import Choices, Seeded, between, chance, pick
from tests.kit.workload.drawing import Document, Json

MOMENTS_MS = (0, 1, 500, 1_500, 5_000, 12_000, 60_000, 240_000, 3_600_000)


@dataclass(frozen=True, slots=True)
class Publish:
    """An event, `at_ms` after the start; the same `id` twice is a repeat of the same request."""

    at_ms: int
    id: str
    pattern: str
    payload: Json
    why: str
    """matching, near miss, duplicate, early, late, or finishing."""


@dataclass(frozen=True, slots=True)
class Cancel:
    at_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Pause:
    at_ms: int
    until_ms: int | None
    """After the start; None: until somebody resumes it."""


@dataclass(frozen=True, slots=True)
class Resume:
    at_ms: int


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed instance is asked to go on; any other one refuses."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Decide:
    """Somebody decides on an approval, in every iteration in which it is open then."""

    at_ms: int
    step: str
    decision: Literal["approved", "rejected"]
    by: str
    roles: tuple[str, ...]
    why: str
    """may, may not, twice, late, or finishing."""


Action: TypeAlias = Publish | Cancel | Pause | Resume | Retry | Decide

PEOPLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ann", ()),
    ("eve", ("boss",)),
    ("zoe", ()),
    ("bob", ("staff", "board")),
    ("eve", ()),
)
"""Who decides in the shapes: those who are asked, those who are once it escalates, and nobody."""


def plan_actions(
    document: Document,
    input: Document,
    seed: int | str,
    *,
    prefix: str = "",
    interrupts: bool = True,
    finishing: bool = True,
) -> list[Action]:
    """Actions of a seed, by time. `prefix` keeps event ids of several instances apart.

    With `finishing`, every wait is sent what it waits for at the end, so that it can end, and
    whatever was paused is resumed.
    """
    choices = Seeded(f"actions {seed}")
    actions: list[Action] = []
    waits = [node for node in read(document).nodes.values() if node.type == "eventWait"]
    for node in waits:
        for number, pattern in enumerate(_patterns(node)):
            name = f"{node.id}{number or ''}"
            actions += _publishes(choices, name, pattern, input, prefix)
    for trigger in document.get("cancellationTriggers") or ():
        if chance(choices, 60):
            pattern = str(trigger["eventPattern"])
            actions += _publishes(choices, "stop", pattern, input, prefix)
    approvals = [node.id for node in read(document).nodes.values() if node.type == "approval"]
    for id in approvals:
        actions += _decisions(choices, id)
    if interrupts and chance(choices, 18):
        actions.append(Cancel(_moment(choices), "the client changed its mind"))
    if interrupts and chance(choices, 25):
        actions += _pauses(choices)
    if interrupts and chance(choices, 60):
        actions += [Retry(_moment(choices)) for _ in range(between(choices, 1, 3))]
        actions.append(Retry(MOMENTS_MS[-1] * 6))
    if finishing:
        last = MOMENTS_MS[-1] * 4
        actions.append(Resume(last))
        for number, node in enumerate(
            waits * (2 if all(node.loop is None for node in waits) else 4)
        ):
            pattern = concrete(_patterns(node)[0], node.id)
            id = f"{prefix}last-{number}"
            payload = {"k": input["k"], "amount": number}
            actions.append(Publish(last + 1_000 * (number + 1), id, pattern, payload, "finishing"))
        # What follows in a loop, or one behind the other, is asked for later.
        for number, id in enumerate(approvals * 4):
            at = last + 1_000 * (number + 1)
            actions.append(Decide(at, id, _word(choices), "ann", (), "finishing"))
    return sorted(actions, key=lambda action: action.at_ms)


def _patterns(node: Node) -> list[str]:
    """What a wait takes: one pattern, or one for each of its arms."""
    if "arms" in node.config:
        return [str(arm["eventPattern"]) for arm in node.config["arms"]]
    return [str(node.config["eventPattern"])]


def concrete(pattern: str, word: str) -> str:
    """An event's own pattern, which a subscription with wildcards takes."""
    return pattern.replace("**", f"{word}.deep").replace("*", word)


def _publishes(
    choices: Choices, node: str, pattern: str, input: Document, prefix: str
) -> list[Action]:
    found: list[Action] = []
    for number in range(between(choices, 0, 3)):
        why = pick(choices, ["matching", "near miss", "duplicate", "early", "late"])
        at = {"early": 0, "late": MOMENTS_MS[-1] * 3}.get(why, _moment(choices))
        k = input["k"] + 1 if why == "near miss" else input["k"]
        id = f"{prefix}{node}-{number}"
        event = Publish(at, id, concrete(pattern, node), {"k": k, "amount": number}, why)
        found.append(event)
        if why == "duplicate":
            found.append(Publish(at + choices.below(2_000), id, event.pattern, event.payload, why))
    return found


def _decisions(choices: Choices, node: str) -> list[Action]:
    found: list[Action] = []
    for _ in range(between(choices, 0, 3)):
        why = pick(choices, ["may", "may not", "twice", "late"])
        at = MOMENTS_MS[-1] * 3 if why == "late" else _moment(choices)
        by, roles = ("eve", ("staff",)) if why == "may not" else pick(choices, PEOPLE)
        first = Decide(at, node, _word(choices), by, roles, why)
        found.append(first)
        if why == "twice":
            later = at + choices.below(2_000)
            word = first.decision if chance(choices, 50) else _word(choices)
            found.append(Decide(later, node, word, by, roles, why))
    return found


def _word(choices: Choices) -> Literal["approved", "rejected"]:
    return "approved" if chance(choices, 60) else "rejected"


def _pauses(choices: Choices) -> list[Action]:
    at = _moment(choices)
    later = at + between(choices, 1, 90_000)
    if chance(choices, 50):
        return [Pause(at, until_ms=later)]
    return [Pause(at, until_ms=None), Resume(later)]


def _moment(choices: Choices) -> int:
    return pick(choices, MOMENTS_MS) + choices.below(300)
