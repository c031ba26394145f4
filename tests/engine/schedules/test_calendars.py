"""Calendars: versions, users, and one value for every process."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Collection
from functools import partial, wraps
from typing import Any

import holidays
import msgspec
import pytest
from msgspec.structs import replace

from tenuto.app import Tenuto
from tenuto.calendars import Calendar, is_working
from tenuto.calendars.calendar import HolidayRule
from tenuto.calendars.public_holidays import holidays_of
from tenuto.engine.definitions import calendar_values
from tenuto.engine.definitions.calendar_values import Resolved, calendar_of
from tenuto.engine.definitions.calendars import Calendars as EngineCalendars
from tenuto.engine.definitions.large_documents import LARGE, LargeDocuments
from tenuto.engine.settings import Settings
from tenuto.model.errors import Conflict, InvalidInput, NotFound
from tenuto.model.json import Object
from tenuto.model.quotas import QuotaExceeded, Quotas
from tenuto.store.memory.members import MemoryMembers
from tenuto.store.parts.calendars import CalendarRow, Calendars as StoredCalendars
from tests.engine.schedules.clockwork import Clockwork, at, minutes

WEEK = {day: ["09:00-17:00"] for day in ("mon", "tue", "wed", "thu", "fri")}


def office(**fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"id": "office", "timezone": "UTC", "week": WEEK} | fields


def save(world: Clockwork, document: dict[str, Any], **how: Any) -> CalendarRow:  # noqa: ANN401
    return world.ask(lambda app: app.engine.calendars.save("default", document, by="ada", **how))


def test_unchanged_content_makes_no_version() -> None:
    """Calendars have versions, and unchanged content makes none."""
    with Clockwork() as world:
        assert save(world, office()).version == 1
        assert save(world, office()).version == 1
        assert save(world, office(name="The office")).version == 2
        with pytest.raises(Conflict) as raised:
            save(world, office(), only_after=1)
        assert raised.value.code == "TEN-3085"
        with pytest.raises(Conflict) as raised:
            save(world, office(), is_new=True)
        assert raised.value.code == "TEN-3084"
        assert save(world, office(), only_after=2).version == 3


def test_a_calendar_that_is_used_is_not_removed() -> None:
    """A calendar without working time, or that extends itself, is refused; one that is used is not
    deleted, and the refusal names its users.
    """
    with Clockwork() as world:
        save(world, office())
        save(world, {"id": "branch", "extends": "office", "dates": []})
        world.save(calendar="office", cron="0 10 * * *")

        def remove() -> None:
            world.engine.lives.ask(
                lambda app: app.engine.calendars.remove("default", "office", by="ada")
            )

        with pytest.raises(Conflict) as raised:
            remove()
        assert raised.value.code == "TEN-3086"
        assert "schedule s" in raised.value.message
        assert "calendar branch" in raised.value.message
        world.save(cron="0 10 * * *")
        world.engine.lives.ask(
            lambda app: app.engine.calendars.remove("default", "branch", by="ada")
        )
        remove()
        with pytest.raises(NotFound) as missing:
            remove()
        assert missing.value.code == "TEN-3083"
        assert save(world, office()).version == 3, "its versions go on"


def test_a_change_that_leaves_another_calendar_without_working_time_is_refused() -> None:
    with Clockwork() as world:
        save(world, office())
        off: Object = {day: [] for day in WEEK if day != "mon"}
        save(world, {"id": "mondays", "extends": "office", "week": off})
        with pytest.raises(InvalidInput) as raised:
            save(world, office(week={"tue": ["09:00-17:00"]}))
        assert "`mondays`" in raised.value.problems[0].message


def test_a_tenant_has_so_many_calendars_and_versions() -> None:
    quotas = Quotas(calendars=1, calendar_versions=2)
    with Clockwork(settings=Settings(quotas=quotas)) as world:
        save(world, office())
        with pytest.raises(QuotaExceeded):
            save(world, office(id="other"))
        save(world, office(name="two"))
        with pytest.raises(QuotaExceeded):
            save(world, office(name="three"))


def test_a_tenant_has_so_many_bytes_of_calendars() -> None:
    with Clockwork(settings=Settings(quotas=Quotas(calendar_bytes=2_000))) as world:
        save(world, office(name="x" * 1_000))
        with pytest.raises(QuotaExceeded, match="quota `calendar_bytes`") as refused:
            save(world, office(id="other", name="x" * 1_000))
        assert refused.value.quota == "calendar_bytes"
        with pytest.raises(QuotaExceeded):
            save(world, office(name="x" * 3_000))
        world.down_for(hours=1)
        with pytest.raises(QuotaExceeded):
            save(world, office(id="other", name="x" * 1_000))
        save(world, office(name="shorter"))
        save(world, office(id="other", name="x" * 1_400))
        shown = world.ask(_usage)["calendar_bytes", "default"]
        assert shown[0] > 1_600
        assert shown[1] == 2_000


def test_what_is_made_again_counts_as_one_more_calendar() -> None:
    with Clockwork(settings=Settings(quotas=Quotas(calendars=1))) as world:
        save(world, office())
        world.engine.lives.ask(
            lambda app: app.engine.calendars.remove("default", "office", by="ada")
        )
        save(world, office(id="other"))
        with pytest.raises(QuotaExceeded, match="quota `calendars`"):
            save(world, office())


def test_a_change_reads_no_calendar_from_the_store_but_what_others_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents: list[str] = []

    def counted(verb: str) -> None:
        found = getattr(StoredCalendars, verb)

        async def call(self: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401
            rows = await found(self, *given, **named)
            documents.extend(row.id for row in (rows if isinstance(rows, list) else [rows]) if row)
            return rows

        monkeypatch.setattr(StoredCalendars, verb, call)

    with Clockwork() as world:
        for number in range(5):
            save(world, office(id=f"office-{number}"))
        for verb in ("page", "every", "newest"):
            counted(verb)
        save(world, office(id="new"))
        assert documents == []
        save(world, office(id="new", name="changed"))
        assert set(documents) == {"new"}
        documents.clear()
        world.ask(_changed_elsewhere)
        known = world.ask(lambda app: app.engine.calendars.resolved("default"))
        assert not is_working(known["office-3"], at("10:00"))
        assert set(documents) == {"office-3"}


def test_a_change_reads_none_of_those_that_were_removed_before_the_process_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tenant may have made and removed any number, and the next heartbeat would wait for each."""
    documents: list[str] = []
    newest = StoredCalendars.newest

    @wraps(newest)
    async def noted(self: StoredCalendars, tenant: str, id: str) -> CalendarRow | None:
        documents.append(id)
        return await newest(self, tenant, id)

    with Clockwork() as world:
        save(world, office(id="office-3"))
        for id in ("a", "b"):
            save(world, office(id=id))
            world.engine.lives.ask(partial(_removed, id))
        world.down_for(minutes=1)
        monkeypatch.setattr(StoredCalendars, "newest", noted)
        world.ask(_changed_elsewhere)
        assert {*documents} == {"office-3"}
        save(world, office(id="a"))
        known = world.ask(lambda app: app.engine.calendars.resolved("default"))
        assert {*known} == {"a", "office-3"}


