import { lazy, Suspense } from "react";

import { Loading } from "./States";

export interface JsonEditorProps {
  label: string;
  value: string;
  onChange?: (text: string) => void;
  /** The editor grows with its text up to this many lines. */
  mostLines?: number;
}

const CodeEditor = lazy(() => import("./CodeEditor"));

/** An editor of JSON text that marks what is not JSON. Its code is loaded when it is first shown. */
export function JsonEditor(props: JsonEditorProps) {
  return (
    <Suspense fallback={<Loading label={`Loading ${props.label}`} />}>
      <CodeEditor {...props} />
    </Suspense>
  );
}
