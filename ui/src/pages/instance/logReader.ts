import { readAgainMs, send } from "../../api/queries";
import type { Json } from "../../core/json";
import type { LogEntry } from "../../core/log";
import { makeStore, type Store } from "../../state/store";
import { EMPTY, firstOf, isWhole, lastOf, withPage, type LogWindow } from "./model/window";

/** The first page is small, so that it is there at once. */
const FIRST_PAGE = 200;
const PAGE = 1_000;
/** A log of so many entries is read whole without being asked to: it can be replayed. */
export const READ_BY_ITSELF = 10_000;
/** The most entries that are held. */
export const MOST_HELD = 150_000;

export interface ReadLog {
  window: LogWindow;
  /** Entries of the whole log, as far as is known. */
  length: number;
  isReading: boolean;
  /** The whole log is being read, because it is short or because it was asked for. */
  isReadingAll: boolean;
  error: unknown;
}

interface PageQuery {
  order?: "asc" | "desc";
  after?: number;
  limit: number;
}

type ReadPage = (query: PageQuery) => Promise<LogEntry[]>;

const pagesOf =
  (id: string): ReadPage =>
  async (query) => {
    const answer = await send("get", "/api/v1/instances/{id}/history", { path: { id }, query });
    return answer.items.map((item) => ({ ...item, payload: item.payload as Json }));
  };

/** Reads the log of one instance: its newest entries first, then older ones as they are wanted.
 *
 * Newer entries that are asked for are always read: what was wished while something was read is read after it, and what could not be
 * read is read again, unless it is refused for good. */
export class LogReader {
  readonly state: Store<ReadLog> = makeStore<ReadLog>({ window: EMPTY, length: 0, isReading: true, isReadingAll: false, error: null });
  private readonly read: ReadPage;
  private isClosed = false;
  private isBusy = false;
  private wantsNewer = false;
  private wantsOlder = false;
  private again: ReturnType<typeof setTimeout> | null = null;

  constructor(id: string, read: ReadPage = pagesOf(id)) {
    this.read = read;
  }

  open(): void {
    this.isClosed = false;
    this.newer();
  }

  close(): void {
    this.isClosed = true;
    this.forgetAgain();
  }

  /** What has been written since: called whenever something happened. */
  newer(): void {
    this.wantsNewer = true;
    void this.work();
  }

  /** Whether there is more, without a reason to think so. */
  look(): void {
    const { error } = this.state.get();
    // What is refused for good, such as an erased one, is so until it is opened anew: each look would be a line of the audit log.
    if (error !== null && readAgainMs(error) === false) return;
    this.wantsNewer = true;
    void this.work({ isShown: false });
  }

  older(): void {
    this.wantsOlder = true;
    void this.work();
  }

  /** The whole log, as far as it may be held. */
  all(): void {
    this.change({ isReadingAll: true });
    void this.work();
  }

  private async work({ isShown } = { isShown: true }): Promise<void> {
    if (this.isBusy || this.isClosed) return;
    this.isBusy = true;
    this.forgetAgain();
    if (isShown) this.change({ isReading: true });
    try {
      for (;;) {
        if (this.wantsNewer) {
          this.wantsNewer = false;
          await this.tryNewer();
        } else if (this.canReadOlder() && (this.wantsOlder || this.state.get().isReadingAll)) {
          this.wantsOlder = false;
          await this.readOlder();
        } else break;
        if (this.isClosed) return;
      }
      this.change({ error: null });
    } catch (error) {
      this.wantsOlder = false;
      this.change({ error, isReadingAll: false });
      this.readAgain(readAgainMs(error));
      return;
    } finally {
      this.isBusy = false;
      this.change({ isReading: false });
    }
    // A request from a listener that has just heard that all is read.
    if (this.wantsNewer) void this.work();
  }

  private async tryNewer(): Promise<void> {
    try {
      await this.readNewer();
    } catch (error) {
      // A wish that came meanwhile may have another reason to succeed, such as another key.
      const isWishedAgain = this.wantsNewer && readAgainMs(error) === false;
      // What came meanwhile is still to be read, by the next wish of any kind.
      this.wantsNewer = true;
      if (!isWishedAgain || this.isClosed) throw error;
    }
  }

  /** Nothing else may happen to the instance that would be a reason to read. */
  private readAgain(ms: number | false): void {
    if (this.isClosed || ms === false) return;
    this.again = setTimeout(() => this.newer(), ms);
  }

  private forgetAgain(): void {
    if (this.again !== null) clearTimeout(this.again);
    this.again = null;
  }

  private canReadOlder(): boolean {
    const { window } = this.state.get();
    return firstOf(window) > 1 && window.entries.length < MOST_HELD;
  }

  private async readNewer(): Promise<void> {
    const last = lastOf(this.state.get().window);
    if (last === 0) {
      const page = await this.read({ order: "desc", limit: FIRST_PAGE });
      const length = page[0]?.seq ?? 0;
      this.take(page, length);
      if (length <= READ_BY_ITSELF) this.change({ isReadingAll: true });
      return;
    }
    const page = await this.read({ after: last, limit: PAGE });
    this.take(page, page.at(-1)?.seq ?? last);
    if (page.length > 0) this.wantsNewer = true;
  }

  private async readOlder(): Promise<void> {
    this.take(await this.read({ order: "desc", after: firstOf(this.state.get().window), limit: PAGE }), 0);
    if (isWhole(this.state.get().window) || !this.canReadOlder()) this.change({ isReadingAll: false });
  }

  private take(page: readonly LogEntry[], length: number): void {
    const before = this.state.get();
    this.change({ window: withPage(before.window, page), length: Math.max(before.length, length) });
  }

  private change(next: Partial<ReadLog>): void {
    if (!this.isClosed) this.state.set({ ...this.state.get(), ...next });
  }
}
