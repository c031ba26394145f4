import { Link, useLocation } from "wouter";

import { EmptyState } from "../kit/States";
import { Page } from "../kit/Page";

export function NotFound() {
  const [place] = useLocation();
  return (
    <Page title="Not found">
      <EmptyState title="There is no such page" action={<Link href="/">Go to the first page</Link>}>
        <code>{place}</code> leads nowhere. The link may be old, or of another version.
      </EmptyState>
    </Page>
  );
}
