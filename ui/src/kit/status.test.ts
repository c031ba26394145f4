import { expect, test } from "vitest";

import { statusLook } from "./status";

test.each(["SOMETHING_NEW", "constructor", ""])("the unknown status %j is drawn neutrally and as it is", (status) => {
  expect(statusLook(status)).toEqual({ word: status || "Unknown", tone: "neutral", mark: "unknown" });
});
