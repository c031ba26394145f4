import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const CORE = import.meta.dirname;
const files = readdirSync(CORE, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
);
const source = (file: string) => readFileSync(join(CORE, file), "utf8");

test("the core imports itself and the layout library, and nothing else", () => {
  const foreign = files.flatMap((file) =>
    [...source(file).matchAll(/^(?:import|export)\s+(?:[^;"]*?\bfrom\s+)?"([^"]+)";|\bimport\("([^"]+)"\)/gm)]
      .map((found) => (found[1] ?? found[2]) as string)
      .filter((name) =>
        name.startsWith(".")
          ? relative(CORE, resolve(CORE, dirname(file), name)).startsWith("..")
          : name !== "@dagrejs/dagre" || file !== "layout.ts",
      )
      .map((name) => `${file}: ${name}`),
  );
  expect(foreign).toEqual([]);
});

test("the core uses neither the network nor the page, the clock or chance", () => {
  const names = /\b(fetch|window|document|localStorage|sessionStorage|WebSocket|XMLHttpRequest|setTimeout)\b\s*[.(]/;
  const ambient = /\bDate\.now\(|new Date\(\)|Math\.random\(|performance\.|process\./;
  const wrong = files.filter((file) => {
    const code = source(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    return names.test(code) || ambient.test(code);
  });
  expect(wrong).toEqual([]);
});
