import { Component, type ReactNode } from "react";

import { ErrorState } from "../../kit/States";

/** A part that cannot be drawn leaves the others usable. */
export class PartBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    return this.state.error === null ? this.props.children : <ErrorState error={this.state.error} onRetry={() => this.setState({ error: null })} />;
  }
}