def test_decisions_have_the_newest_version_at_hand() -> None:
    with Clockwork() as world:
        save(world, office())
        known = world.ask(lambda app: app.engine.calendars.resolved("default"))
        assert is_working(known["office"], at("10:00"))
        save(world, office(week=WEEK | {"thu": ["11:00-12:00"]}))
        later = world.ask(lambda app: app.engine.calendars.resolved("default"))
        assert not is_working(later["office"], at("10:00"))
        assert is_working(known["office"], at("10:00")), "a value does not change"
        assert world.ask(_known)["office"] is later["office"]
        world.down_for(hours=1)
        assert world.ask(_known)["office"].version == later["office"].version
        assert "office" not in world.ask(lambda app: app.engine.calendars.resolved("other"))


def test_a_large_calendar_is_read_and_resolved_in_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only what a calendar costs decides, so that small ones wait for no thread."""
    costs: list[int] = []

    async def read(_: LargeDocuments, size: int, work: Callable[[], Any], **__: Any) -> Any:  # noqa: ANN401
        costs.append(size)
        return work()

    monkeypatch.setattr(LargeDocuments, "read", read)
    with Clockwork() as world:
        save(world, office())
        assert max(costs) < LARGE
        rules = [{"country": country} for country in ("DE", "FR", "IT", "PL", "SE", "FI", "GB")]
        dates = [{"date": f"{year}-07-01"} for year in range(1000, 5000)]
        save(world, office(holidays=rules, dates=dates))
        assert max(costs) >= LARGE
        costs.clear()
        save(world, {"id": "heir", "extends": "office"})
        assert max(costs) >= LARGE


def test_others_hear_of_a_change_before_it_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread may have the work of others, and no decision reads the store again meanwhile."""
    seen: list[str] = []
    read, put, hint = LargeDocuments.read, StoredCalendars.put, MemoryMembers.hint
    mark = StoredCalendars.mark

    async def noted_read(self: LargeDocuments, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        if not named.get("may_refuse", True):
            seen.append("resolved")
            for _ in range(3):
                await calendars[0].refresh()
        return await read(self, *given, **named)

    async def noted_put(self: StoredCalendars, *given: Any) -> Any:  # noqa: ANN401
        seen.append("stored")
        return await put(self, *given)

    async def noted_hint(self: MemoryMembers, ids: Collection[str]) -> None:
        seen.append("told")
        await hint(self, ids)

    async def noted_mark(self: StoredCalendars) -> Any:  # noqa: ANN401
        if seen:
            seen.append("looked")
        return await mark(self)

    async def engine_of(app: Tenuto) -> EngineCalendars:
        return app.engine.calendars

    monkeypatch.setattr(calendar_values, "_DATE", LARGE)
    with Clockwork() as world:
        calendars = [world.ask(engine_of)]
        monkeypatch.setattr(LargeDocuments, "read", noted_read)
        for name, noted in (("put", noted_put), ("mark", noted_mark)):
            monkeypatch.setattr(StoredCalendars, name, noted)
        monkeypatch.setattr(MemoryMembers, "hint", noted_hint)
        save(world, office(dates=[{"date": "2026-07-01"}]))
        assert seen[:4] == ["stored", "told", "resolved", "looked"]
        assert seen[4:].count("looked") <= 1


def test_calendars_that_did_not_change_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(row: CalendarRow) -> Calendar:
        read.append(row.id)
        return calendar_of(row)

    with Clockwork() as world:
        save(world, office(dates=[{"date": "2030-01-01"}]))
        monkeypatch.setattr(calendar_values, "calendar_of", counted)
        for number in range(5):
            save(world, office(id=f"other-{number}"))
        assert read == []
        assert len(world.ask(_known)) == 6
        world.down_for(hours=1)
        assert len(world.ask(_known)) == 6
        assert read == [], "a new process reads none before it is asked for"
        for _ in range(2):
            assert is_working(world.ask(_known)["office"], at("10:00"))
        assert read == ["office"]
        save(world, {"id": "heir", "extends": "other-1"})
        assert read == ["office", "other-1"], "only those that a new one extends"


def test_a_change_is_taken_over_while_a_thread_reads_calendars() -> None:
    """Threads read and resolve calendars of the value that the loop makes the next one of."""
    rows = {id: _row(office(id=id)) for id in ("a", "b", "c", "d")}
    before = Resolved(rows, 2026)
    unread = iter(rows)

    class ReadMeanwhile(dict[str, CalendarRow]):
        def get(self, id: str, *given: Any) -> Any:  # noqa: ANN401
            other = next(unread, None)
            if other is not None:
                thread = threading.Thread(target=before.__getitem__, args=(other,))
                thread.start()
                thread.join()
            return super().get(id, *given)

    assert is_working(before[next(unread)], at("10:00"))
    after = before.with_rows(ReadMeanwhile(rows))
    assert is_working(after["d"], at("10:00"))


def test_holidays_of_a_country_are_asked_for_once() -> None:
    rules = [{"country": country} for country in ("DE", "FR")]
    with Clockwork() as world:
        holidays_of.cache_clear()
        save(world, office(holidays=rules))
        for number in range(3):
            save(world, {"id": f"heir-{number}", "extends": "office"})
        save(world, office(holidays=rules, name="Changed"))
        assert holidays_of.cache_info().misses == 2


def _row(document: dict[str, Any]) -> CalendarRow:
    return CalendarRow(
        tenant="default",
        id=document["id"],
        version=1,
        document=msgspec.json.encode(document),
        created_at=at("00:00"),
        created_by=None,
    )


async def _usage(app: Any) -> Any:  # noqa: ANN401
    return app.engine.usage.shown()


async def _changed_elsewhere(app: Any) -> bool:  # noqa: ANN401
    """Another process makes a version of a calendar, and sends no heartbeat."""
    store = app.engine.store
    row = await store.calendars.get("default", "office-3")
    other = msgspec.json.encode(office(id="office-3", week=WEEK | {"thu": ["11:00-12:00"]}))
    assert await store.calendars.put(replace(row, version=row.version + 1, document=other))
    await app.engine.calendars.look()
    return True


async def _removed(id: str, app: Any) -> None:  # noqa: ANN401
    await app.engine.calendars.remove("default", id, by="ada")


async def _known(app: Any) -> Any:  # noqa: ANN401
    return app.engine.calendars.known("default")


def test_reading_holidays_leaves_the_warning_filters_of_other_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The filters are one list for the process, and calendars are read in a thread."""
    ask = holidays.country_holidays

    def asked(*args: Any, **how: Any) -> object:  # noqa: ANN401
        warnings.filterwarnings("ignore", "of another thread")
        return ask(*args, **how)

    monkeypatch.setattr(holidays, "country_holidays", asked)
    holidays_of.cache_clear()
    with warnings.catch_warnings():
        # Beyond what the library knows of some religions: its warning would be an error here.
        assert holidays_of(HolidayRule(country="IN"), range(2040, 2041))
        assert holidays_of(HolidayRule(country="IN"), range(2041, 2042))
        assert warnings.filters[0][1] == re.compile("of another thread", re.IGNORECASE)
        count = len(warnings.filters)
        assert holidays_of(HolidayRule(country="IN"), range(2042, 2043))
        assert len(warnings.filters) == count


def test_a_changed_calendar_moves_the_ticks_of_its_schedules() -> None:
    """A changed calendar moves the next times of its schedules, and of those of calendars that
    extend it, in the transaction that saves it.
    """
    bridge = {"date": "2026-01-02", "hours": [], "name": "bridge"}
    with Clockwork() as world:
        save(world, office(dates=[bridge]))
        save(world, {"id": "branch", "extends": "office", "dates": []})
        world.save("s", calendar="office", cron="0 10 * * *")
        world.save("of-branch", calendar="branch", cron="0 10 * * *")
        world.skip(hours=12)
        assert world.row().next_tick == at("10:00", day=5)
        save(world, office())
        world.skip(seconds=1)
        for id in ("s", "of-branch"):
            assert world.row(id).next_tick == at("10:00", day=2)
        world.skip(days=1)
        for id in ("s", "of-branch"):
            assert [each.nominal for each in world.ticks("started", id=id)] == [
                at("10:00"),
                at("10:00", day=2),
            ]


def test_a_tick_that_the_calendar_moves_before_the_save_is_not_started() -> None:
    with Clockwork() as world:
        save(world, office())
        world.skip(days=2, hours=12)
        world.save(calendar="office", cron="0 10 * * *", onNonWorking="previous")
        world.skip(minutes=1)
        assert world.ticks() == []
        assert world.row().next_tick == at("10:00", day=5)


def test_a_calendar_that_skips_all_times_from_now_on_is_an_error_that_heals() -> None:
    """A search for the next start ends at its budget: the schedule says so, and is not over."""
    with Clockwork() as world:
        save(world, office())
        world.save(calendar="office", cron="0 10 * * *")
        world.skip(hours=12)
        early = {day: ["06:00-08:00"] for day in WEEK}
        save(world, office(week=early))
        world.skip(seconds=1)
        row = world.row()
        assert (row.status, row.next_tick) == ("error", None)
        assert row.problem is not None
        assert "office skips all its times until" in row.problem
        assert row.next_at is not None, "it is looked at again"
        save(world, office())
        world.skip(seconds=1)
        row = world.row()
        assert (row.status, row.problem) == ("active", None)
        assert row.next_tick == at("10:00", day=2)
        world.skip(days=1)
        assert minutes(world.ticks("started")) == [600, 1_440 + 600]


def test_of_many_calendars_those_are_read_that_a_question_is_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each question about working time read all calendars of the tenant: 20 MB, at its quota."""
    with Clockwork() as world:
        for id in ("base", *(f"other-{number}" for number in range(20))):
            save(world, office(id=id))
        save(world, {"id": "middle", "extends": "base"})
        save(world, {"id": "leaf", "extends": "middle"})
        read = list[str]()

        def noted(row: CalendarRow) -> Calendar:
            read.append(row.id)
            return calendar_of(row)

        monkeypatch.setattr(calendar_values, "calendar_of", noted)
        monkeypatch.setattr(StoredCalendars, "page", None)
        span = world.ask(lambda app: app.calendars.add("leaf", at("10:00"), "PT1H"))
        assert span.working_time == "PT1H"
        assert sorted(read) == ["base", "leaf", "middle"]
