import { QueryClient, type InvalidateOptions, type InvalidateQueryFilters, type Query, type QueryKey } from "@tanstack/react-query";

const nothing = () => undefined;

/** Whatever is said to be old is read after that moment, and read to its end.
 *
 * A read that is under way may have begun before the change, so that its answer is old as well: another one follows it. It is
 * not broken off, since what changes more often than it can be read would never be shown. */
export class FreshQueryClient extends QueryClient {
  private readonly following = new WeakMap<Query, Promise<unknown>>();

  override async invalidateQueries<TaggedQueryKey extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<TaggedQueryKey>,
    options: InvalidateOptions = {},
  ): Promise<void> {
    const underWay = filters?.refetchType === "none" ? [] : this.getQueryCache().findAll(filters).filter(({ state }) => state.fetchStatus !== "idle");
    const begun = super.invalidateQueries(filters, { cancelRefetch: false, ...options });
    await Promise.all([begun, ...underWay.map((query) => this.follow(query))]);
  }

  /** Read once more, after the read that is under way. */
  private follow(query: Query): Promise<unknown> {
    const awaited = this.following.get(query);
    if (awaited !== undefined) return awaited;
    const following = Promise.resolve(query.promise)
      .then(nothing, nothing)
      .then(async () => {
        this.following.delete(query);
        if (query.isActive() && !query.isStatic()) await query.fetch(undefined, { cancelRefetch: false }).then(nothing, nothing);
        // It has no observer: the next one reads it first.
        else query.invalidate();
      });
    this.following.set(query, following);
    return following;
  }
}
