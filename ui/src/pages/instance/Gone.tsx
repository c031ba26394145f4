import { Link } from "wouter";

import type { ApiProblem } from "../../api/problem";
import { Page } from "../../kit/Page";
import { Prose } from "../../kit/Prose";
import { EmptyState } from "../../kit/States";
import { shortId } from "../../core/ids";

/** There is no such instance: it was erased, is another tenant's, or never was. */
export function Gone({ id, error, wasShown }: { id: string; error: ApiProblem; wasShown: boolean }) {
  return (
    <Page title="No such instance" crumbs={[{ label: "Instances", href: "/instances" }]} heading={shortId(id)}>
      <EmptyState
        title={wasShown ? "This instance was erased while it was shown" : "There is no such instance"}
        action={<Link href={`/instances?q=${encodeURIComponent(id)}`}>Search the instances for this id</Link>}
        command="tenuto list"
      >
        <p>
          <code>{error.code}</code> <Prose text={error.message} />
        </p>
        <p>It may have been erased after its retention, belong to another tenant, or be a test run that was stopped. <Prose text={error.advice} /></p>
      </EmptyState>
    </Page>
  );
}
