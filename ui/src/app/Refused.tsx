import type { ReactNode } from "react";

import { useMay, useMe } from "../api/me";
import { Page } from "../kit/Page";
import { EmptyState } from "../kit/States";

/** A page for those who may see it; others read what they lack. */
export function Refused({ permission, title, children }: { permission: string | undefined; title: string; children: ReactNode }) {
  const isAllowed = useMay(permission);
  const me = useMe();
  if (isAllowed || me === undefined) return children;
  return (
    <Page title={title}>
      <EmptyState title="Your key may not see this page">
        It needs the permission <code>{permission}</code>, which {me.principal?.name || "the key"}
        {me.principal?.role ? <> (role {me.principal.role})</> : null} lacks. Someone who manages keys can give it.
      </EmptyState>
    </Page>
  );
}
