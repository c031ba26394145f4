import { Bookmark } from "lucide-react";
import { useState } from "react";

import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Field, TextInput } from "../../kit/Field";
import { Menu } from "../../kit/Menu";
import { makeStore, useStore } from "../../state/store";
import { keep, stored, type View } from "./savedViews";

const BUILT_IN: readonly View[] = [
  { name: "Failed", q: "status:failed" },
  { name: "Failed in the last day", q: "status:failed since:24h" },
  { name: "Running", q: "status:running" },
  { name: "Waiting for an event", q: "status:waiting_for_event" },
  { name: "Paused", q: "status:paused" },
  { name: "Children too", q: "is:any" },
];

const views = makeStore<readonly View[]>(stored());

/** Searches by name: those of everyone, and those that were kept in this browser. */
export function Views({ q, onChoose }: { q: string; onChoose: (q: string) => void }) {
  const own = useStore(views);
  const [isNaming, setIsNaming] = useState(false);
  const [name, setName] = useState("");
  const present = own.find((view) => view.q === q);
  const change = (next: readonly View[]) => {
    views.set(next);
    keep(next);
  };
  const save = () => {
    if (name.trim() === "") return;
    change([...own.filter((view) => view.name !== name.trim()), { name: name.trim(), q }]);
    setIsNaming(false);
    setName("");
  };
  const item = (view: View) => ({ label: view.name, hint: view.q, isChosen: view.q === q, onSelect: () => onChoose(view.q) });
  return (
    <>
      <Menu
        label="Views"
        trigger={<Button icon={<Bookmark />}>Views</Button>}
        items={[
          ...BUILT_IN.map(item),
          ...(own.length > 0 ? [null] : []),
          ...own.map(item),
          null,
          ...(q === "" || present !== undefined ? [] : [{ label: "Save this search…", onSelect: () => setIsNaming(true) }]),
          ...(present === undefined ? [] : [{ label: `Forget ${present.name}`, onSelect: () => change(own.filter((view) => view !== present)) }]),
          ...(q === "" ? [{ label: "All instances", isChosen: true, onSelect: () => onChoose("") }] : []),
        ]}
      />
      <Dialog
        title="Save this search"
        isOpen={isNaming}
        onClose={() => setIsNaming(false)}
        actions={
          <>
            <Button onClick={() => setIsNaming(false)}>Close</Button>
            <Button look="primary" disabled={name.trim() === ""} onClick={save}>
              Save
            </Button>
          </>
        }
      >
        <Field label="Name" help="It is kept in this browser alone. To share it, copy the address of the page.">
          {(ids) => <TextInput {...ids} autoFocus maxLength={80} value={name} onChange={(event) => setName(event.target.value)} onKeyDown={(event) => event.key === "Enter" && save()} />}
        </Field>
      </Dialog>
    </>
  );
}
