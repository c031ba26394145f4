/** The live socket: one connection for the whole page, which instances and the inbox are watched on.
 *
 * What it promises: after any disturbance a watcher has either got every message after the entry that it knows, in order and
 * once, or was asked to read again (`onResync`). Entries that make no message have numbers too, so a jump of `seq` is no gap:
 * a gap is a join that begins after the entry that was asked for.
 */

export type LiveState =
  | { kind: "idle" }
  | { kind: "connecting" }
  | { kind: "live"; roundTripMs: number | null }
  | { kind: "polling"; everyMs: number; why: string }
  | { kind: "refused"; why: string };

export interface NodeUpdate {
  event: "workflow_node_update";
  seq: number;
  instanceID: string;
  nodeID: string;
  iteration: string;
  status: string;
  output?: unknown;
  error?: unknown;
}

export interface StatusUpdate {
  event: "workflow_status_update";
  seq: number;
  instanceID: string;
  status: string;
  contextData?: unknown;
}

export type Update = NodeUpdate | StatusUpdate;

/** A message of the socket itself. */
interface Said {
  event: "workflow_run_joined" | "workflow_run_left" | "workflow_run_dropped" | "inbox_joined" | "inbox_left" | "inbox_update" | "pong" | "error";
  instanceID?: string;
  cursor?: number;
  code?: string;
  message?: string;
  /** Of an error: the kind of message that was refused. */
  about?: string;
}

export interface Watcher {
  /** The last entry that is known: messages after it are sent. */
  since: number;
  onUpdate(update: Update): void;
  /** Something may be missing: read again what is shown. Also called regularly while there is no socket. */
  onResync(): void;
  /** The service refuses to show the instance, such as one that was erased. */
  onRefused?(code: string, message: string): void;
}

/** The part of WebSocket that is used, so that tests can give their own. */
export interface Socket {
  send(text: string): void;
  close(): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
}

export interface LiveWorld {
  open(key: string | null): Socket;
  key(): string | null;
  /** The key is not valid any more. */
  onRefused(key: string | null): void;
  onState(state: LiveState): void;
  now(): number;
  random(): number;
  /** Calls once, later; returns what prevents it. */
  after(ms: number, then: () => void): () => void;
}

export const HEARTBEAT_MS = 15_000;
export const POLL_MS = 3_000;
/** A connection that is not open after so long never will be, such as through a proxy that drops it. */
export const OPEN_MS = 10_000;
/** A join that was refused may succeed so much later, such as where the store was away. */
export const JOIN_AGAIN_MS = 5_000;
/** What is refused each time is asked for less and less often: it may be gone for ever. */
const MOST_JOIN_AGAIN_MS = 60_000;
const FIRST_BACK_OFF_MS = 250;
const MOST_BACK_OFF_MS = 15_000;
/** After so many failures in a row the page says that it polls. */
export const FAILURES_BEFORE_POLLING = 3;
const UNAUTHENTICATED = 4401;
const FORBIDDEN = 4403;

interface Watched {
  since: number;
  /** The service has answered that it tells what happens. */
  isJoined: boolean;
  again: Again;
  watchers: Set<Watcher>;
}

/** How a join that was refused is asked for again. */
interface Again {
  /** In a row. */
  refusals: number;
  /** It will be: another refusal is no reason to ask more often. */
  cancel: (() => void) | null;
}

const neverRefused = (): Again => ({ refusals: 0, cancel: null });

function cancelAgain(again: Again): void {
  again.cancel?.();
  again.cancel = null;
}

function noteJoined(again: Again): void {
  cancelAgain(again);
  again.refusals = 0;
}

/** What is asked for with a join, so that something is missing where it is refused. */
const JOINS: ReadonlySet<string> = new Set(["workflow_run_join", "inbox_join"]);

export class Live {
  private readonly world: LiveWorld;
  private readonly watched = new Map<string, Watched>();
  private readonly inboxWatchers = new Set<() => void>();
  private isInboxJoined = false;
  private readonly inboxAgain = neverRefused();
  private socket: Socket | null = null;
  private isOpen = false;
  private isStarted = false;
  private failures = 0;
  private pingedAt: number | null = null;
  private cancelRetry: (() => void) | null = null;
  private cancelBeat: (() => void) | null = null;
  private cancelOpening: (() => void) | null = null;
  private cancelPoll: (() => void) | null = null;

  constructor(world: LiveWorld) {
    this.world = world;
  }

