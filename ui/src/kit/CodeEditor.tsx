import { closeBrackets } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";

import type { JsonEditorProps } from "./JsonEditor";

const LINE = 20;

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--text)", fontWeight: "600" },
  { tag: tags.string, color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--blue)" },
]);

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface-sunken)", fontSize: "12px", border: "1px solid var(--border-strong)", borderRadius: "6px" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", lineHeight: `${LINE}px`, caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--text-muted)", border: "0" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-tooltip": { backgroundColor: "var(--surface-raised)", color: "var(--text)", border: "1px solid var(--border)" },
});

export default function CodeEditor({ label, value, onChange, mostLines = 20 }: JsonEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const first = useRef(value);
  const isReadOnly = onChange === undefined;

  useEffect(() => {
    const host = place.current;
    if (host === null) return;
    // In a shadow root CodeMirror adopts its style sheets; in the document it would write a <style>, which the content
    // security policy forbids.
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const editor = new EditorView({
      root,
      parent: root as unknown as HTMLElement,
      doc: first.current,
      extensions: [
        lineNumbers(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        json(),
        linter(jsonParseLinter()),
        lintGutter(),
        syntaxHighlighting(colours),
        look,
        EditorView.lineWrapping,
        EditorView.theme({ ".cm-scroller": { maxHeight: `${mostLines * LINE}px`, overflow: "auto" } }),
        // Without a binding for Tab, which must leave the editor for those who have no mouse.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorState.readOnly.of(isReadOnly),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed.current?.(update.state.doc.toString());
        }),
      ],
    });
    view.current = editor;
    return () => {
      view.current = null;
      editor.destroy();
    };
  }, [label, isReadOnly, mostLines]);

  useEffect(() => {
    first.current = value;
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  return <div ref={place} />;
}
