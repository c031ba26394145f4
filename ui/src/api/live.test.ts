import { beforeEach, describe, expect, test } from "vitest";

import { FAILURES_BEFORE_POLLING, HEARTBEAT_MS, JOIN_AGAIN_MS, Live, OPEN_MS, POLL_MS, type LiveState, type Socket, type Update } from "./live";

/** A socket whose other end is the test. */
class FakeSocket implements Socket {
  sent: Record<string, unknown>[] = [];
  isClosed = false;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {
    this.isClosed = true;
  }
  says(...messages: object[]): void {
    for (const message of messages) this.onmessage?.({ data: JSON.stringify(message) });
  }
  breaks(code = 1006): void {
    this.onclose?.({ code, reason: "" });
  }
  get joins() {
    return this.sent.filter(({ event }) => event === "workflow_run_join");
  }
}

/** A service and a clock that move when the test says so. */
class World {
  sockets: FakeSocket[] = [];
  states: LiveState[] = [];
  refused: (string | null)[] = [];
  key: string | null = "a-key";
  time = 0;
  timersMade = 0;
  private timers: { at: number; then: () => void }[] = [];
  readonly live = new Live({
    open: () => {
      const socket = new FakeSocket();
      this.sockets.push(socket);
      return socket;
    },
    key: () => this.key,
    onRefused: (key) => this.refused.push(key),
    onState: (state) => this.states.push(state),
    now: () => this.time,
    random: () => 1,
    after: (ms, then) => {
      const timer = { at: this.time + ms, then };
      this.timers.push(timer);
      this.timersMade += 1;
      return () => void (this.timers = this.timers.filter((each) => each !== timer));
    },
  });

  get socket(): FakeSocket {
    const last = this.sockets.at(-1);
    if (last === undefined) throw new Error("no socket was opened");
    return last;
  }
  get state(): string {
    return this.states.at(-1)?.kind ?? "none";
  }
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((timer) => timer.at <= end).sort((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = next.at;
      next.then();
    }
    this.time = end;
  }
  watch(since: number, id = "i1") {
    const seen: number[] = [];
    const told = { seen, resyncs: 0, refusals: [] as string[] };
    const stop = this.live.watch(id, {
      since,
      onUpdate: (update: Update) => seen.push(update.seq),
      onResync: () => (told.resyncs += 1),
      onRefused: (code) => told.refusals.push(code),
    });
    return { ...told, told, stop };
  }
}

const update = (seq: number) => ({ event: "workflow_node_update", seq, instanceID: "i1", nodeID: "n", iteration: "", status: "RUNNING" });
const joined = (cursor: number) => ({ event: "workflow_run_joined", instanceID: "i1", cursor });

let world: World;
beforeEach(() => {
  world = new World();
});

describe("a watcher gets every message once and in order", () => {
  test("from the entry that it knows", () => {
    world.live.start();
    const { told } = world.watch(7);
    world.socket.onopen?.();
    expect(world.socket.joins).toEqual([{ event: "workflow_run_join", runId: "i1", since: 7 }]);
    world.socket.says(joined(7), update(8), update(11));
    expect(told).toMatchObject({ seen: [8, 11], resyncs: 0 });
  });

  test("duplicates and late ones are dropped", () => {
    world.live.start();
    const { told } = world.watch(0);
    world.socket.onopen?.();
    world.socket.says(joined(0), update(1), update(3), update(3), update(2), update(4));
    expect(told.seen).toEqual([1, 3, 4]);
  });

  test("a join that begins after the asked entry is a gap: it reads again", () => {
    world.live.start();
    const { told } = world.watch(5);
    world.socket.onopen?.();
    world.socket.says(joined(9), update(10));
    expect(told).toMatchObject({ seen: [10], resyncs: 1 });
  });

  test("so is a log that is shorter than what was shown", () => {
    world.live.start();
    const { told } = world.watch(50);
    world.socket.onopen?.();
    world.socket.says(joined(3), update(4));
    expect(told).toMatchObject({ seen: [4], resyncs: 1 });
  });

  test("a second watcher with an earlier place reads what has gone by", () => {
    world.live.start();
    world.watch(0);
    world.socket.onopen?.();
    world.socket.says(joined(0), update(5));
    expect(world.watch(2).told.resyncs).toBe(1);
  });
});

