import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";

const css = readFileSync(resolve(import.meta.dirname, "../src/styles/tokens.css"), "utf8");

function roles(block: string): Map<string, string> {
  return new Map([...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)].map((found) => [found[1] ?? "", found[2] ?? ""]));
}

const [light = "", dark = "", system = ""] = css.split(/\n(?=\[data-theme="dark"\]|@media)/).map(String).filter((part) => part.includes("--surface:"));
const THEMES = { light: roles(light), dark: roles(dark) };

function luminance(colour: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

const TONES = ["neutral", "blue", "violet", "amber", "green", "red", "orange", "slate"];
const SURFACES = ["surface", "surface-sunken", "surface-raised", "surface-hover"];
const TEXT = ["text", "text-muted", "text-faint", "accent"].flatMap((text) => SURFACES.map((surface) => [text, surface] as const));
const ON_TONES = TONES.flatMap((tone) => [[tone, `${tone}-soft`] as const, [tone, "surface"] as const]);
const SELECTED = [["text", "surface-selected"], ["text-muted", "surface-selected"], ["accent-text", "accent"]] as const;

describe.each(Object.entries(THEMES))("%s", (_, theme) => {
  test.each([...TEXT, ...ON_TONES, ...SELECTED])("%s on %s is read easily", (text, surface) => {
    expect(contrast(theme.get(text) ?? "", theme.get(surface) ?? "")).toBeGreaterThanOrEqual(4.5);
  });
  test.each(TONES)("a box that is %s is seen from far away", (tone) => {
    expect(contrast(theme.get(tone) ?? "", theme.get("surface-sunken") ?? "")).toBeGreaterThanOrEqual(4.5);
  });
  test.each(["focus", "border-strong"])("%s is seen", (role) => {
    for (const surface of SURFACES) expect(contrast(theme.get(role) ?? "", theme.get(surface) ?? "")).toBeGreaterThanOrEqual(3);
  });
});

test("the system's dark theme is the dark theme", () => {
  expect([...roles(system)]).toEqual([...THEMES.dark]);
});
