"""Ways to falsify a recorded run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tests.checker.history import Fields

Change: TypeAlias = Callable[[Fields], None]


def instance(run: Fields) -> Fields:
    found: Fields = run["instances"][0]
    return found


def rows(run: Fields) -> list[Fields]:
    found: list[Fields] = instance(run)["history"]
    return found


def row(run: Fields, type: str, node: str | None = None, attempt: int | None = None) -> Fields:
    """The first row of a kind."""
    name, _, iteration = (node or "").removesuffix("]").partition("[")
    for candidate in rows(run):
        if candidate["eventType"] != type or (node and candidate["nodeId"] != name):
            continue
        if iteration and candidate["iteration"] != iteration:
            continue
        if attempt is None or candidate["attempt"] == attempt:
            return candidate
    message = f"no {type} of {node}"
    raise LookupError(message)


def renumber(run: Fields) -> None:
    for seq, found in enumerate(rows(run), start=1):
        found["seq"] = seq


def drop(type: str, node: str | None = None, attempt: int | None = None, place: int = 0) -> Change:
    """Leave a row out, and number the others as if it had never been."""

    def change(run: Fields) -> None:
        alike = [found for found in rows(run) if found["eventType"] == type]
        rows(run).remove(alike[place] if place else row(run, type, node, attempt))
        renumber(run)

    return change


def say(type: str, node: str | None = None, /, **payload: Any) -> Change:  # noqa: ANN401
    """Other words in a row's payload."""

    def change(run: Fields) -> None:
        row(run, type, node)["payload"].update(payload)

    return change


def column(
    type: str,
    node: str | None = None,
    attempt: int | None = None,
    /,
    **columns: Any,  # noqa: ANN401
) -> Change:
    """Other words in a row's columns."""

    def change(run: Fields) -> None:
        row(run, type, node, attempt).update(columns)

    return change


def add(type: str, node: str | None, /, *, before: tuple[str, str | None], **more: Any) -> Change:  # noqa: ANN401
    """Put a row in, in front of another one."""

    def change(run: Fields) -> None:
        place = rows(run).index(row(run, *before))
        at = rows(run)[place]["at"]
        attempt, status = more.pop("attempt", 1), more.pop("status", None)
        new = {"eventType": type, **_place(node), "attempt": attempt, "at": at}
        rows(run).insert(place, {**new, "nodeStatus": status, "payload": more})
        renumber(run)

    return change


def append(type: str, node: str | None, /, **more: Any) -> Change:  # noqa: ANN401
    """Put a row behind the last one."""

    def change(run: Fields) -> None:
        last = rows(run)[-1]
        new = {"seq": last["seq"] + 1, "eventType": type, **_place(node), "at": last["at"]}
        rows(run).append({**new, "attempt": more.pop("attempt", 1), "payload": more})

    return change


def move(type: str, node: str | None, /, *, before: tuple[str, str | None]) -> Change:
    """Tell a row earlier than it happened."""

    def change(run: Fields) -> None:
        moved = row(run, type, node)
        rows(run).remove(moved)
        place = rows(run).index(row(run, *before))
        moved["at"] = rows(run)[place]["at"]
        rows(run).insert(place, moved)
        renumber(run)

    return change


def cut_after(type: str, node: str | None = None, attempt: int | None = None) -> Change:
    """Forget everything that came after a row."""

    def change(run: Fields) -> None:
        del rows(run)[rows(run).index(row(run, type, node, attempt)) + 1 :]

    return change


def store(**columns: Any) -> Change:  # noqa: ANN401
    """Another value in the instance's stored rows."""

    def change(run: Fields) -> None:
        instance(run).update(columns)

    return change


def stored_row(**columns: Any) -> Change:  # noqa: ANN401
    def change(run: Fields) -> None:
        instance(run).setdefault("row", {}).update(columns)

    return change


def step(id: str, **words: Any) -> Change:  # noqa: ANN401
    def change(run: Fields) -> None:
        instance(run)["state"]["steps"][id].update(words)

    return change


def ledger(name: str, place: int, **words: Any) -> Change:  # noqa: ANN401
    """Another entry in a ledger."""

    def change(run: Fields) -> None:
        run[name][place].update(words)

    return change


def more(name: str, **entry: Any) -> Change:  # noqa: ANN401
    """One more entry in a ledger."""

    def change(run: Fields) -> None:
        run[name].append(entry)

    return change


def lose(name: str, place: int) -> Change:
    """One entry less in a ledger."""

    def change(run: Fields) -> None:
        del run[name][place]

    return change


def whole(**words: Any) -> Change:  # noqa: ANN401
    def change(run: Fields) -> None:
        run.update(words)

    return change


def all_of(*changes: Change) -> Change:
    def change(run: Fields) -> None:
        for each in changes:
            each(run)

    return change


def configure(node: str, **settings: Any) -> Change:  # noqa: ANN401
    """Another setting of a node in the definition; a setting that is an object is added to."""

    def change(run: Fields) -> None:
        config = next(
            found["config"] for found in instance(run)["document"]["nodes"] if found["id"] == node
        )
        for name, value in settings.items():
            both = isinstance(value, dict) and isinstance(config.get(name), dict)
            config[name] = {**config[name], **value} if both else value

    return change


def retype(place: int, type: str, **columns: Any) -> Change:  # noqa: ANN401
    """Another kind of row in the place of one."""

    def change(run: Fields) -> None:
        rows(run)[place].update(eventType=type, payload=columns.pop("payload", {}), **columns)

    return change


def say_at(place: int, **payload: Any) -> Change:  # noqa: ANN401
    def change(run: Fields) -> None:
        rows(run)[place]["payload"].update(payload)

    return change


def last_rows_at(number: int, at: int) -> Change:
    """Another time for the last rows."""

    def change(run: Fields) -> None:
        for found in rows(run)[-number:]:
            found["at"] = at

    return change


def attempts(old: int, new: int) -> Change:
    """Another number for all rows of an attempt."""

    def change(run: Fields) -> None:
        for found in rows(run):
            if found["attempt"] == old:
                found["attempt"] = new

    return change


def iterations(old: str, new: str) -> Change:
    """Another path for all rows of an iteration."""

    def change(run: Fields) -> None:
        for found in rows(run):
            if found["iteration"] == old:
                found["iteration"] = new

    return change


def draw(source: str, handle: str, target: str) -> Change:
    """One more edge in the definition."""

    def change(run: Fields) -> None:
        edge = {"source": source, "sourceHandle": handle, "target": target}
        instance(run)["document"]["edges"].append(edge)

    return change


def without_node(id: str) -> Change:
    """A definition without a node and its edges, and a history without its rows."""

    def change(run: Fields) -> None:
        document = instance(run)["document"]
        document["nodes"] = [node for node in document["nodes"] if node["id"] != id]
        document["edges"] = [edge for edge in document["edges"] if edge["downstreamNodeID"] != id]
        instance(run)["history"] = [found for found in rows(run) if found["nodeId"] != id]
        renumber(run)

    return change


def _place(node: str | None) -> Fields:
    name, _, iteration = (node or "").removesuffix("]").partition("[")
    return {"nodeId": name or None, "iteration": iteration}
