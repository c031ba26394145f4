import { expect, test } from "vitest";
import { asCommand, asCurl, asPython, python, shell, type Action } from "./commands";

const OPEN = { url: "http://127.0.0.1:8484", needsKey: false };
const CLOSED = { url: "https://tenuto.example/flows", needsKey: true };
const START: Action = {
  kind: "start",
  workflow: "order",
  input: { id: 7, note: "it's", gift: true, to: null },
  key: "order-7",
};

test("a start can be sent by curl", () => {
  expect(asCurl(START, CLOSED)).toBe(
    [
      "curl -X POST https://tenuto.example/flows/api/v1/workflows/order/start \\",
      '  -H "authorization: Bearer $TENUTO_KEY" \\',
      "  -H 'content-type: application/json' \\",
      "  -H 'idempotency-key: order-7' \\",
      `  -d '{"input":{"id":7,"note":"it'\\''s","gift":true,"to":null}}'`,
    ].join("\n"),
  );
});

test("a start can be typed", () => {
  expect(asCommand(START, OPEN)).toBe(
    `tenuto start order --input '{"id":7,"note":"it'\\''s","gift":true,"to":null}' --key order-7 --server http://127.0.0.1:8484`,
  );
});

test("a start can be programmed", () => {
  expect(asPython(START, CLOSED)).toBe(
    [
      "import os",
      "",
      "from tenuto import SyncClient",
      "",
      'with SyncClient("https://tenuto.example/flows", key=os.environ["TENUTO_KEY"]) as client:',
      `    instance = client.start("order", {"id": 7, "note": "it's", "gift": True, "to": None}, key="order-7")`,
      "    print(instance.id)",
    ].join("\n"),
  );
});

const ACTIONS: Action[] = [
  START,
  { kind: "publish", pattern: "paid", payload: { a: 1 }, correlationId: "c", dryRun: true },
  { kind: "cancel", id: "i", reason: "twice", shouldCompensate: false },
  { kind: "pause", id: "i", reason: "wait" },
  { kind: "resume", id: "i" },
  { kind: "retry", id: "i" },
  { kind: "rerun", id: "i", fromStep: "ship", input: { a: [] } },
  { kind: "decide", id: "i", step: "review", iteration: "2", decision: "approved", by: "ann", form: { limit: 5 } },
];

test("every action can be written in each way", () => {
  expect(ACTIONS.map((action) => asCommand(action, OPEN).replace(` --server ${OPEN.url}`, ""))).toEqual([
    expect.stringContaining("tenuto start order"),
    `tenuto events send paid '{"a":1}' --correlation-id c --dry-run`,
    "tenuto cancel i --reason twice --no-compensation",
    "tenuto pause i --reason wait",
    "tenuto resume i",
    "tenuto retry i",
    `tenuto rerun i --from ship --input '{"a":[]}'`,
    `tenuto decide i review approved --by ann --form '{"limit":5}' --iteration 2`,
  ]);
  expect(ACTIONS.map((action) => asPython(action, OPEN).split("\n    ")[1])).toEqual([
    expect.stringContaining("client.start"),
    'print(client.publish("paid", {"a": 1}, correlation_id="c", dry_run=True))',
    'client.at("i").cancel("twice", should_compensate=False)',
    'client.at("i").pause("wait")',
    'client.at("i").resume()',
    'client.at("i").retry()',
    'print(client.at("i").rerun("ship", input={"a": []}).id)',
    'client.at("i").decide("review", "approved", by="ann", form={"limit": 5}, iteration="2")',
  ]);
  expect(ACTIONS.map((action) => asCurl(action, OPEN).split(" \\\n")[0])).toEqual([
    "curl -X POST http://127.0.0.1:8484/api/v1/workflows/order/start",
    "curl -X POST 'http://127.0.0.1:8484/api/v1/events?dryRun=true'",
    ...["cancel", "pause", "resume", "retry", "rerun"].map(
      (verb) => `curl -X POST http://127.0.0.1:8484/api/v1/instances/i/${verb}`,
    ),
    "curl -X POST http://127.0.0.1:8484/api/v1/instances/i/steps/review/decision",
  ]);
});

test("text from outside is one word of a shell, and one literal of Python", () => {
  expect(shell("$(rm -rf ~); `x` 'y'")).toBe(`'$(rm -rf ~); \`x\` '\\''y'\\'''`);
  expect(shell("")).toBe("''");
  expect(python('"\n\u202e\u2028')).toBe('"\\"\\n\\u202e\\u2028"');
  expect(asCommand({ kind: "start", workflow: "--store=x" }, OPEN)).toContain("start -- --store=x");
});
