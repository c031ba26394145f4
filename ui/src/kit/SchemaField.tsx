import { ArrowUp, Plus, X } from "lucide-react";
import { useId, useState, type ReactNode } from "react";

import { readInput, valueAt, variantOf, withValue, writtenInput, type FormField, type Path } from "../core/form";
import { blankValue, kindOfValue, readAny, writtenAny } from "../core/formValues";
import { asArray, asObject, sameJson, type Json } from "../core/json";
import { Button, IconButton } from "./Button";
import { classes } from "./classes";
import fieldStyles from "./Field.module.css";
import { useChecks, type FieldProps } from "./schemaChecks";
import styles from "./SchemaForm.module.css";

type Kind<K extends FormField["kind"]> = Extract<FormField, { kind: K }>;

/** One field by its kind; one of several parts is a group of fields. */
export function SchemaField(props: FieldProps) {
  const { field } = props;
  switch (field.kind) {
    case "object":
      return <ObjectField {...props} field={field} />;
    case "list":
      return <ListField {...props} field={field} />;
    case "map":
      return <MapField {...props} field={field} />;
    case "union":
      return <UnionField {...props} field={field} />;
    case "flag":
      return <ChoiceField {...props} options={FLAGS} />;
    case "choice":
      return <ChoiceField {...props} options={field.options} />;
    case "constant":
      return <ChoiceField {...props} options={[{ label: writtenInput(field.value) || "null", value: field.value }]} />;
    case "json":
      return <AnyField {...props} />;
    default:
      return <InputField {...props} field={field} />;
  }
}

const FLAGS = [
  { label: "true", value: true },
  { label: "false", value: false },
];

/** A label, a control, its help and its problem. */
function Labelled({ field, path, value, onChange, end, extra, children }: FieldProps & { extra?: ReactNode; children: (ids: { id: string; "aria-describedby": string; "aria-invalid": boolean; "aria-required": boolean }) => ReactNode }) {
  const id = useId();
  const { problemOf } = useChecks();
  const problem = problemOf(path, value, []);
  return (
    <div className={fieldStyles["field"]}>
      <div className={styles["head"]}>
        <label htmlFor={id}>
          <Name field={field} path={path} />
        </label>
        {extra}
        {field.isNullable && value !== null && (
          <button type="button" className={styles["small"]} onClick={() => onChange(null)}>
            Set null
          </button>
        )}
        {end}
      </div>
      {children({ id, "aria-describedby": `${id}-help`, "aria-invalid": problem !== null, "aria-required": field.isRequired })}
      <div id={`${id}-help`} className={fieldStyles["about"]}>
        {problem !== null && <p className={fieldStyles["problem"]}>{problem}</p>}
        <Help field={field} onExample={onChange} />
      </div>
    </div>
  );
}

function Name({ field, path }: { field: FormField; path: Path }) {
  const name = String(path.at(-1) ?? "");
  return (
    <>
      {field.label}
      {name !== "" && name !== field.label && typeof path.at(-1) === "string" && <code className={styles["name"]}>{name}</code>}
      {!field.isRequired && <span className={styles["optional"]}>optional</span>}
    </>
  );
}

function Help({ field, onExample }: { field: FormField; onExample?: (value: Json) => void }) {
  const bounds = boundsOf(field);
  return (
    <>
      {[field.help, bounds].filter(Boolean).join(" ")}
      {onExample !== undefined &&
        field.examples.slice(0, 3).map((example) => (
          <button key={JSON.stringify(example)} type="button" className={styles["example"]} title="Use this example" onClick={() => onExample(example)}>
            {shortened(writtenAny(example))}
          </button>
        ))}
    </>
  );
}

