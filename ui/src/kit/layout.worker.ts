/** Lays out graphs beside the page, which answers meanwhile. */

import { layoutOf } from "../core/layout";
import type { LayoutTask } from "./layouts";

addEventListener("message", ({ data }: MessageEvent<LayoutTask>) => {
  postMessage({ number: data.number, layout: layoutOf(data.graph, data.options) });
});
