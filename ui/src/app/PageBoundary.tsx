import { Component, type ReactNode } from "react";
import { useLocation } from "wouter";

import { Button } from "../kit/Button";
import { ErrorState } from "../kit/States";

/** A page that breaks leaves the frame usable, and goes away with the next page. */
export function PageBoundary({ children }: { children: ReactNode }) {
  const [place] = useLocation();
  return <Boundary place={place}>{children}</Boundary>;
}

interface State {
  error: unknown;
  place: string;
}

class Boundary extends Component<{ place: string; children: ReactNode }, State> {
  override state: State = { error: null, place: this.props.place };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps({ place }: { place: string }, state: State): State | null {
    return place === state.place ? null : { error: null, place };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    // After an update of the service the files of an open page are gone: a reload has the new ones.
    const isOld = error instanceof TypeError && /import|module|fetch/i.test(error.message);
    return (
      <div role="region" aria-label="Error">
        <ErrorState error={isOld ? new Error("A part of this page could not be loaded: the service may have been updated.") : error} />
        <div style={{ padding: "0 24px" }}>
          <Button onClick={() => window.location.reload()}>Load the page again</Button>
        </div>
      </div>
    );
  }
}
