/** Calendars: a year as months of days, and the document as a form of texts. */

import { asArray, asObject, asText, texts, type JsonObject } from "./json";

export interface Day {
  date: string;
  hours: readonly string[];
  kind: string;
  name?: string | null;
}

/** How a day is drawn. */
export type DayLook = "working" | "off" | "holiday" | "date" | "short";

export interface ShownDay {
  date: string;
  /** 1 to 31. */
  number: number;
  look: DayLook;
  /** "Thu 24 Dec 2026: Christmas Eve, 09:00–12:00". */
  words: string;
  name: string | null;
}

export interface Month {
  /** "2026-10". */
  id: string;
  title: string;
  /** Weeks from Monday to Sunday; null: a day of another month. */
  weeks: readonly (readonly (ShownDay | null)[])[];
  workingDays: number;
}

export const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const SHORT = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"] as const;

/** The months of days that follow each other, such as those of a year. */
export function monthsOf(days: readonly Day[]): Month[] {
  const usual = usualHours(days);
  const months: { id: string; title: string; weeks: (ShownDay | null)[][]; workingDays: number }[] = [];
  for (const day of days) {
    const [year, month, number] = day.date.split("-").map(Number) as [number, number, number];
    const id = day.date.slice(0, 7);
    let last = months.at(-1);
    if (last?.id !== id) {
      last = { id, title: `${MONTHS[month - 1] ?? ""} ${year}`, weeks: [], workingDays: 0 };
      months.push(last);
    }
    const weekday = weekdayOf(year, month, number);
    let week = last.weeks.at(-1);
    if (week === undefined || weekday === 0) {
      week = Array.from({ length: 7 }, () => null);
      last.weeks.push(week);
    }
    const look = lookOf(day, usual.get(weekday));
    if (day.hours.length > 0) last.workingDays += 1;
    const when = `${SHORT[weekday]} ${number} ${(MONTHS[month - 1] ?? "").slice(0, 3)} ${year}`;
    week[weekday] = { date: day.date, number, look, words: `${when}: ${dayWords(day)}`, name: day.name ?? null };
  }
  return months;
}

