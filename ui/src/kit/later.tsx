import { lazy, useState, type ComponentType } from "react";

export type Later<P> = ComponentType<P> & {
  /** Load it before it is shown; where that fails, it says so when it is shown. */
  fetch: () => Promise<void>;
};

/**
 * A part that is loaded when it is first shown. One that was fetched before is drawn at once, without a
 * fallback: React holds back for 300 ms what takes the place of one.
 */
export function later<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): Later<P> {
  let loaded: ComponentType<P> | null = null;
  const loading = () =>
    load().then((found) => {
      loaded = found.default;
      return found;
    });
  const Lazy = lazy(loading) as unknown as ComponentType<P>;
  function Part(props: P) {
    const [Shown] = useState(() => loaded ?? Lazy);
    return <Shown {...props} />;
  }
  return Object.assign(Part, {
    fetch: () =>
      loading().then(
        () => undefined,
        () => undefined,
      ),
  });
}
