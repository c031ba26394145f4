import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useMay, useMe } from "../../api/me";
import { read } from "../../api/queries";
import type { Shape } from "../../api/types";
import { count } from "../../core/format";
import { Facts } from "../../kit/Facts";
import { TextInput } from "../../kit/Field";
import { KeyList } from "../../kit/KeyList";
import { Moment } from "../../kit/Moment";
import { Notice } from "../../kit/Notice";
import { Page, Section } from "../../kit/Page";
import { Select } from "../../kit/Select";
import { Stack } from "../../kit/Stack";
import { ErrorState, Loading } from "../../kit/States";
import { prefer, usePreferences, type Preferences } from "../../state/preferences";
import { storeWords } from "./health";
import styles from "./styles.module.css";

/** How this browser shows things, who the viewer is, and how the service is configured. */
export default function SettingsPage() {
  const mayRead = useMay("settings:read");
  return (
    <Page title="Settings">
      <Appearance />
      <Viewer />
      {mayRead ? <ServiceParts /> : <Section title="Service"><p className={styles["muted"]}>Its configuration is shown to those who have the permission settings:read; administrators have it.</p></Section>}
      <Keys />
    </Page>
  );
}

const THEMES: readonly (readonly [Preferences["theme"], string])[] = [
  ["system", "as the system"],
  ["light", "light"],
  ["dark", "dark"],
];
const TIMES: readonly (readonly [Preferences["times"], string])[] = [
  ["local", "local time"],
  ["utc", "UTC"],
  ["relative", "relative"],
];

function Appearance() {
  const { theme, times, letterKeys } = usePreferences();
  return (
    <Section title="Appearance">
      <div className={styles["choices"]}>
        <label>
          <span>Theme</span>
          <Select value={theme} options={THEMES} onChange={(event) => prefer({ theme: event.target.value as Preferences["theme"] })} />
        </label>
        <label>
          <span>Times</span>
          <Select value={times} options={TIMES} onChange={(event) => prefer({ times: event.target.value as Preferences["times"] })} />
        </label>
        <label className={styles["check"]}>
          <input type="checkbox" checked={letterKeys} onChange={(event) => prefer({ letterKeys: event.target.checked })} />
          Single letters are shortcuts
        </label>
      </div>
      <p className={styles["muted"]}>Kept in this browser.</p>
    </Section>
  );
}

function Viewer() {
  const me = useMe();
  const principal = me?.principal;
  if (principal === undefined || principal === null) return null;
  return (
    <Section title="You">
      <Facts
        facts={[
          ["Name", principal.name],
          ["Tenant", principal.tenant],
          ["Role", principal.role],
          ["Key expires", principal.expiresAt === null ? null : <Moment key="" at={principal.expiresAt} />],
        ]}
      />
      <details className={styles["permissions"]}>
        <summary>{`${count(principal.permissions.length)} permissions`}</summary>
        <p>{principal.permissions.join(", ")}</p>
      </details>
    </Section>
  );
}

function ServiceParts() {
  const settings = useQuery(read("/api/v1/settings"));
  if (settings.isPending) return <Loading label="Loading the settings of the service" />;
  if (settings.data === undefined) return <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />;
  const { data } = settings;
  const { tone, text } = storeWords(data.store);
  return (
    <>
      <Section title="Service">
        <Stack>
          <Notice tone={tone}>{text}</Notice>
          <Facts
            facts={[
              ["Version", data.version],
              ["Python", data.python],
              ["Environment", data.environment],
              ["Public address", data.publicUrl],
              ["Processes", count(data.store.processes)],
            ]}
          />
          <p className={styles["muted"]}>
            More checks, of the machine and the store: <code>tenuto doctor</code>
          </p>
        </Stack>
      </Section>
      <Configuration settings={data.settings} />
    </>
  );
}

function Configuration({ settings }: { settings: readonly Shape<"SettingView">[] }) {
  const [text, setText] = useState("");
  const shown = settings.filter(({ name, value }) => `${name} ${String(value)}`.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <Section title="Configuration" actions={<div className={styles["search"]}><TextInput type="search" aria-label="Find a setting" placeholder="Find a setting" value={text} onChange={(event) => setText(event.target.value)} /></div>}>
      {shown.length === 0 ? (
        <p className={styles["muted"]}>No setting is called so.</p>
      ) : (
        <div className={styles["scroll"]} tabIndex={0} role="group" aria-label="Configuration">
          <table className={styles["settings"]}>
            <thead>
              <tr>
                <th scope="col">Setting</th>
                <th scope="col">Value</th>
                <th scope="col">From</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ name, value, origin, isHidden }) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td>{isHidden ? <span className={styles["muted"]}>hidden</span> : value === null ? <span className={styles["muted"]}>not set</span> : <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>}</td>
                  <td className={styles["muted"]}>{origin}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  );
}

function Keys() {
  const { letterKeys } = usePreferences();
  return (
    <Section title="Keys">
      <Stack>
        <p className={styles["muted"]}>
          <kbd>?</kbd> shows those of the page that is open.{!letterKeys && " Single letters are switched off."}
        </p>
        <KeyList />
      </Stack>
    </Section>
  );
}
