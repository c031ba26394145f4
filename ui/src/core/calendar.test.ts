import { expect, test } from "vitest";

import { calendarDraftOf, calendarOf, exceptions, monthsOf, newCalendar, weekdayOf, weekWords, type Day } from "./calendar";

function year(of: number, change: (date: string) => Partial<Day> = () => ({})): Day[] {
  const days: Day[] = [];
  for (let at = Date.UTC(of, 0, 1); new Date(at).getUTCFullYear() === of; at += 86_400_000) {
    const date = new Date(at).toISOString().slice(0, 10);
    const isOff = [0, 6].includes(new Date(at).getUTCDay());
    days.push({ date, hours: isOff ? [] : ["09:00-17:00"], kind: "week", ...change(date) });
  }
  return days;
}

test.each([2024, 2025, 2026, 2027])("the months of %d have every day once, at its weekday", (of) => {
  const months = monthsOf(year(of));
  expect(months).toHaveLength(12);
  const dates = months.flatMap((month) => month.weeks.flat().flatMap((day) => (day === null ? [] : [day.date])));
  expect(dates).toEqual(year(of).map(({ date }) => date));
  for (const month of months) {
    for (const week of month.weeks) {
      expect(week).toHaveLength(7);
      week.forEach((day, place) => day !== null && expect(weekdayOf(of, Number(month.id.slice(5)), day.number)).toBe(place));
    }
  }
});

test("holidays, dates of its own and short days look and read differently", () => {
  const days = year(2026, (date) => {
    if (date === "2026-10-05") return { hours: [], kind: "holiday", name: "A holiday" };
    if (date === "2026-12-24") return { hours: ["09:00-12:00"], kind: "date", name: "Christmas Eve" };
    if (date === "2026-12-28") return { hours: [], kind: "date" };
    return {};
  });
  const all = new Map(monthsOf(days).flatMap((month) => month.weeks.flat().flatMap((day) => (day === null ? [] : [[day.date, day] as const]))));
  expect(["2026-10-05", "2026-12-24", "2026-12-28", "2026-10-06", "2026-10-04"].map((date) => all.get(date)?.look)).toEqual(["holiday", "short", "date", "working", "off"]);
  expect(all.get("2026-12-24")?.words).toBe("Thu 24 Dec 2026: Christmas Eve, 09:00–12:00");
  expect(all.get("2026-12-28")?.words).toBe("Mon 28 Dec 2026: not a working day");
  expect(exceptions(days)).toHaveLength(3);
  expect(monthsOf(days)[9]?.workingDays).toBe(21);
});

test("a saved calendar is the same after it was in the form", () => {
  const saved = {
    id: "bank",
    name: "Bank",
    timezone: "Europe/Berlin",
    extends: "base",
    week: { mon: ["09:00-12:00", "13:00-17:00"], sat: ["10:00-12:00"] },
    holidays: [{ country: "DE", subdivision: "BE" }, { country: "US", categories: ["public", "bank"] }],
    dates: [
      { date: "2026-12-24", hours: ["09:00-12:00"], name: "Christmas Eve" },
      { date: "2026-12-28", hours: [] },
    ],
    metadata: { description: "why" },
  };
  expect(calendarOf(calendarDraftOf(saved))).toEqual(saved);
});

test("a weekday that is closed stays closed, where the extended calendar has hours", () => {
  const saved = { id: "kid", extends: "base", week: { mon: [], sat: ["10:00-14:00"] } };
  const draft = calendarDraftOf(saved);
  expect([draft.week.mon, draft.week.tue]).toEqual(["closed", ""]);
  expect(calendarOf(draft)).toEqual(saved);
  expect(calendarOf({ ...draft, week: { ...draft.week, tue: " Closed " } })["week"]).toEqual({ ...saved.week, tue: [] });
});

test("a new calendar has office hours, and its week in words", () => {
  const document = calendarOf(newCalendar("Europe/Berlin"));
  expect(weekWords(document["week"] as Record<string, string[]>)).toBe("Mon–Fri 09:00–17:00");
  expect(weekWords({ mon: ["09:00-12:00"], wed: ["09:00-12:00"] })).toBe("Mon 09:00–12:00; Wed 09:00–12:00");
  expect(weekWords({})).toBe("no working hours of its own");
});
