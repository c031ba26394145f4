import { useSearchParams } from "wouter";

import { useMay } from "../../api/me";
import { Choice } from "../../kit/Choice";
import { Page, Section } from "../../kit/Page";
import { Attention } from "./Attention";
import { Charts } from "./Charts";
import { FirstSteps } from "./FirstSteps";
import styles from "./styles.module.css";
import { Tiles } from "./Tiles";

const RANGES = [
  ["1", "1 h"],
  ["24", "24 h"],
] as const;

/** Is anything wrong, and is it getting worse? */
export default function HomePage() {
  const [search, setSearch] = useSearchParams();
  const hours = search.get("hours") === "24" ? 24 : 1;
  const mayReadStats = useMay("stats:read");
  return (
    <Page
      title="Home"
      actions={
        mayReadStats && (
          <Choice label="Time shown" chosen={String(hours)} options={RANGES} onChoose={(value) => setSearch(value === "1" ? {} : { hours: value }, { replace: true })} />
        )
      }
    >
      {mayReadStats ? (
        <Attention />
      ) : (
        <Section>
          <p className={styles["fine"]}>What needs attention and the charts are shown to those with the permission stats:read, which your key lacks.</p>
        </Section>
      )}
      <FirstSteps />
      {mayReadStats && <Tiles />}
      {mayReadStats && <Charts hours={hours} />}
    </Page>
  );
}
