import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";

import { read } from "../../api/queries";
import type { PageProps } from "../../app/pages";
import { exampleValue, formOf, initialValue } from "../../core/form";
import { laidOut, writeText } from "../../core/jsonText";
import { asObject, type Json } from "../../core/json";
import { useParameters } from "../../kit/address";
import { Page } from "../../kit/Page";
import { ErrorState, Loading } from "../../kit/States";
import { workflowHref } from "./links";
import { StartForm } from "./StartForm";

/** Start an instance. `?input=` fills the form in, or `?from=` with the input of another instance. */
export default function StartPage({ params }: PageProps) {
  const id = params["id"] ?? "";
  const [, setSearch] = useSearchParams();
  const search = useParameters();
  const version = /^\d{1,9}$/.test(search.get("version") ?? "") ? Number(search.get("version")) : null;
  const from = search.get("from");
  const workflow = useQuery(read("/api/v1/workflows/{id}", { path: { id }, ...(version === null ? {} : { query: { version } }) }));
  const newest = useQuery(read("/api/v1/workflows/{id}", { path: { id } }));
  const past = useQuery({ ...read("/api/v1/instances/{id}", { path: { id: from ?? "" } }), enabled: from !== null });
  const crumbs = [
    { label: "Workflows", href: "/workflows" },
    { label: workflow.data?.name ?? id, href: workflowHref(id) },
  ];
  const schema = asObject(workflow.data?.definition)["inputSchema"];
  const set = (name: string, value: string | null) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === null) next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  return (
    <Page title={`Start ${workflow.data?.name ?? id}`} heading="Start" crumbs={crumbs}>
      {workflow.isPending || (from !== null && past.isPending) ? (
        <Loading label="Loading the workflow" />
      ) : workflow.data === undefined ? (
        <ErrorState error={workflow.error} onRetry={() => void workflow.refetch()} />
      ) : (
        <StartForm
          // Another instance, or another link, fills the form in anew.
          key={`${from ?? ""} ${search.get("input") ?? ""}`}
          workflow={id}
          schema={schema}
          version={version}
          newest={newest.data?.version ?? workflow.data.version}
          first={firstText(schema, search.get("input"), past.data === undefined ? undefined : (asObject(past.data)["input"] ?? null))}
          example={writeText(exampleValue(formOf(schema)) ?? {})}
          initial={{ key: search.get("key") ?? "", correlationId: search.get("correlationId") ?? "", priority: search.get("priority") ?? "", deadline: search.get("deadline") ?? "" }}
          view={search.get("as") ?? "form"}
          onView={(view) => set("as", view === "form" ? null : view)}
          onVersion={(next) => set("version", next === null ? null : String(next))}
          onFrom={(instance) => set("from", instance)}
          pastError={past.error}
        />
      )}
    </Page>
  );
}

function firstText(schema: Json | undefined, given: string | null, past: Json | undefined): string {
  if (given !== null) return laidOut(given);
  if (past !== undefined) return writeText(past);
  return writeText(initialValue(formOf(schema)) ?? {});
}
