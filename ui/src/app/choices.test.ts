import { expect, test } from "vitest";

import { choices } from "./choices";

const all = ["Instances", "Dead letters", "Theme: dark"].map((label) => ({ label, kind: "Page", run: () => undefined }));
const labels = (text: string) => choices(all, text, () => undefined).map(({ label }) => label);

test.each([
  ["", ["Instances", "Dead letters", "Theme: dark"]],
  ["let dead", ["Dead letters"]],
  [" 01a1ea06-7f67-75a1-8b68-bbe502aabf40 ", ["Open instance 01a1ea06-7f67-75a1-8b68-bbe502aabf40"]],
  ["nothing of it", []],
])("%j offers %j", (text, offered) => expect(labels(text)).toEqual(offered));
