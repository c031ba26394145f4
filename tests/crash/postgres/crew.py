"""Several engine processes on one database: started, spoken to, stopped, killed and replaced."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tests.crash.postgres.registers import stories
from tests.crash.postgres.worker import Orders
from tests.kit.checker.record import Fields
from tests.kit.command_forks import ForkedCommand
from tests.kit.patience import PATIENCE, patience, until
from tests.kit.postgres_database import connected

ROOT = Path(__file__).parents[3]


class Died(Exception):
    """The process ended before it answered: nobody knows what became of it."""


UNAVAILABLE = frozenset({"StoreUnavailable", "ProcessStops"})
"""The kinds of a refusal by a process that stops, or whose store is away."""


class Refused(Exception):
    """The engine said no."""

    def __init__(self, kind: str, code: str, why: str) -> None:
        super().__init__(f"{kind} {code}: {why}")
        self.kind = kind
        self.code = code


class Member:
    """One process."""

    def __init__(
        self,
        process: ForkedCommand,
        log: Path,
        *,
        orders: asyncio.WriteTransport,
        answers: asyncio.StreamReader,
    ) -> None:
        self.process = process
        self.log = log
        self._orders = orders
        self._said = answers
        self.is_ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.has_stopped = False
        self._answers: dict[int, asyncio.Future[Fields]] = {}
        self._asked = 0
        self._reading = asyncio.create_task(self._read())

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None and not self._reading.done()

    async def ask(self, op: str, **what: object) -> Fields:
        """Have it do something; Refused, or Died when it did not live to answer."""
        if not self.is_alive:
            raise Died(op)
        self._asked += 1
        number = self._asked
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({"n": number, "op": op, **what}).encode() + b"\n"
        try:
            self._orders.write(line)
            async with patience(f"the answer of {self.log.stem} to {line.decode().strip()}"):
                found = await answer
        finally:
            self._answers.pop(number, None)
        if "ok" in found:
            return dict(found["ok"])
        raise Refused(found["refused"], found["code"], found["why"])

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> None:
        """Stop it in good order."""
        await self.ask("stop")
        await self.ended()

    async def ready(self) -> str:
        """The name of its engine, once that is open."""
        async with patience(f"the start of {self.log.stem}"):
            return await asyncio.shield(self.is_ready)

    async def ended(self) -> int:
        async with patience(f"the end of {self.log.stem}"):
            await self._reading
        self._orders.close()
        return self.process.wait(PATIENCE)

    async def _read(self) -> None:
        async for line in self._said:
            said = json.loads(line)
            if "ready" in said:
                self.is_ready.set_result(said["ready"])
            elif "stopped" in said:
                self.has_stopped = True
            elif (answer := self._answers.get(said["n"])) is not None and not answer.done():
                answer.set_result(said)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Died())
        if not self.is_ready.done():
            self.is_ready.set_exception(Died("it did not start"))
            self.is_ready.exception()


class Crew:
    """All processes on one database, of which some may be dead at the moment."""

    def __init__(self, orders: Orders, chance: random.Random) -> None:
        self.orders = orders
        self.chance = chance
        self.folder = Path(orders.folder)
        self.members: list[Member] = []
        self._hired = 0

    @property
    def living(self) -> list[Member]:
        return [each for each in self.members if each.is_alive]

    async def hire(self) -> Member:
        """Start a process; it is among the members at once, and asked from then on."""
        member = await self.hire_at_leisure()
        await member.ready()
        return member

    async def hire_at_leisure(self) -> Member:
        self._hired += 1
        log = self.folder / f"worker-{self._hired}.log"
        with log.open("wb") as file:
            process = await asyncio.to_thread(
                ForkedCommand,
                [msgspec.json.encode(self.orders).decode()],
                module="tests.crash.postgres.worker",
                cwd=ROOT,
                env={**os.environ, "PYTHONFAULTHANDLER": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
            )
        loop = asyncio.get_running_loop()
        answers = asyncio.StreamReader(limit=2**24)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answers), process.stdout)
        orders, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        member = Member(process, log, orders=orders, answers=answers)
        self.members.append(member)
        return member

    async def hire_all(self, number: int) -> list[Member]:
        return list(await asyncio.gather(*(self.hire() for _ in range(number))))

    async def anybody(self) -> Member:
        """One of those who live; waits until there is one."""

        async def ready() -> list[Member]:
            return [each for each in self.living if each.is_ready.done()]

        return self.chance.choice(await until(ready))

    async def replace(self, member: Member) -> None:
        """SIGKILL a process, and have another begin at once."""
        self.members.remove(member)
        await member.kill()
        await self.hire_at_leisure()

    async def kill_all(self) -> None:
        """SIGKILL everybody, all at the same moment."""
        killed, self.members = self.members, []
        for member in killed:
            member.signal(signal.SIGKILL)
        for member in killed:
            await member.ended()

    async def insist(self, op: str, **what: object) -> Fields:
        """Ask anybody, and when there is no answer somebody else, as a good client does."""
        async with patience(f"an answer of anybody to {op} {what}"):
            while True:
                member = await self.anybody()
                try:
                    return await member.ask(op, **what)
                except Died:
                    continue
                except Refused as refusal:
                    if refusal.kind not in UNAVAILABLE:
                        raise
                    await asyncio.sleep(0.05)

    async def at_rest(self) -> None:
        """Wait until every letter is taken, also one that came to an instance too late."""
        async with connected(self.orders.url) as connection:

            async def no_mail() -> bool:
                return not await connection.fetch("SELECT 1 FROM tenuto.mailbox LIMIT 1")

            await until(no_mail)

    async def stop_all(self) -> None:
        """Stop everybody in good order; no background loop of theirs may have died."""
        for member in self.living:
            await member.ready()
            assert (await member.ask("who"))["fault"] is None
        await asyncio.gather(*(member.stop() for member in self.living))
        for log in sorted(self.folder.glob("worker-*.log")):
            assert "CRITICAL" not in log.read_text("utf-8"), log.read_text("utf-8")[-4000:]

    async def dismiss(self) -> None:
        for member in self.members:
            member.signal(signal.SIGCONT)
            await member.kill()

    async def evidence(self) -> str:
        """What the processes do now, and all that the database knows of what goes on."""
        for member in self.living:
            if member.is_ready.done():
                member.signal(signal.SIGUSR1)
        try:
            async with patience("what the database knows", 20):
                known = await stories(self.orders.url)
        except Exception as error:  # noqa: BLE001 - it is said beside what it is evidence of
            known = repr(error)
        told = [
            f"-- {member.log.stem}, {'alive' if member.is_alive else member.process.returncode}:\n"
            + member.log.read_text("utf-8", errors="replace")[-_TAIL:]
            for member in self.members
        ]
        return "\n".join([*told, "-- database:", known])


_TAIL = 12_000


@asynccontextmanager
async def crew(
    orders: Orders, number: int, *, chance: random.Random | None = None
) -> AsyncIterator[Crew]:
    """So many processes, none of which outlives the test."""
    made = Crew(orders, chance or random.Random(9))
    try:
        await made.hire_all(number)
        yield made
    except Exception as error:
        error.add_note(await made.evidence())
        raise
    finally:
        await made.dismiss()


class Stopwatch:
    """How long something took, for people to read."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __str__(self) -> str:
        return f"{time.monotonic() - self._began:.2f} s"


def soon(seconds: float = 0.05) -> float:
    """A moment at which several processes can begin together: all will have heard of it."""
    return time.time() + seconds
