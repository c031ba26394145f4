import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const SOURCE = resolve(import.meta.dirname, "../src");
/** A folder imports only itself and those before it. */
const ORDER = ["core", "state", "api", "kit", "app", "pages"];

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
const text = (file: string): string => readFileSync(join(SOURCE, file), "utf8");

function imports(file: string): string[] {
  return [...text(file).matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((found) => found[1] ?? "");
}

test("a folder imports only those below it", () => {
  const wrong = files.flatMap((file) => {
    const [from = ""] = file.split("/");
    const targets = imports(file)
      .filter((name) => name.startsWith("."))
      .map((name) => relative(SOURCE, resolve(SOURCE, dirname(file), name)).split("/")[0] ?? "");
    return targets
      .filter((to) => ORDER.includes(from) && ORDER.indexOf(to) > ORDER.indexOf(from))
      .map((to) => `${file} imports ${to}`);
  });
  expect(wrong).toEqual([]);
});

test("a page imports no other page", () => {
  const wrong = files
    .filter((file) => file.startsWith("pages/"))
    .filter((file) => {
      const own = file.split("/").slice(0, 2).join("/");
      return imports(file).some((name) => {
        const target = relative(SOURCE, resolve(SOURCE, dirname(file), name));
        return name.startsWith(".") && target.startsWith("pages/") && !target.startsWith(own);
      });
    });
  expect(wrong).toEqual([]);
});

test("the core knows neither React nor the network nor the page", () => {
  const wrong = files
    .filter((file) => file.startsWith("core/") && !file.endsWith(".test.ts"))
    .filter((file) => imports(file).some((name) => /^react|query|wouter|^node:/.test(name)) || /\b(fetch|document|window|localStorage)\b[.(]/.test(text(file)));
  expect(wrong).toEqual([]);
});

test("text of the service never becomes markup", () => {
  const wrong = files.filter((file) => /dangerouslySetInnerHTML|\.innerHTML|insertAdjacentHTML|document\.write|\beval\(/.test(text(file)));
  expect(wrong).toEqual([]);
});
