import { useQuery } from "@tanstack/react-query";
import { CalendarRange, Pause, Pencil, Play, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";

import { useMay } from "../../api/me";
import { LIST_REFRESH_MS, read, useList } from "../../api/queries";
import { counted } from "../../core/format";
import { shortId } from "../../core/ids";
import { asObject, asText } from "../../core/json";
import { CATCH_UPS, NON_WORKING, OVERLAPS, failedInARow, sentence, spanWords, tickReason, tickStatus } from "../../core/schedule";
import { path } from "../../core/url";
import { useLastPart } from "../../kit/address";
import { Button } from "../../kit/Button";
import { Facts } from "../../kit/Facts";
import { JsonView, visible } from "../../kit/JsonView";
import { useKeys } from "../../kit/keys";
import { Moment } from "../../kit/Moment";
import { Notice } from "../../kit/Notice";
import { Page, Section } from "../../kit/Page";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { StatusBadge } from "../../kit/StatusBadge";
import { BackfillDialog, PauseDialog, RemoveDialog, ResumeButton, TriggerDialog } from "./dialogs";
import { targetOf, type Schedule, type TickRecord } from "./links";
import { PreviewList } from "./PreviewList";
import { ScheduleDialog } from "./ScheduleDialog";
import styles from "./styles.module.css";
import { TickStrip } from "./TickStrip";
import { useStatuses } from "./useStatuses";

const CRUMBS = [{ label: "Schedules", href: "/schedules" }];
const SHOWN = 10;
const MARKS = 40;
type DialogName = "pause" | "trigger" | "backfill" | "edit" | "remove";

/** One schedule: whether it starts, when next, what became of its times, and what can be done. */
export default function SchedulePage() {
  const id = useLastPart();
  const found = useQuery({ ...read("/api/v1/schedules/{id}", { path: { id } }), refetchInterval: LIST_REFRESH_MS });
  const [dialog, setDialog] = useState<DialogName | null>(null);
  const schedule = found.data;
  if (schedule === undefined) {
    return (
      <Page title={id} crumbs={CRUMBS}>
        {found.isPending ? <Loading label="Loading the schedule" /> : <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      </Page>
    );
  }
  const close = () => setDialog(null);
  return (
    <Page
      title={`${schedule.name || schedule.id} · Schedule`}
      crumbs={CRUMBS}
      heading={
        <span className={styles["heading"]}>
          {visible(schedule.name || schedule.id)} <StatusBadge status={schedule.status} />
        </span>
      }
      actions={<Actions schedule={schedule} onOpen={setDialog} />}
    >
      <Section>
        <Stack>
          <State schedule={schedule} onEdit={() => setDialog("edit")} />
          <About schedule={schedule} />
        </Stack>
      </Section>
      <Coming schedule={schedule} />
      <Ticks schedule={schedule} />
      {dialog === "pause" && <PauseDialog schedule={schedule} onClose={close} />}
      {dialog === "trigger" && <TriggerDialog schedule={schedule} onClose={close} />}
      {dialog === "backfill" && <BackfillDialog schedule={schedule} onClose={close} />}
      {dialog === "edit" && <ScheduleDialog schedule={schedule} onClose={close} />}
      {dialog === "remove" && <RemoveDialog schedule={schedule} onClose={close} />}
    </Page>
  );
}

function Actions({ schedule, onOpen }: { schedule: Schedule; onOpen: (dialog: DialogName) => void }) {
  const mayWrite = useMay("schedules:write");
  const mayControl = useMay("schedules:control");
  useKeys([...(mayControl ? [{ keys: "t", label: "Trigger now", run: () => onOpen("trigger") }] : []), ...(mayWrite ? [{ keys: "e", label: "Edit the schedule", run: () => onOpen("edit") }] : [])]);
  return (
    <>
      {mayWrite && (
        <>
          <Button icon={<Trash2 />} look="danger" onClick={() => onOpen("remove")}>
            Remove
          </Button>
          <Button icon={<Pencil />} onClick={() => onOpen("edit")}>
            Edit
          </Button>
        </>
      )}
      {mayControl && (
        <>
          {schedule.type === "recurring" && (
            <Button icon={<CalendarRange />} onClick={() => onOpen("backfill")}>
              Backfill
            </Button>
          )}
          {schedule.status === "active" && (
            <Button icon={<Pause />} onClick={() => onOpen("pause")}>
              Pause
            </Button>
          )}
          <Button icon={<Play />} look={schedule.status === "active" ? "primary" : "plain"} onClick={() => onOpen("trigger")}>
            Trigger now
          </Button>
        </>
      )}
    </>
  );
}

/** Whether it starts, and if not, why and what to do: one sentence, with the button beside it. */
function State({ schedule, onEdit }: { schedule: Schedule; onEdit: () => void }) {
  const mayControl = useMay("schedules:control");
  const mayWrite = useMay("schedules:write");
  switch (schedule.status) {
    case "active":
      return (
        <Notice tone="green">
          Starts {schedule.nextExecution === null ? "nothing more" : <Moment at={schedule.nextExecution} />}: {visible(schedule.inWords)}.
        </Notice>
      );
    case "paused":
      return (
        <Notice tone="amber" action={mayControl && <ResumeButton schedule={schedule} />}>
          Paused{schedule.note === null || schedule.note === "" ? "" : `: ${visible(schedule.note)}`}. Its times are passed over until it is resumed.
        </Notice>
      );
    case "error":
      return (
        <Notice tone="red" action={mayWrite && <Button onClick={onEdit}>Edit the schedule</Button>}>
          No tick can succeed: {visible(sentence(schedule.problem ?? "the reason is not known"))} It goes on by itself once that is mended.
        </Notice>
      );
    default:
      return <Notice>It has no time any more. Edit it to let it start again, or trigger it by hand.</Notice>;
  }
}

function About({ schedule }: { schedule: Schedule }) {
  const { kind, name, href } = targetOf(schedule);
  const catchUp = asObject(schedule.catchUp);
  const mode = asText(catchUp["mode"]) ?? "";
  const version = asObject(schedule.target)["version"];
  return (
    <Stack>
      <Facts
        facts={[
          ["Starts", <span key="" className={styles["inText"]}>{href === null ? <code>{visible(name)}</code> : <Link href={href}>{visible(name)}</Link>} <span className={styles["muted"]}>{kind}{typeof version === "number" ? ` v${version}` : ""}</span></span>],
          ["When", visible(schedule.inWords)],
          ["Cron", schedule.cron == null ? null : <code key="">{schedule.cron}</code>],
          ["Time zone", schedule.timezone],
          ["At", schedule.executeAt == null ? null : <Moment key="" at={schedule.executeAt} />],
          ["Calendar", schedule.calendar == null ? null : <Link key="" href={path("calendars", schedule.calendar)}>{visible(schedule.calendar)}</Link>],
          ["On other days", schedule.calendar == null ? null : wordOf(NON_WORKING, schedule.onNonWorking ?? "skip")],
          ["If the one before runs", wordOf(OVERLAPS, schedule.overlap)],
          ["Missed in an outage", `${wordOf(CATCH_UPS, mode)}${mode === "none" ? "" : `, of the last ${spanWords(asText(catchUp["window"]) ?? "P1D")}`}`],
          ["Later by up to", schedule.jitter == null ? null : spanWords(schedule.jitter)],
          ["From", schedule.startDate == null ? null : <Moment key="" at={schedule.startDate} />],
          ["Until", schedule.endDate == null ? null : <Moment key="" at={schedule.endDate} />],
          ["Last started", schedule.lastExecuted === null ? null : <Moment key="" at={schedule.lastExecuted} />],
          ["Last instance", schedule.lastInstanceId === null ? null : <Link key="" href={path("instances", schedule.lastInstanceId)}>{shortId(schedule.lastInstanceId)}</Link>],
          ["Description", schedule.metadata.description],
          ["Made by", visible(schedule.metadata.createdBy)],
          ["Changed", <Moment key="" at={schedule.metadata.lastModifiedAt} />],
          ["Id", <code key="">{schedule.id}</code>],
        ]}
      />
      {schedule.input !== undefined && (
        <div className={styles["value"]}>
          <h3>Input</h3>
          <JsonView label="Input" value={schedule.input} />
        </div>
      )}
    </Stack>
  );
}

const wordOf = (words: readonly (readonly [string, string])[], value: string): string => words.find(([each]) => each === value)?.[1] ?? value;

function Coming({ schedule }: { schedule: Schedule }) {
  const preview = useQuery({ ...read("/api/v1/schedules/{id}/preview", { path: { id: schedule.id }, query: { count: SHOWN } }), refetchInterval: 2 * LIST_REFRESH_MS });
  return (
    <Section title={schedule.status === "paused" ? "Next times, once it is resumed" : "Next times"}>
      {preview.data !== undefined ? <PreviewList items={preview.data.items} timezone={schedule.timezone} /> : preview.error === null ? <Loading label="Loading the next times" /> : <ErrorState isInline error={preview.error} onRetry={() => void preview.refetch()} />}
    </Section>
  );
}

function Ticks({ schedule }: { schedule: Schedule }) {
  const ticks = useList("/api/v1/schedules/{id}/ticks", { path: { id: schedule.id }, query: { limit: MARKS } });
  const statuses = useStatuses(ticks.items.slice(0, MARKS));
  const failed = failedInARow(ticks.items, statuses);
  if (ticks.isPending) return <Loading label="Loading ticks" />;
  if (ticks.error !== null && ticks.items.length === 0) return <ErrorState error={ticks.error} onRetry={ticks.refresh} />;
  return (
    <Section title="What became of its times">
      {ticks.items.length === 0 ? (
        <p className={styles["muted"]}>None of its times has come yet.</p>
      ) : (
        <Stack>
          {failed > 1 && <Notice tone="red">The last {counted(failed, "instance")} that it started failed: open the newest to see why.</Notice>}
          <TickStrip label={`The last ${counted(Math.min(ticks.items.length, MARKS), "tick")}, oldest first`} ticks={ticks.items.slice(0, MARKS)} statuses={statuses} />
          <div className={styles["scroll"]} tabIndex={0} role="group" aria-label="Ticks">
            <table className={styles["table"]}>
              <thead>
                <tr>
                  <th scope="col">Time</th>
                  <th scope="col">Outcome</th>
                  <th scope="col">Instance</th>
                  <th scope="col">Why</th>
                </tr>
              </thead>
              <tbody>
                {ticks.items.map((tick) => (
                  <TickRow key={`${tick.nominal} ${tick.cause ?? ""}`} tick={tick} status={statuses.get(tick.instanceId ?? "")} />
                ))}
              </tbody>
            </table>
          </div>
          {ticks.hasMore && (
            <div>
              <Button isPending={ticks.isReadingMore} onClick={ticks.readMore}>
                Older ticks
              </Button>
            </div>
          )}
        </Stack>
      )}
    </Section>
  );
}

function TickRow({ tick, status }: { tick: TickRecord; status: string | undefined }) {
  return (
    <tr>
      <td>
        <Moment at={tick.nominal} />
        {tick.last != null && (
          <>
            {" "}
            to <Moment at={tick.last} />
          </>
        )}
      </td>
      <td>
        <StatusBadge status={tickStatus(tick)} look="plain" />
      </td>
      <td>
        {tick.instanceId == null ? (
          "–"
        ) : (
          <>
            <Link href={path("instances", tick.instanceId)}>{shortId(tick.instanceId)}</Link> {status !== undefined && <StatusBadge status={status} look="plain" />}
          </>
        )}
      </td>
      <td>{visible(tickReason(tick))}</td>
    </tr>
  );
}
