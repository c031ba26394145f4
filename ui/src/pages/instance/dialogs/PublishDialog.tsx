import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { send } from "../../../api/queries";
import { counted } from "../../../core/format";
import type { Json } from "../../../core/json";
import { corrected, draftEvent, type SentEvent } from "../../../core/eventDraft";
import { atWait } from "../../../core/eventReach";
import { withValue } from "../../../core/form";
import { Button } from "../../../kit/Button";
import { CopyAs } from "../../../kit/CopyAs";
import { Dialog } from "../../../kit/Dialog";
import { FailedParts } from "../../../kit/FailedParts";
import { Field, TextInput } from "../../../kit/Field";
import { JsonEditor } from "../../../kit/JsonEditor";
import { visible } from "../../../kit/JsonView";
import { ErrorState, Loading } from "../../../kit/States";
import { useShared } from "../context";
import { isTestRun } from "../model/testRuns";
import { parsed } from "../model/text";
import styles from "../styles.module.css";
import { useCommand } from "./useCommand";

interface Props {
  step: string;
  iteration: string;
  pattern: string;
  /** An event that came near, to begin with. */
  eventId?: string;
  onClose: () => void;
}

/** Send the event that a wait needs: filled in so that it fits, checked by a dry run while it is edited. */
export default function PublishDialog({ step, iteration, pattern, eventId, onClose }: Props) {
  const { id, now, waits } = useShared();
  const wait = waits.find((each) => each.stepId === step && each.iteration === iteration && each.eventPattern === pattern);
  const isTest = isTestRun(now.definitionId);
  const [text, setText] = useState<string | null>(null);
  const [correlationId, setCorrelationId] = useState("");
  const first = useQuery({
    queryKey: ["first event", id, step, iteration, pattern, eventId],
    queryFn: () => firstDraft({ id, step, iteration, pattern, payload: draftEvent(pattern, wait?.eventCondition ?? null, now).payload, isTest, ...(eventId === undefined ? {} : { eventId }) }),
    staleTime: Infinity,
    gcTime: 0,
  });
  useEffect(() => {
    if (first.data === undefined) return;
    setText((before) => before ?? JSON.stringify(first.data.payload, null, 2));
    setCorrelationId((before) => before || (first.data.correlationId ?? ""));
  }, [first.data]);
  const value = parsed(text ?? "{}");
  const event = { pattern, payload: value.isWrong ? null : value.value, ...(correlationId === "" ? {} : { correlationId }) };
  const written = useSettled(JSON.stringify(event), 300);
  const dry = useQuery({
    queryKey: ["dry run", written],
    queryFn: () => send("post", "/api/v1/events", { query: { dryRun: true }, body: JSON.parse(written) as Json }),
    enabled: !isTest && text !== null && !value.isWrong,
    staleTime: 0,
  });
  const publish = useCommand(
    () =>
      isTest
        ? send("post", "/api/v1/workflows/test/{id}/events", { path: { id }, body: event })
        : send("post", "/api/v1/events", { body: event }),
    `${pattern} was sent`,
    onClose,
  );
  const place = { instance: id, step, iteration };
  const failed = atWait(dry.data, "nearMisses", place)?.failed ?? null;
  const isReached = atWait(dry.data, "targets", place) !== null;
  const others = (dry.data?.targets?.length ?? 0) - (isReached ? 1 : 0);
  return (
    <Dialog
      title={`Send ${pattern}`}
      isOpen
      onClose={onClose}
      actions={
        <>
          <CopyAs action={{ kind: "publish", pattern, payload: event.payload, ...(correlationId === "" ? {} : { correlationId }) }} />
          <span className={styles["grow"]} />
          <Button onClick={onClose}>Not now</Button>
          <Button look="primary" isPending={publish.isPending} disabled={value.isWrong} onClick={() => publish.mutate(undefined)}>
            Send event
          </Button>
        </>
      }
    >
      <div className={styles["form"]}>
        <h3>Payload</h3>
        {text === null ? first.error !== null ? <ErrorState isInline error={first.error} onRetry={() => void first.refetch()} /> : <Loading label="Filling in the event" /> : <JsonEditor label="Payload" value={text} onChange={setText} mostLines={16} />}
        {value.isWrong && <p className={styles["problem"]}>This is not JSON.</p>}
        <Field label="Correlation id" help="Only where the wait names one.">
          {(ids) => <TextInput {...ids} value={correlationId} onChange={(change) => setCorrelationId(change.target.value)} />}
        </Field>
        <div aria-live="polite" className={styles["form"]}>
          {isReached && (
            <p className={styles["good"]}>
              It fits: it resumes {visible(step)}
              {others > 0 && `, and reaches ${counted(others, "other wait or trigger", "other waits and triggers")}`}.
            </p>
          )}
          {dry.data !== undefined && !isReached && (
            <>
              <p className={styles["problem"]}>It would not resume {visible(step)}.</p>
              {failed !== null && (
                <FailedParts
                  failed={failed}
                  onCorrect={({ path, value: right }) => setText(JSON.stringify(withValue(event.payload, path, right) ?? null, null, 2))}
                />
              )}
            </>
          )}
        </div>
        {dry.error !== null && <ErrorState isInline error={dry.error} />}
        {publish.error !== null && <ErrorState isInline error={publish.error} />}
      </div>
    </Dialog>
  );
}

interface Place {
  id: string;
  step: string;
  iteration: string;
  pattern: string;
  /** What follows from the condition of the wait. */
  payload: Json;
  isTest: boolean;
  eventId?: string;
}

/** An event that fits: one that came near, or one made from the condition, with what a dry run says is false corrected. */
async function firstDraft({ id, step, iteration, pattern, payload, isTest, eventId }: Place): Promise<SentEvent> {
  let draft: SentEvent = { payload, correlationId: null };
  if (isTest) return draft;
  if (eventId !== undefined) {
    const event = await send("get", "/api/v1/events/{id}", { path: { id: eventId } });
    draft = { payload: event.payload as Json, correlationId: event.correlationId };
  }
  const body = { pattern, payload: draft.payload, ...(draft.correlationId === null ? {} : { correlationId: draft.correlationId }) };
  const answer = await send("post", "/api/v1/events", { query: { dryRun: true }, body });
  return corrected(draft, atWait(answer, "nearMisses", { instance: id, step, iteration })?.failed ?? []);
}

/** A value once it has not changed for a while. */
function useSettled(value: string, ms: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