describe("a broken connection", () => {
  test("is opened anew, and joins go on where they were", () => {
    world.live.start();
    const { told } = world.watch(0);
    world.socket.onopen?.();
    world.socket.says(joined(0), update(1), update(2));
    world.socket.breaks();
    expect(world.state).toBe("connecting");
    world.pass(1_000);
    expect(world.sockets).toHaveLength(2);
    world.socket.onopen?.();
    expect(world.socket.joins).toMatchObject([{ since: 2 }]);
    world.socket.says(joined(2), update(2), update(3));
    expect(told).toMatchObject({ seen: [1, 2, 3], resyncs: 0 });
    expect(world.state).toBe("live");
  });

  test("that is silent is noticed by the missing pong", () => {
    world.live.start();
    world.socket.onopen?.();
    world.pass(HEARTBEAT_MS);
    expect(world.socket.sent).toEqual([{ event: "ping" }]);
    world.pass(HEARTBEAT_MS);
    expect(world.sockets[0]?.isClosed).toBe(true);
    expect(world.state).toBe("connecting");
  });

  test("a pong keeps it, and says how long it took", () => {
    world.live.start();
    world.socket.onopen?.();
    world.pass(HEARTBEAT_MS);
    world.time += 12;
    world.socket.says({ event: "pong" });
    expect(world.states.at(-1)).toEqual({ kind: "live", roundTripMs: 12 });
  });

  test("that stays away is replaced by polling, which says so and ends with the socket", () => {
    world.live.start();
    const { told } = world.watch(0);
    for (let failures = 0; failures < FAILURES_BEFORE_POLLING; failures++) {
      world.socket.breaks();
      if (failures < FAILURES_BEFORE_POLLING - 1) world.pass(2_000);
    }
    expect(world.states.at(-1)).toMatchObject({ kind: "polling", everyMs: POLL_MS });
    expect(told.resyncs).toBe(1);
    world.pass(POLL_MS);
    expect(told.resyncs).toBe(2);
    world.socket.onopen?.();
    expect(world.state).toBe("live");
    world.pass(POLL_MS * 3);
    expect(told.resyncs).toBe(2);
  });

  test("that never opens is given up, and opened anew", () => {
    world.live.start();
    world.pass(OPEN_MS);
    expect(world.sockets[0]?.isClosed).toBe(true);
    world.pass(1_000);
    expect(world.sockets).toHaveLength(2);
    world.socket.onopen?.();
    world.pass(OPEN_MS);
    expect([world.sockets.length, world.state]).toEqual([2, "live"]);
  });

  test("waits longer each time, and not for ever", () => {
    world.live.start();
    const waits: number[] = [];
    for (let failures = 0; failures < 9; failures++) {
      const [opened, before] = [world.sockets.length, world.time];
      world.socket.breaks();
      while (world.sockets.length === opened) world.pass(50);
      waits.push(world.time - before);
    }
    expect(waits.slice(0, 3)).toEqual([500, 1_000, 2_000]);
    expect(Math.max(...waits)).toBe(15_000);
  });
});

test("a key that is not valid any more asks for another, and does not try again", () => {
  world.live.start();
  world.socket.onopen?.();
  world.socket.breaks(4401);
  world.pass(60_000);
  expect(world.refused).toEqual(["a-key"]);
  expect(world.sockets).toHaveLength(1);
  world.live.start();
  expect(world.sockets).toHaveLength(2);
});

test("the end of an earlier key is none of a newer one: it connects again", () => {
  world.live.start();
  world.socket.onopen?.();
  const { told } = world.watch(4);
  world.key = "a-newer-key";
  world.socket.breaks(4401);
  expect(world.sockets).toHaveLength(2);
  world.socket.onopen?.();
  world.socket.says(joined(4), update(5));
  expect(told.seen).toEqual([5]);
});

test("a refusal that does not say what it is about is one of every join without an answer", () => {
  world.live.start();
  const { told } = world.watch(3);
  world.live.watchInbox(() => undefined);
  world.socket.onopen?.();
  world.socket.says({ event: "error", code: "TEN-4290", message: "too many requests" });
  world.pass(JOIN_AGAIN_MS);
  const events = world.socket.sent.map(({ event }) => event);
  expect(events).toEqual(["workflow_run_join", "inbox_join", "workflow_run_join", "inbox_join"]);
  world.socket.says(joined(3), { event: "inbox_joined" }, update(4));
  world.socket.says({ event: "error", code: "TEN-4290", message: "too many requests" });
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.joins).toHaveLength(2);
  expect(told.seen).toEqual([4]);
});

test("a refusal that says what it is about is of that alone", () => {
  world.live.start();
  world.watch(3);
  world.live.watchInbox(() => undefined);
  world.socket.onopen?.();
  const sent = world.socket.sent.length;
  world.socket.says({ event: "error", about: "workflow_run_leave", instanceID: "i1", code: "TEN-2612" });
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.sent).toHaveLength(sent);
  world.socket.says({ event: "error", about: "inbox_join", code: "TEN-4290" });
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.sent.slice(sent)).toEqual([{ event: "inbox_join" }]);
});