/** Monday is 0. */
export function weekdayOf(year: number, month: number, day: number): number {
  return (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
}

/** The hours of the weekday itself, as far as a day without an exception shows them. */
function usualHours(days: readonly Day[]): Map<number, string> {
  const found = new Map<number, string>();
  for (const { date, hours, kind } of days) {
    const [year, month, number] = date.split("-").map(Number) as [number, number, number];
    if (kind === "week") found.set(weekdayOf(year, month, number), hours.join());
  }
  return found;
}

function lookOf({ kind, hours }: Day, usual: string | undefined): DayLook {
  if (kind === "week") return hours.length > 0 ? "working" : "off";
  if (hours.length > 0) return hours.join() === usual ? "working" : "short";
  return kind === "holiday" ? "holiday" : "date";
}

/** "Christmas Eve, 09:00–12:00", "not a working day". */
export function dayWords({ hours, name }: Day): string {
  const open = hours.length === 0 ? "not a working day" : hours.map((each) => each.replace("-", "–")).join(", ");
  return name == null || name === "" ? open : `${name}, ${open}`;
}

/** The days of a year that are not as their weekday is: holidays and dates of its own. */
export const exceptions = (days: readonly Day[]): Day[] => days.filter(({ kind }) => kind !== "week");

// -- the document

export interface CalendarDraft {
  id: string;
  name: string;
  timezone: string;
  extends: string;
  /** By weekday: "09:00-12:00, 13:00-17:00", or "closed"; empty: as in the calendar that it extends. */
  week: Readonly<Record<(typeof WEEKDAYS)[number], string>>;
  /** "DE, DE-BE". */
  holidays: string;
  /** A line each: "2026-12-24 09:00-12:00 Christmas Eve"; without hours it is a day off. */
  dates: string;
  description: string;
}

const NO_WEEK = { mon: "", tue: "", wed: "", thu: "", fri: "", sat: "", sun: "" } as const;
const OFFICE = "09:00-17:00";
const CLOSED = "closed";

export const newCalendar = (timezone: string): CalendarDraft => ({
  id: "",
  name: "",
  timezone,
  extends: "",
  week: { ...NO_WEEK, mon: OFFICE, tue: OFFICE, wed: OFFICE, thu: OFFICE, fri: OFFICE },
  holidays: "",
  dates: "",
  description: "",
});

export function calendarDraftOf(saved: unknown): CalendarDraft {
  const given = asObject(saved);
  const week = asObject(given["week"]);
  return {
    id: asText(given["id"]) ?? "",
    name: asText(given["name"]) ?? "",
    timezone: asText(given["timezone"]) ?? "",
    extends: asText(given["extends"]) ?? "",
    week: Object.fromEntries(WEEKDAYS.map((day) => [day, hoursText(week[day])])) as CalendarDraft["week"],
    holidays: asArray(given["holidays"]).map(asObject).map(holidayText).join(", "),
    dates: asArray(given["dates"]).map(asObject).map(dateText).join("\n"),
    description: asText(asObject(given["metadata"])["description"]) ?? "",
  };
}

/** A day without hours is closed, also where the calendar that is extended has some. */
const hoursText = (hours: unknown): string => (Array.isArray(hours) && hours.length === 0 ? CLOSED : texts(hours).join(", "));

/** "DE", "DE-BE", "US-CA:public+bank". */
function holidayText(rule: JsonObject): string {
  const place = [asText(rule["country"]), asText(rule["subdivision"])].filter(Boolean).join("-");
  const categories = texts(rule["categories"]);
  return categories.length === 0 ? place : `${place}:${categories.join("+")}`;
}

function dateText(rule: JsonObject): string {
  return [asText(rule["date"]) ?? "", ...texts(rule["hours"]), asText(rule["name"]) ?? ""].filter(Boolean).join(" ");
}

/** The document of a form; what is empty is left out, and what is wrong is left to the service. */
export function calendarOf(draft: CalendarDraft): JsonObject {
  const document: JsonObject = {};
  for (const name of ["id", "name", "timezone", "extends"] as const) if (draft[name].trim() !== "") document[name] = draft[name].trim();
  const week = WEEKDAYS.flatMap((day) => (draft.week[day].trim() === "" ? [] : [[day, hoursOf(draft.week[day])] as const]));
  if (week.length > 0) document["week"] = Object.fromEntries(week);
  const holidays = split(draft.holidays).map((text) => {
    const [place = "", categories] = text.split(":");
    const [country = "", ...rest] = place.split("-");
    return { country, ...(rest.length === 0 ? {} : { subdivision: rest.join("-") }), ...(categories === undefined ? {} : { categories: categories.split("+") }) };
  });
  if (holidays.length > 0) document["holidays"] = holidays;
  const dates = draft.dates.split("\n").flatMap((line) => (line.trim() === "" ? [] : [dateOf(line.trim())]));
  if (dates.length > 0) document["dates"] = dates;
  if (draft.description.trim() !== "") document["metadata"] = { description: draft.description.trim() };
  return document;
}

const split = (text: string): string[] => text.split(",").flatMap((each) => (each.trim() === "" ? [] : [each.trim()]));

const hoursOf = (text: string): string[] => (text.trim().toLowerCase() === CLOSED ? [] : split(text));

function dateOf(line: string): JsonObject {
  const [date = "", ...words] = line.split(/\s+/);
  const first = words.findIndex((word) => !/^\d\d:\d\d-\d\d:\d\d,?$/.test(word));
  const hours = (first < 0 ? words : words.slice(0, first)).map((word) => word.replace(/,$/, ""));
  const name = first < 0 ? "" : words.slice(first).join(" ");
  return { date, hours, ...(name === "" ? {} : { name }) };
}

/** "Mon–Fri 09:00–17:00": the week in a few words. */
export function weekWords(week: Readonly<Record<string, readonly string[]>>): string {
  const spans: { from: number; to: number; hours: string }[] = [];
  WEEKDAYS.forEach((day, place) => {
    const hours = (week[day] ?? []).map((each) => each.replace("-", "–")).join(", ");
    const last = spans.at(-1);
    if (last !== undefined && last.hours === hours && last.to === place - 1) last.to = place;
    else spans.push({ from: place, to: place, hours });
  });
  const words = spans.filter(({ hours }) => hours !== "").map(({ from, to, hours }) => `${SHORT[from]}${from === to ? "" : `–${SHORT[to]}`} ${hours}`);
  return words.join("; ") || "no working hours of its own";
}
