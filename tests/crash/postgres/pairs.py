"""All pairs of commands, each pair for one instance and at the same moment in two processes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations_with_replacement

from tests.crash.postgres.crew import UNAVAILABLE, Crew, Died, Member, Refused, soon
from tests.kit.checker.record import Fields
from tests.kit.patience import patience, until

COMMANDS = (
    "start",
    "start with other content",
    "cancel",
    "pause",
    "resume",
    "retry",
    "rerun",
    "publish",
    "succeed",
    "fail",
    "timer",
    "stop",
)
PAIRS = tuple(combinations_with_replacement(COMMANDS, 2))
TO_SET_UP = 1.0
"""Seconds until a volley is fired, in which its instances come to where it is to meet them."""

_OWNERS = frozenset({"succeed", "fail", "timer", "stop"})
"""What only happens where the instance is run."""
_HELD = ["hold1", "hold2"]


@dataclass
class Duel:
    """One instance, and the two commands that meet there."""

    k: int
    pair: tuple[str, str]
    at: float
    """When its timers are due."""
    before: str
    """How it stands before: running, paused or failed."""
    instance: str = ""
    reruns: list[str] = field(default_factory=list)

    @property
    def given(self) -> Fields:
        due = self.at if "timer" in self.pair else 0
        moment = datetime.fromtimestamp(due, UTC).isoformat(timespec="milliseconds")
        return {"k": self.k, "flag": True, "until": moment}

    @property
    def key(self) -> str:
        return f"duel {self.k}"


class Duels:
    """Fires volleys at instances that one process runs, from that process and from another."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._made = 0
        self.book: list[Fields] = []
        self.accepted: dict[str, int] = {}
        """How often each command was accepted."""

    async def round(self, pairs: Iterable[tuple[str, str]], *, both_stop: bool = False) -> None:
        """One instance for each pair; those with a stop among them all share that stop."""
        await asyncio.gather(*(member.ready() for member in self._crew.members))
        owner, other = self._crew.chance.sample(self._crew.living, 2)
        duels = await self._set_up(owner, pairs)
        at = max(duels[0].at, soon())
        shots = [self._fire(owner, other, duel, at) for duel in duels]
        stopping = [owner] if any("stop" in duel.pair for duel in duels) else []
        stopping += [other] if both_stop else []
        await asyncio.gather(*shots, *(_stop(member, at) for member in stopping))
        for member in stopping:
            await member.ended()
            assert member.has_stopped, member.log.read_text("utf-8")[-2000:]
            self._crew.members.remove(member)
            await self._crew.hire_at_leisure()
        await self._see_them_end(duels)

    async def _set_up(self, owner: Member, pairs: Iterable[tuple[str, str]]) -> list[Duel]:
        at = soon(TO_SET_UP)
        duels = [self._duel(pair, at) for pair in pairs]
        await asyncio.gather(*(self._begin(owner, duel) for duel in duels))

        async def all_are_held() -> bool:
            ids = [duel.instance for duel in duels]
            return bool((await owner.ask("holds", instances=ids))["holds"] == len(_HELD) * len(ids))

        await until(all_are_held)
        await asyncio.gather(*(self._bring_to(owner, duel) for duel in duels))
        return duels

    def _duel(self, pair: tuple[str, str], at: float) -> Duel:
        self._made += 1
        needed = [state for command, state in _NEEDS.items() if command in pair]
        before = self._crew.chance.choice(needed) if needed else "running"
        return Duel(self._made, pair, at, before)

    async def _begin(self, owner: Member, duel: Duel) -> None:
        made = await owner.ask("start", workflow="crossroads", input=duel.given, key=duel.key)
        duel.instance = str(made["instance"])
        self._note("start", "ok", key=duel.key, input=duel.given, **made)

    async def _bring_to(self, owner: Member, duel: Duel) -> None:
        if duel.before == "paused":
            await self._ask(owner, "pause", instance=duel.instance)
        elif duel.before == "failed":
            await owner.ask("release", instance=duel.instance, nodes=["hold1"], well=False)
            assert (await owner.ask("end", instance=duel.instance))["status"] == "FAILED"

    async def _fire(self, owner: Member, other: Member, duel: Duel, at: float) -> None:
        first, second = duel.pair
        if self._crew.chance.random() < 0.5:
            first, second = second, first
        if second in _OWNERS:
            first, second = second, first
        here = owner if first in _OWNERS or second not in _OWNERS else other
        there = owner if second in _OWNERS else other
        await asyncio.gather(
            self._command(here, first, duel, at, 0), self._command(there, second, duel, at, 1)
        )

    async def _command(
        self, member: Member, command: str, duel: Duel, at: float, number: int
    ) -> None:
        instance = duel.instance
        match command:
            case "start":
                made = await self._ask(
                    member, "start", at=at, workflow="crossroads", input=duel.given, key=duel.key
                )
                assert made is None or made["instance"] == instance
            case "start with other content":
                other = {**duel.given, "k": -duel.k}
                made = await self._ask(
                    member, "start", at=at, workflow="crossroads", input=other, key=duel.key
                )
                assert made is None, "the key was used before, for something else"
            case "rerun":
                made = await self._ask(member, "rerun", at=at, instance=instance)
                if made is not None:
                    duel.reruns.append(str(made["instance"]))
            case "publish":
                await self._ask(
                    member,
                    *("publish",),
                    at=at,
                    pattern="crossing",
                    payload={"k": duel.k},
                    event=f"event {duel.k}",
                )
            case "succeed" | "fail":
                # Two results of one step do not exist: the second is that of its neighbour.
                nodes, well = [_HELD[number]], command == "succeed"
                await self._ask(member, "release", at=at, instance=instance, nodes=nodes, well=well)
            case "timer" | "stop":
                pass  # it comes by itself; the stop is the same for all
            case _:
                await self._ask(member, command, at=at, instance=instance)

    async def _ask(self, member: Member, op: str, **what: object) -> Fields | None:
        """Ask, and note what came of it; None when it was refused, or nobody knows."""
        told = {name: value for name, value in what.items() if name not in ("at", "workflow")}
        try:
            answer = await member.ask(op, **what)
        except (Died, Refused) as error:
            is_known = isinstance(error, Refused) and error.kind == "Conflict"
            if isinstance(error, Refused) and error.kind not in {"Conflict", *UNAVAILABLE}:
                raise
            if op == "rerun":
                told = {}
            self._note(op, "refused" if is_known else "unknown", **told)
            return None
        self.accepted[op] = self.accepted.get(op, 0) + 1
        self._note(op, "ok", **{**told, **answer})
        return answer

    def _note(self, op: str, outcome: str, **what: object) -> None:
        if op == "rerun":
            op = "start"
        if op not in ("release", "end"):
            self.book.append({"op": op, "outcome": outcome, **what})

    async def _see_them_end(self, duels: list[Duel]) -> None:
        """Give everybody all they may wait for; then they end."""
        for duel in duels:
            payload = {"k": duel.k}
            event = f"last event {duel.k}"
            told: Fields = {"pattern": "crossing", "payload": payload, "event": event}
            await self._crew.insist("publish", **told)
            self._note("publish", "ok", **told)
        ids = [id for duel in duels for id in (duel.instance, *duel.reruns)]
        ends = {id: asyncio.create_task(self._crew.insist("end", instance=id)) for id in ids}
        async with patience("the ends of all"):
            while open_ends := [id for id, end in ends.items() if not end.done()]:
                await asyncio.gather(*(self._help(id) for id in open_ends))
                await asyncio.wait(ends.values(), timeout=0.1)
        for end in ends.values():
            assert (await end)["status"] in ("COMPLETED", "CANCELLED", "FAILED")

    async def _help(self, instance: str) -> None:
        for member in self._crew.living:
            await member.ask("release", instance=instance, nodes=_HELD)
        try:
            await self._crew.insist("resume", instance=instance)
        except Refused as refusal:
            if refusal.kind != "Conflict":
                raise
        else:
            self._note("resume", "ok", instance=instance)


_NEEDS = {"resume": "paused", "retry": "failed"}


async def _stop(member: Member, at: float) -> None:
    try:
        await member.ask("stop", at=at)
    except Died:
        return