  /** Connect, and stay connected until `stop`. */
  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.failures = 0;
    this.connect();
  }

  stop(): void {
    this.isStarted = false;
    this.forget();
    this.cancelRetry?.();
    this.cancelRetry = null;
    this.stopPolling();
    this.world.onState({ kind: "idle" });
  }

  /** Try at once, such as when the page becomes visible or the network is back. */
  retryNow(): void {
    if (!this.isStarted || this.socket !== null) return;
    this.cancelRetry?.();
    this.connect();
  }

  /** Follow an instance; returns how to stop. */
  watch(instanceId: string, watcher: Watcher): () => void {
    const known = this.watched.get(instanceId);
    if (known === undefined) {
      this.watched.set(instanceId, { since: watcher.since, isJoined: false, again: neverRefused(), watchers: new Set([watcher]) });
      this.join(instanceId);
    } else {
      known.watchers.add(watcher);
      // An earlier place needs messages that have already gone by.
      if (watcher.since < known.since) watcher.onResync();
    }
    return () => {
      const now = this.watched.get(instanceId);
      now?.watchers.delete(watcher);
      if (now?.watchers.size !== 0) return;
      cancelAgain(now.again);
      this.watched.delete(instanceId);
      if (this.isOpen) this.socket?.send(JSON.stringify({ event: "workflow_run_leave", runId: instanceId }));
    };
  }

  /** Learn that events came in, or may have; returns how to stop. */
  watchInbox(onChange: () => void): () => void {
    this.inboxWatchers.add(onChange);
    if (this.inboxWatchers.size === 1) this.joinInbox();
    return () => {
      if (!this.inboxWatchers.delete(onChange) || this.inboxWatchers.size > 0) return;
      cancelAgain(this.inboxAgain);
      if (this.isOpen) this.socket?.send(JSON.stringify({ event: "inbox_leave" }));
    };
  }

  // -- the connection

  private connect(): void {
    this.cancelRetry = null;
    if (this.failures < FAILURES_BEFORE_POLLING) this.world.onState({ kind: "connecting" });
    const key = this.world.key();
    let socket: Socket;
    try {
      socket = this.world.open(key);
    } catch {
      this.failed("The browser could not open the socket.");
      return;
    }
    this.socket = socket;
    socket.onopen = () => this.opened();
    socket.onmessage = ({ data }) => this.take(data);
    socket.onclose = ({ code }) => this.closed(code, key);
    this.cancelOpening = this.world.after(OPEN_MS, () => {
      this.forget();
      this.failed("The socket was not opened in time.");
    });
  }

  private opened(): void {
    this.isOpen = true;
    this.cancelOpening?.();
    this.failures = 0;
    this.stopPolling();
    this.world.onState({ kind: "live", roundTripMs: null });
    for (const id of this.watched.keys()) this.join(id);
    this.joinInbox();
    this.beat();
  }

  private closed(code: number, key: string | null): void {
    this.forget();
    if (!this.isStarted) return;
    if (code === UNAUTHENTICATED) {
      this.world.onState({ kind: "refused", why: "The key is not valid any more." });
      this.isStarted = false;
      this.world.onRefused(key);
      // There is a newer key: that this one has ended is no reason to stay away.
      if (this.world.key() !== key) this.start();
    } else if (code === FORBIDDEN) {
      this.failures = FAILURES_BEFORE_POLLING;
      this.failed("The key may not watch instances.");
    } else {
      this.failed("The socket was closed: a proxy may not forward Upgrade, or the service is away.");
    }
  }

  private failed(why: string): void {
    this.failures += 1;
    if (this.failures >= FAILURES_BEFORE_POLLING) {
      this.world.onState({ kind: "polling", everyMs: POLL_MS, why });
      this.poll();
    } else {
      this.world.onState({ kind: "connecting" });
    }
    const longest = Math.min(FIRST_BACK_OFF_MS * 2 ** this.failures, MOST_BACK_OFF_MS);
    this.cancelRetry = this.world.after(longest * (0.5 + this.world.random() / 2), () => this.connect());
  }

  /** Drop the socket without a word to it: its late events must not count. */
  private forget(): void {
    this.isOpen = false;
    this.isInboxJoined = false;
    this.pingedAt = null;
    this.cancelBeat?.();
    this.cancelBeat = null;
    this.cancelOpening?.();
    this.cancelOpening = null;
    // Whatever is wanted is joined at the next socket's opening.
    for (const { again } of this.watched.values()) cancelAgain(again);
    cancelAgain(this.inboxAgain);
    const socket = this.socket;
    this.socket = null;
    if (socket === null) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  /** A socket that does not answer is dead, whatever the browser believes. */
  private beat(): void {
    this.cancelBeat = this.world.after(HEARTBEAT_MS, () => {
      if (this.pingedAt !== null) {
        this.forget();
        this.failed("The socket does not answer.");
        return;
      }
      this.pingedAt = this.world.now();
      this.socket?.send(JSON.stringify({ event: "ping" }));
      this.beat();
    });
  }

  // -- without a socket

  private poll(): void {
    if (this.cancelPoll !== null) return;
    this.resync();
    const again = () => {
      this.cancelPoll = this.world.after(POLL_MS, () => {
        this.resync();
        again();
      });
    };
    again();
  }

  private stopPolling(): void {
    this.cancelPoll?.();
    this.cancelPoll = null;
  }

  private resync(): void {
    for (const { watchers } of this.watched.values()) for (const watcher of [...watchers]) watcher.onResync();
    this.tellInbox();
  }

  // -- messages

  private joinInbox(): void {
    if (!this.isOpen || this.inboxWatchers.size === 0) return;
    this.isInboxJoined = false;
    cancelAgain(this.inboxAgain);
    this.socket?.send(JSON.stringify({ event: "inbox_join" }));
  }

  private tellInbox(): void {
    for (const each of [...this.inboxWatchers]) each();
  }

  private join(id: string): void {
    const known = this.watched.get(id);
    if (!this.isOpen || known === undefined) return;
    known.isJoined = false;
    cancelAgain(known.again);
    this.socket?.send(JSON.stringify({ event: "workflow_run_join", runId: id, since: known.since }));
  }

  private take(data: unknown): void {
    const message = parsed(data);
    if (message === null) return;
    switch (message.event) {
      case "workflow_node_update":
      case "workflow_status_update":
        return this.update(message);
      case "workflow_run_joined":
        return this.joined(message);
      case "inbox_joined":
        this.isInboxJoined = true;
        noteJoined(this.inboxAgain);
        // What came in before is not told.
        return this.tellInbox();
      case "inbox_update":
        return this.tellInbox();
      case "pong": {
        const { pingedAt } = this;
        this.pingedAt = null;
        if (pingedAt !== null) this.world.onState({ kind: "live", roundTripMs: this.world.now() - pingedAt });
        return;
      }
      case "error":
        return this.refused(message);
      default:
        // A message that this version does not know: what it says is in the log too.
        return;
    }
  }

  private update(update: Update): void {
    const known = this.watched.get(update.instanceID);
    // What came before comes again after a reconnection.
    if (known === undefined || update.seq <= known.since) return;
    known.since = update.seq;
    for (const watcher of [...known.watchers]) watcher.onUpdate(update);
  }

  private joined(said: Said): void {
    const known = this.watched.get(said.instanceID ?? "");
    if (known === undefined) return;
    known.isJoined = true;
    noteJoined(known.again);
    if (said.cursor === undefined || said.cursor === known.since) return;
    // The service begins elsewhere than asked: later (a gap), or earlier (its log is shorter than what was shown).
    known.since = said.cursor;
    for (const watcher of [...known.watchers]) watcher.onResync();
  }

  /** What was refused is asked for again later, while it is wanted. Of an error that does not say what it is about, that is
   * everything that has no answer yet. */
  private refused(said: Said): void {
    // It was left already, or a ping was refused: nothing is missing.
    if (said.about !== undefined && !JOINS.has(said.about)) return;
    const id = said.instanceID;
    if (id !== undefined) {
      const known = this.watched.get(id);
      if (known === undefined) return;
      this.joinAgain(id, known);
      for (const watcher of [...known.watchers]) watcher.onRefused?.(said.code ?? "", said.message ?? "");
      return;
    }
    if (said.about !== "inbox_join") for (const [each, known] of this.watched) if (!known.isJoined) this.joinAgain(each, known);
    if (said.about === "inbox_join" || (said.about === undefined && !this.isInboxJoined)) this.joinInboxAgain();
  }

  private joinAgain(id: string, known: Watched): void {
    known.isJoined = false;
    this.later(known.again, () => this.join(id));
  }

  private joinInboxAgain(): void {
    this.isInboxJoined = false;
    if (this.inboxWatchers.size > 0) this.later(this.inboxAgain, () => this.joinInbox());
  }

  /** A join, a leave or an answer in the meantime cancels it. */
  private later(again: Again, join: () => void): void {
    if (again.cancel !== null) return;
    again.refusals += 1;
    again.cancel = this.world.after(joinAgainMs(again.refusals), () => {
      again.cancel = null;
      join();
    });
  }
}

const joinAgainMs = (refusals: number): number => Math.min(JOIN_AGAIN_MS * 2 ** (refusals - 1), MOST_JOIN_AGAIN_MS);

function parsed(data: unknown): Update | Said | null {
  if (typeof data !== "string") return null;
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null && "event" in value ? (value as Update | Said) : null;
  } catch {
    return null;
  }
}