/** What the schema asks of a text or a number, in words. */
function boundsOf(field: FormField): string {
  if (field.kind === "number") {
    const parts = [
      field.least === null ? "" : `${field.isAbove ? "above" : "from"} ${field.least}`,
      field.most === null ? "" : `${field.isBelow ? "below" : "up to"} ${field.most}`,
    ].filter(Boolean);
    const what = field.isInteger ? "A whole number" : parts.length > 0 ? "A number" : "";
    return what === "" ? "" : `${[what, ...parts].join(" ")}.`;
  }
  if (field.kind === "text") {
    const { format, pattern, least, most } = field;
    const parts = [
      least !== null && least > 1 ? `at least ${least} characters` : "",
      most !== null ? `at most ${most} characters` : "",
      format === null || format === "password" ? "" : `format ${format}`,
      pattern === null ? "" : `matches ${pattern}`,
    ].filter(Boolean);
    return parts.length === 0 ? "" : `${parts.join(", ").replace(/^./, (first) => first.toUpperCase())}.`;
  }
  return "";
}

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

const TYPES: Record<string, string> = { email: "email", uri: "url", date: "date", password: "password" };
const LONG_TEXT = 200;

function InputField({ field, path, value, onChange, ...rest }: FieldProps<Kind<"text"> | Kind<"number">>) {
  const { touch } = useChecks();
  const [draft, setDraft] = useState<string | null>(null);
  // What is being typed stays as it is ("1.", "1e") as long as it stands for the value.
  const isDraft = draft !== null && sameJson(valueOf(field, draft), value);
  const text = isDraft ? draft : writtenInput(value);
  const change = (next: string) => {
    setDraft(next);
    onChange(valueOf(field, next));
  };
  const isLong = field.kind === "text" && ((field.most ?? 0) > LONG_TEXT || text.includes("\n"));
  return (
    <Labelled field={field} path={path} value={value} onChange={onChange} {...rest}>
      {(ids) => {
        const common = {
          ...ids,
          className: classes(fieldStyles["input"], isLong && styles["area"]),
          value: text,
          placeholder: value === null ? "null" : "",
          autoComplete: "off",
          spellCheck: false,
          onBlur: () => touch(path),
        };
        if (isLong) return <textarea rows={4} {...common} onChange={(event) => change(event.target.value)} />;
        const type = field.kind === "text" ? (TYPES[field.format ?? ""] ?? "text") : "text";
        return <input type={type} inputMode={field.kind === "number" ? "decimal" : undefined} {...common} onChange={(event) => change(event.target.value)} />;
      }}
    </Labelled>
  );
}

/** A text that is no number is the value all the same: what is shown is what is sent, and is refused. */
function valueOf(field: FormField, text: string): Json | undefined {
  const read = readInput(field, text);
  return "value" in read ? read.value : text;
}

