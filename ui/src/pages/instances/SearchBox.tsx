import { Search, X } from "lucide-react";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type ClipboardEvent, type KeyboardEvent } from "react";

import { completeSearch, parseSearch, readSearch, type KnownValues, type SearchProblem } from "../../core/search";
import { IconButton } from "../../kit/Button";
import { classes } from "../../kit/classes";
import { useKeys } from "../../kit/keys";
import styles from "./SearchBox.module.css";

const APPLIED_AFTER_MS = 300;

interface Props {
  /** As it is applied. */
  text: string;
  known: KnownValues;
  /** Typing replaces the address, Enter adds one: Back undoes a search, not a letter. */
  onApply: (text: string, isTyping: boolean) => void;
  /** Whether it was opened: a pasted id, or one that was entered. */
  onId: (text: string) => boolean;
}

/** The search with completion; a part that cannot be read is underlined where it is. */
export function SearchBox({ text, known, onApply, onId }: Props) {
  const [draft, setDraft] = useState(text);
  const [cursor, setCursor] = useState(text.length);
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const under = useRef<HTMLDivElement>(null);
  const list = useId();
  const applied = useRef(text);
  useEffect(() => {
    // Back, or a chip that was removed; not the echo of what is being typed.
    if (text !== applied.current) setDraft(text);
    applied.current = text;
  }, [text]);

  const apply = (next: string, isTyping: boolean) => {
    applied.current = next.trim();
    onApply(next.trim(), isTyping);
  };
  const problems = useMemo(() => readSearch(draft, new Date(0)).problems, [draft]);
  const latest = useRef(apply);
  latest.current = apply;
  useEffect(() => {
    // A word alone may become a qualifier: it is searched for when Enter says so.
    const hasWord = parseSearch(draft).terms.some(({ qualifier, isQuoted }) => qualifier === "" && !isQuoted);
    if (draft.trim() === applied.current || problems.length > 0 || hasWord) return;
    const timer = setTimeout(() => latest.current(draft, true), APPLIED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [draft, problems]);

  const completion = useMemo(() => completeSearch(draft, cursor, known), [draft, cursor, known]);
  const items = isOpen ? completion.items.filter((each) => each.text !== draft.slice(completion.from, completion.to)) : [];
  const caret = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (caret.current === null) return;
    input.current?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  });
  const change = (next: string, at: number) => {
    setDraft(next);
    setCursor(at);
    setChosen(-1);
    setIsOpen(true);
  };
  const take = (place: number) => {
    const item = items[place];
    if (item === undefined) return;
    const isWhole = !/[:=.]$/.test(item.text);
    const rest = draft.slice(completion.to);
    const inserted = isWhole && !rest.startsWith(" ") ? `${item.text} ` : item.text;
    caret.current = completion.from + inserted.length;
    change(draft.slice(0, completion.from) + inserted + rest, caret.current);
    input.current?.focus();
  };
  const press = (event: KeyboardEvent<HTMLInputElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && items.length > 0) {
      event.preventDefault();
      setChosen((before) => (before < 0 && step < 0 ? items.length - 1 : (before + step + items.length) % items.length));
    } else if (step === 1) {
      setIsOpen(true);
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Enter") {
      setIsOpen(false);
      // An id is opened, and is no search that would be applied a moment later.
      if (onId(draft)) applied.current = draft.trim();
      else apply(draft, false);
    } else if (event.key === "Escape") {
      if (items.length > 0) setIsOpen(false);
      else input.current?.blur();
    }
  };
  const paste = (event: ClipboardEvent<HTMLInputElement>) => {
    const pasted = event.clipboardData.getData("text");
    if (draft.trim() === "" && onId(pasted)) event.preventDefault();
  };
  useKeys([{ keys: "/", label: "Search", run: () => input.current?.select() }]);

  return (
    <div className={styles["search"]}>
      <Search aria-hidden className={styles["icon"]} />
      <div className={styles["field"]}>
        <div ref={under} className={styles["under"]} aria-hidden>
          {marked(draft, problems).map(({ part, problem }, place) => (
            <span key={place} className={problem === undefined ? undefined : styles["wrong"]}>
              {part}
            </span>
          ))}
        </div>
        <input
          ref={input}
          role="combobox"
          aria-label="Search instances"
          aria-expanded={items.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
          aria-invalid={problems.length > 0}
          aria-describedby={`${list}-problems`}
          placeholder="status:failed workflow:order since:1h, or an id"
          autoComplete="off"
          spellCheck={false}
          value={draft}
          onChange={(event) => change(event.target.value, event.target.selectionStart ?? event.target.value.length)}
          onSelect={(event) => setCursor(event.currentTarget.selectionStart ?? 0)}
          onScroll={(event) => under.current?.scrollTo({ left: event.currentTarget.scrollLeft })}
          onKeyDown={press}
          onPaste={paste}
          onFocus={() => setIsOpen(true)}
          onBlur={() => setIsOpen(false)}
        />
      </div>
      {draft !== "" && (
        <IconButton
          label="Clear the search"
          icon={<X />}
          onClick={() => {
            change("", 0);
            apply("", false);
            input.current?.focus();
          }}
        />
      )}
      <ul id={list} role="listbox" aria-label="Completions" className={styles["list"]} hidden={items.length === 0}>
        {items.map((item, place) => (
          <li
            key={item.label}
            id={`${list}-${place}`}
            role="option"
            aria-selected={place === chosen}
            className={classes(styles["choice"], place === chosen && styles["chosen"])}
            ref={(element) => void (place === chosen && element?.scrollIntoView({ block: "nearest" }))}
            // Before the field loses its focus, which would close the list.
            onMouseDown={(event) => {
              event.preventDefault();
              take(place);
            }}
          >
            <code>{item.label}</code>
            <span>{item.help}</span>
          </li>
        ))}
      </ul>
      <ul id={`${list}-problems`} className={styles["problems"]} aria-live="polite">
        {draft.trim() === text || items.length === 0 ? problems.map((each) => <Problem key={`${each.from} ${each.message}`} {...each} />) : null}
      </ul>
    </div>
  );
}

function Problem({ message, advice }: SearchProblem) {
  return (
    <li>
      <b>{message.replaceAll("`", "")}</b> {advice.replaceAll("`", "")}
    </li>
  );
}

/** The text in parts: those with a problem, and those between. */
function marked(text: string, problems: readonly SearchProblem[]): { part: string; problem?: SearchProblem }[] {
  const parts: { part: string; problem?: SearchProblem }[] = [];
  let at = 0;
  for (const problem of [...problems].sort((one, other) => one.from - other.from)) {
    if (problem.from < at) continue;
    parts.push({ part: text.slice(at, problem.from) }, { part: text.slice(problem.from, problem.to), problem });
    at = problem.to;
  }
  return [...parts, { part: text.slice(at) }];
}
