import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";

import { basePath } from "../../api/base";
import { useFreshInstance } from "../../api/liveHooks";
import { CHECK_MS, read, send, useAct } from "../../api/queries";
import type { PageProps } from "../../app/pages";
import { shortId } from "../../core/ids";
import { decode, encode, oneOf, path, text, type Codec } from "../../core/url";
import { contentOf, type WidgetAnswer } from "../../core/widget";
import { useParameters } from "../../kit/address";
import { Button } from "../../kit/Button";
import { Field, TextInput } from "../../kit/Field";
import { Moment } from "../../kit/Moment";
import { Page, Section } from "../../kit/Page";
import { Select } from "../../kit/Select";
import { Snippet } from "../../kit/Snippet";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { draw } from "../../widget/draw";
import styles from "./styles.module.css";
import { configOf, embedCode, FORMATS, TYPES, type WidgetWish } from "./wish";

const WISH: Codec<WidgetWish> = { type: oneOf(TYPES, "number"), path: text("output"), format: text(), names: text(), x: text() };
const TERMS: readonly (readonly [string, string])[] = [
  ["1", "a day"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
];

/** Makes a widget of a value of an instance: a preview, and a token for pages elsewhere. What it shows is in the URL. */
export default function WidgetPage({ params }: PageProps) {
  const id = params["id"] ?? "";
  const search = useParameters();
  const [, setSearch] = useSearchParams();
  const wish = decode(WISH, search);
  const change = (part: Partial<WidgetWish>) => setSearch(() => encode(WISH, { ...decode(WISH, new URLSearchParams(window.location.search)), ...part }), { replace: true });
  const crumbs = [
    { label: "Instances", href: "/instances" },
    { label: shortId(id), href: path("instances", id) },
  ];
  return (
    <Page title="Widget" crumbs={crumbs}>
      <div className={styles["sides"]}>
        <Section title="What it shows">
          <Wish wish={wish} change={change} />
        </Section>
        <div>
          <Section title="Preview">
            <Preview id={id} wish={wish} />
          </Section>
          <Section title="Embed">
            <Embed key={JSON.stringify(wish)} id={id} wish={wish} />
          </Section>
        </div>
      </div>
    </Page>
  );
}

function Wish({ wish, change }: { wish: WidgetWish; change: (part: Partial<WidgetWish>) => void }) {
  const formats = FORMATS[wish.type];
  return (
    <Stack>
      <Field label="Type">{(ids) => <Select {...ids} value={wish.type} options={TYPES.map((type) => [type, type] as const)} onChange={(event) => change({ type: event.target.value as WidgetWish["type"] })} />}</Field>
      <Field label="Value" help="The path of a value of the instance: output.total, input.customer, a variable.">
        {(ids) => <TextInput {...ids} value={wish.path} onChange={(event) => change({ path: event.target.value })} />}
      </Field>
      {formats.length > 0 && (
        <Field label="Format">{(ids) => <Select {...ids} value={formats.includes(wish.format) ? wish.format : (formats[0] ?? "")} options={formats.map((format) => [format, format] as const)} onChange={(event) => change({ format: event.target.value })} />}</Field>
      )}
      {(wish.type === "table" || wish.type === "chart") && (
        <Field label={wish.type === "table" ? "Columns" : "Lines"} help="Paths within an item, separated by commas; empty: all that there are.">
          {(ids) => <TextInput {...ids} value={wish.names} onChange={(event) => change({ names: event.target.value })} />}
        </Field>
      )}
      {wish.type === "chart" && (
        <Field label="Horizontal" help="The path within an item; empty: their order.">
          {(ids) => <TextInput {...ids} value={wish.x} onChange={(event) => change({ x: event.target.value })} />}
        </Field>
      )}
    </Stack>
  );
}

/** The words of a wish once they have rested: not every letter is asked for. */
function useRested<T>(value: T, ms: number): T {
  const [rested, setRested] = useState(value);
  const name = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(JSON.parse(name) as T), ms);
    return () => clearTimeout(timer);
  }, [name, ms]);
  return rested;
}

function Preview({ id, wish }: { id: string; wish: WidgetWish }) {
  const asked = useRested(wish, 300);
  const instance = useQuery(read("/api/v1/instances/{id}", { path: { id } }));
  useFreshInstance(id, instance.data?.version ?? null);
  const shaped = useQuery({
    queryKey: ["/api/v1/instances/{id}/widget", { path: { id } }, asked],
    queryFn: () => send("post", "/api/v1/instances/{id}/widget", { path: { id }, body: { widgetType: asked.type, widgetConfig: configOf(asked) } }),
    // Its changes come by the socket; this is for what is lost on its way.
    refetchInterval: CHECK_MS,
  });
  if (shaped.isPending) return <Loading label="Loading the preview" />;
  if (shaped.data === undefined) return <ErrorState isInline error={shaped.error} onRetry={() => void shaped.refetch()} />;
  const { error, ...answer } = shaped.data;
  return <Drawn answer={{ ...answer, ...(error === undefined ? {} : { error }), widgetType: asked.type, title: asked.path, format: asked.format }} />;
}

function Drawn({ answer }: { answer: WidgetAnswer }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current !== null) draw(place.current, answer.title, contentOf(answer));
  });
  return <div ref={place} className={styles["preview"]} />;
}

function Embed({ id, wish }: { id: string; wish: WidgetWish }) {
  const [days, setDays] = useState("30");
  const make = useAct(() => send("post", "/api/v1/instances/{id}/widget-tokens", { path: { id }, body: { widgetType: wish.type, widgetConfig: configOf(wish), days: Number(days) } }));
  const url = make.data === undefined ? "" : `${window.location.origin}${basePath}${make.data.path}`;
  return (
    <Stack>
      <p>A token shows this value to everyone who has it, and nothing else. It ends by itself, and with the key that made it.</p>
      <div className={styles["make"]}>
        <label>
          Valid for
          <Select value={days} options={TERMS} onChange={(event) => setDays(event.target.value)} />
        </label>
        <Button look="primary" isPending={make.isPending} onClick={() => make.mutate(undefined)}>
          Make a token
        </Button>
      </div>
      {make.error !== null && <ErrorState isInline error={make.error} />}
      {make.data !== undefined && (
        <>
          <p>
            It is shown this once, and valid until <Moment at={make.data.expiresAt} />.
          </p>
          <Snippet label="Address" text={url} />
          <Snippet label="Embed code" text={embedCode(url)} />
        </>
      )}
    </Stack>
  );
}