function ChoiceField({ field, path, value, onChange, options, ...rest }: FieldProps & { options: readonly { label: string; value: Json }[] }) {
  const { touch } = useChecks();
  const place = options.findIndex((option) => sameJson(option.value, value));
  const isOther = place < 0 && value !== undefined;
  return (
    <Labelled field={field} path={path} value={value} onChange={onChange} {...rest}>
      {(ids) => (
        <select
          {...ids}
          className={fieldStyles["input"]}
          value={value === undefined ? "" : isOther ? "other" : String(place)}
          onBlur={() => touch(path)}
          onChange={({ target }) => {
            if (target.value !== "other") onChange(target.value === "" ? undefined : options[Number(target.value)]?.value);
          }}
        >
          {(!field.isRequired || value === undefined) && <option value="">{field.isRequired ? "Choose…" : "Not given"}</option>}
          {isOther && <option value="other">{shortened(writtenAny(value))}</option>}
          {options.map((option, index) => (
            <option key={index} value={index}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

/** Any value: text, or JSON where it is some; beside it stands as what it is read. */
function AnyField({ field, path, value, onChange, ...rest }: FieldProps) {
  const { touch } = useChecks();
  const [draft, setDraft] = useState<string | null>(null);
  const isDraft = draft !== null && sameJson(readAny(draft), value);
  const text = isDraft ? draft : writtenAny(value);
  return (
    <Labelled field={field} path={path} value={value} onChange={onChange} extra={<span className={styles["read"]}>{kindOfValue(value)}</span>} {...rest}>
      {(ids) => (
        <textarea
          {...ids}
          rows={Math.min(Math.max(text.split("\n").length, 1), 12)}
          className={classes(fieldStyles["input"], styles["any"])}
          value={text}
          placeholder="Text or JSON"
          autoComplete="off"
          spellCheck={false}
          onBlur={() => touch(path)}
          onChange={({ target }) => {
            setDraft(target.value);
            onChange(readAny(target.value));
          }}
        />
      )}
    </Labelled>
  );
}

/** Several fields under one name. */
function Group({ field, path, value, parts, isRoot, end, add, children }: Omit<FieldProps, "onChange"> & { parts: readonly Path[]; add?: ReactNode; children: ReactNode }) {
  const { problemOf } = useChecks();
  const problem = problemOf(path, value, parts);
  const content = (
    <>
      {problem !== null && <p className={fieldStyles["problem"]}>{problem}</p>}
      {children}
      {add}
    </>
  );
  if (isRoot === true) return <div className={styles["fields"]}>{content}</div>;
  return (
    <fieldset className={styles["group"]}>
      <legend>
        <span className={styles["head"]}>
          <Name field={field} path={path} />
          {end}
        </span>
      </legend>
      <div className={fieldStyles["about"]}>
        <Help field={field} />
      </div>
      <div className={styles["fields"]}>{content}</div>
    </fieldset>
  );
}

const AddButton = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <Button className={styles["add"] ?? ""} icon={<Plus />} onClick={onClick}>
    {label}
  </Button>
);

const RemoveButton = ({ label, onClick }: { label: string; onClick: () => void }) => <IconButton label={label} icon={<X />} className={styles["remove"] ?? ""} onClick={onClick} />;

function ObjectField({ field, path, value, onChange, isRoot, end }: FieldProps<Kind<"object">>) {
  const isGiven = value !== undefined && value !== null;
  const known = new Set(field.fields.map((each) => String(each.path.at(-1))));
  const others = Object.keys(asObject(value)).filter((name) => !known.has(name));
  const parts = [...known, ...others].map((name) => [...path, name]);
  if (!isGiven && !field.isRequired && isRoot !== true) {
    return (
      <Group field={field} path={path} value={value} parts={[]} end={end}>
        <AddButton label={`Add ${field.label}`} onClick={() => onChange(blankValue(field))} />
      </Group>
    );
  }
  const set = (name: string, next: Json | undefined) => onChange(withValue(asObject(value), [name], next));
  const removal = !field.isRequired && isRoot !== true ? <RemoveButton label={`Remove ${field.label}`} onClick={() => onChange(undefined)} /> : null;
  return (
    <Group
      field={field}
      path={path}
      value={value}
      parts={parts}
      isRoot={isRoot ?? false}
      end={
        <>
          {end}
          {removal}
        </>
      }
      add={field.allowsOthers && <AddName taken={[...known, ...others]} onAdd={(name) => set(name, null)} label="Add another value" />}
    >
      {field.fields.map((each) => {
        const name = String(each.path.at(-1));
        return <SchemaField key={name} field={each} path={[...path, name]} value={valueAt(value, [name])} onChange={(next) => set(name, next)} />;
      })}
      {others.map((name) => (
        <SchemaField
          key={`other ${name}`}
          field={otherField(name)}
          path={[...path, name]}
          value={asObject(value)[name]}
          onChange={(next) => set(name, next ?? null)}
          end={<RemoveButton label={`Remove ${name}`} onClick={() => set(name, undefined)} />}
        />
      ))}
    </Group>
  );
}

/** A value whose name the schema does not have. */
const otherField = (name: string): FormField => ({
  kind: "json",
  path: [name],
  label: name,
  help: null,
  isRequired: true,
  isNullable: false,
  initial: undefined,
  examples: [],
  reason: "its name is not in the schema",
});

/** Asks for the name of a value, then adds it. */
function AddName({ taken, label, onAdd }: { taken: readonly string[]; label: string; onAdd: (name: string) => void }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null) {
    return (
      <button type="button" className={styles["small"]} onClick={() => setName("")}>
        {label}
      </button>
    );
  }
  const isFree = name !== "" && !taken.includes(name);
  const add = () => {
    if (!isFree) return;
    onAdd(name);
    setName(null);
  };
  return (
    <div className={styles["adding"]}>
      <input
        className={fieldStyles["input"]}
        aria-label="Its name"
        placeholder="Name"
        autoFocus
        autoComplete="off"
        value={name}
        onChange={({ target }) => setName(target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") setName(null);
          if (event.key !== "Enter") return;
          event.preventDefault();
          add();
        }}
      />
      <Button disabled={!isFree} onClick={add}>
        Add
      </Button>
    </div>
  );
}

function ListField({ field, path, value, onChange, end }: FieldProps<Kind<"list">>) {
  const items = asArray(value);
  const set = (place: number, next: Json | undefined) => onChange(items.map((item, index) => (index === place ? (next ?? null) : item)));
  const swap = (place: number) => onChange(items.map((item, index) => (index === place ? items[place - 1] : index === place - 1 ? items[place] : item) as Json));
  const isFull = field.most !== null && items.length >= field.most;
  const without = (place: number) => {
    const rest = items.filter((_, index) => index !== place);
    onChange(rest.length === 0 && !field.isRequired ? undefined : rest);
  };
  return (
    <Group
      field={field}
      path={path}
      value={value}
      parts={items.map((_, index) => [...path, index])}
      end={end}
      add={!isFull && <AddButton label="Add item" onClick={() => onChange([...items, blankValue(field.item)])} />}
    >
      {items.map((item, index) => (
        <SchemaField
          key={index}
          field={{ ...field.item, label: `${index + 1}` }}
          path={[...path, index]}
          value={item}
          onChange={(next) => set(index, next)}
          end={
            <span className={styles["controls"]}>
              {index > 0 && <IconButton label={`Move item ${index + 1} up`} icon={<ArrowUp />} className={styles["remove"] ?? ""} onClick={() => swap(index)} />}
              <RemoveButton label={`Remove item ${index + 1}`} onClick={() => without(index)} />
            </span>
          }
        />
      ))}
    </Group>
  );
}

function MapField({ field, path, value, onChange, end }: FieldProps<Kind<"map">>) {
  const entries = Object.entries(asObject(value));
  const set = (name: string, next: Json | undefined) => {
    const changed = withValue(asObject(value), [name], next);
    onChange(next === undefined && entries.length === 1 && !field.isRequired ? undefined : changed);
  };
  return (
    <Group
      field={field}
      path={path}
      value={value}
      parts={entries.map(([name]) => [...path, name])}
      end={end}
      add={<AddName taken={entries.map(([name]) => name)} label="Add an entry" onAdd={(name) => set(name, blankValue(field.value))} />}
    >
      {entries.map(([name, item]) => (
        <SchemaField
          key={name}
          field={{ ...field.value, label: name }}
          path={[...path, name]}
          value={item}
          onChange={(next) => set(name, next ?? null)}
          end={<RemoveButton label={`Remove ${name}`} onClick={() => set(name, undefined)} />}
        />
      ))}
    </Group>
  );
}

function UnionField({ field, path, value, onChange, isRoot, end }: FieldProps<Kind<"union">>) {
  const [chosen, setChosen] = useState<number | null>(null);
  const place = chosen ?? (value === undefined && !field.isRequired ? -1 : variantOf(field, value));
  const variant = field.variants[place];
  const id = useId();
  const choose = (next: number) => {
    setChosen(next < 0 ? null : next);
    const picked = field.variants[next];
    onChange(picked === undefined ? undefined : blankValue(picked.field));
  };
  return (
    <Group field={field} path={path} value={value} parts={variant === undefined ? [] : [path]} isRoot={isRoot ?? false} end={end}>
      <select id={id} aria-label={`Kind of ${field.label}`} className={fieldStyles["input"]} value={place} onChange={({ target }) => choose(Number(target.value))}>
        {!field.isRequired && <option value={-1}>Not given</option>}
        {field.variants.map(({ label }, index) => (
          <option key={index} value={index}>
            {label}
          </option>
        ))}
      </select>
      {variant !== undefined && <SchemaField field={{ ...variant.field, label: variant.label, isRequired: true }} path={path} value={value} onChange={onChange} />}
    </Group>
  );
}