test("a refusal of what joins nothing joins nothing anew", () => {
  world.live.start();
  world.watch(3);
  world.live.watchInbox(() => undefined);
  world.socket.onopen?.();
  const sent = world.socket.sent.length;
  for (const about of ["ping", "workflow_run_leave", "inbox_leave", "from_the_future"]) world.socket.says({ event: "error", about, code: "TEN-4290" });
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.sent).toHaveLength(sent);
});

test("refusals that come together make one timer for each instance and one for the inbox, and one join each", () => {
  world.live.start();
  for (let number = 0; number < 50; number += 1) world.watch(0, `i${number}`);
  world.socket.onopen?.();
  const before = world.timersMade;
  for (let number = 0; number < 50; number += 1) world.socket.says({ event: "error", code: "TEN-4290" });
  expect(world.timersMade - before).toBe(50);
  world.live.watchInbox(() => undefined);
  for (let number = 0; number < 50; number += 1) world.socket.says({ event: "error", code: "TEN-4290" });
  expect(world.timersMade - before).toBe(51);
  const sent = world.socket.sent.length;
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.sent.slice(sent).map(({ event }) => event).sort()).toEqual(["inbox_join", ...Array<string>(50).fill("workflow_run_join")]);
  // Refused again: later than at first, and not for the number of errors that told it.
  world.socket.says({ event: "error", code: "TEN-4290" }, { event: "error", code: "TEN-4290" });
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.joins).toHaveLength(100);
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.joins).toHaveLength(150);
});

test("an instance that cannot be shown is said to its watcher alone", () => {
  world.live.start();
  const { told } = world.watch(0);
  world.socket.onopen?.();
  world.socket.says({ event: "error", instanceID: "i1", code: "TEN-2041", message: "no such instance" });
  expect(told.refusals).toEqual(["TEN-2041"]);
});

test("an instance that could not be shown is joined again, while it is watched", () => {
  world.live.start();
  const { stop } = world.watch(3);
  world.socket.onopen?.();
  world.socket.says({ event: "error", instanceID: "i1", code: "TEN-4000", message: "the store is away" });
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.joins).toMatchObject([{ since: 3 }, { since: 3 }]);
  world.socket.says({ event: "error", instanceID: "i1", code: "TEN-4000", message: "the store is away" });
  stop();
  world.pass(JOIN_AGAIN_MS);
  expect(world.socket.joins).toHaveLength(2);
});

test("the last watcher that goes leaves the instance", () => {
  world.live.start();
  world.socket.onopen?.();
  const [one, other] = [world.watch(0), world.watch(0)];
  one.stop();
  expect(world.socket.sent.some(({ event }) => event === "workflow_run_leave")).toBe(false);
  other.stop();
  expect(world.socket.sent.at(-1)).toEqual({ event: "workflow_run_leave", runId: "i1" });
});

test("what cannot be read, or is not known, does no harm", () => {
  world.live.start();
  const { told } = world.watch(0);
  world.socket.onopen?.();
  for (const data of ["{", "null", "7", new ArrayBuffer(2)]) world.socket.onmessage?.({ data });
  world.socket.says({ event: "from_the_future", instanceID: "i1" }, joined(0), update(1));
  expect(told.seen).toEqual([1]);
});

test("stopping closes the socket, and its late events count for nothing", () => {
  world.live.start();
  const { socket } = world;
  socket.onopen?.();
  world.live.stop();
  socket.breaks();
  world.pass(60_000);
  expect([socket.isClosed, world.sockets.length, world.state]).toEqual([true, 1, "idle"]);
});

describe("the inbox", () => {
  test("is joined while it is watched, also after a break, and tells of news", () => {
    const world = new World();
    let told = 0;
    world.live.start();
    world.socket.onopen?.();
    const stop = world.live.watchInbox(() => (told += 1));
    expect(world.socket.sent.at(-1)).toEqual({ event: "inbox_join" });
    world.socket.says({ event: "inbox_joined" });
    expect(told).toBe(1);
    world.socket.says({ event: "inbox_update", eventID: "e1", pattern: "paid" });
    expect(told).toBe(2);
    world.socket.breaks();
    world.pass(HEARTBEAT_MS);
    world.socket.onopen?.();
    expect(world.socket.sent).toContainEqual({ event: "inbox_join" });
    stop();
    expect(world.socket.sent.at(-1)).toEqual({ event: "inbox_leave" });
  });

  test("is read again regularly while there is no socket", () => {
    const world = new World();
    let told = 0;
    world.live.watchInbox(() => (told += 1));
    world.live.start();
    for (let failure = 0; failure < FAILURES_BEFORE_POLLING; failure += 1) {
      world.socket.breaks();
      if (failure < FAILURES_BEFORE_POLLING - 1) world.pass(HEARTBEAT_MS);
    }
    expect(world.state).toBe("polling");
    expect(told).toBeGreaterThan(0);
  });
});
