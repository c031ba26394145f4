import { ApiProblem } from "../../api/problem";
import { READ_AGAIN_MS, send } from "../../api/queries";
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

/** Reads the log of one instance: its newest entries first, then older ones as they are wanted. */
export class LogReader {
  readonly state: Store<ReadLog> = makeStore<ReadLog>({ window: EMPTY, length: 0, isReading: true, isReadingAll: false, error: null });
  private readonly id: string;
  private isClosed = false;
  private isBusy = false;
  private wantsNewer = false;
  private again: ReturnType<typeof setTimeout> | null = null;

  constructor(id: string) {
    this.id = id;
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

  older(): void {
    void this.work("older");
  }

  /** The whole log, as far as it may be held. */
  all(): void {
    this.change({ isReadingAll: true });
    void this.work("older");
  }

  private async work(wish?: "older"): Promise<void> {
    if (this.isBusy || this.isClosed) return;
    this.isBusy = true;
    this.forgetAgain();
    this.change({ isReading: true });
    try {
      let wantsOlder = wish === "older";
      for (;;) {
        if (this.wantsNewer) {
          this.wantsNewer = false;
          try {
            await this.readNewer();
          } catch (error) {
            // What came meanwhile is still to be read, by the next wish of any kind.
            this.wantsNewer = true;
            throw error;
          }
        } else if (this.canReadOlder() && (wantsOlder || this.state.get().isReadingAll)) {
          wantsOlder = false;
          await this.readOlder();
        } else break;
        if (this.isClosed) return;
      }
      this.change({ error: null });
    } catch (error) {
      this.change({ error, isReadingAll: false });
      if (error instanceof ApiProblem && error.isTransient) this.readAgain(error);
    } finally {
      this.isBusy = false;
      this.change({ isReading: false });
    }
  }

  /** Nothing else may happen to the instance that would be a reason to read. */
  private readAgain({ retryAfter }: ApiProblem): void {
    if (this.isClosed) return;
    this.again = setTimeout(() => this.newer(), (retryAfter ?? 0) * 1_000 || READ_AGAIN_MS);
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
      const page = await this.page({ order: "desc", limit: FIRST_PAGE });
      const length = page[0]?.seq ?? 0;
      this.take(page, length);
      if (length <= READ_BY_ITSELF) this.change({ isReadingAll: true });
      return;
    }
    const page = await this.page({ after: last, limit: PAGE });
    this.take(page, page.at(-1)?.seq ?? last);
    if (page.length > 0) this.wantsNewer = true;
  }

  private async readOlder(): Promise<void> {
    this.take(await this.page({ order: "desc", after: firstOf(this.state.get().window), limit: PAGE }), 0);
    if (isWhole(this.state.get().window) || !this.canReadOlder()) this.change({ isReadingAll: false });
  }

  private async page(query: { order?: "asc" | "desc"; after?: number; limit: number }): Promise<LogEntry[]> {
    const answer = await send("get", "/api/v1/instances/{id}/history", { path: { id: this.id }, query });
    return answer.items.map((item) => ({ ...item, payload: item.payload as Json }));
  }

  private take(page: readonly LogEntry[], length: number): void {
    const before = this.state.get();
    this.change({ window: withPage(before.window, page), length: Math.max(before.length, length) });
  }

  private change(next: Partial<ReadLog>): void {
    if (!this.isClosed) this.state.set({ ...this.state.get(), ...next });
  }
}
