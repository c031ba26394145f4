import { useStoreApi } from "@xyflow/react";
import { useEffect, useMemo, useRef } from "react";

import { usePreferences } from "../state/preferences";
import styles from "./Graph.module.css";
import { paint, pictureOf, type Drawing } from "./graphPicture";

/** The graph from far away. It is painted again in each frame in which the view has moved. */
export function FarGraph({ boxes, lines, frames, selected }: Drawing) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  const { theme } = usePreferences();
  const picture = useMemo(() => pictureOf({ boxes, lines, frames, selected }), [boxes, lines, frames, selected]);
  useEffect(() => {
    const drawn = canvas.current;
    const context = drawn?.getContext("2d") ?? null;
    if (drawn === null || context === null) return;
    let palette = paletteOf(drawn);
    let frame = 0;
    const draw = () => {
      frame = 0;
      const { width, height, transform } = store.getState();
      const ratio = window.devicePixelRatio;
      const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (drawn.width !== wide || drawn.height !== high) [drawn.width, drawn.height] = [wide, high];
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const [x, y, zoom] = transform;
      const count = String(paint(context, picture, { x, y, zoom }, { width, height }, palette));
      if (drawn.dataset["boxes"] !== count) drawn.dataset["boxes"] = count;
    };
    const again = () => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    };
    const recolour = () => {
      palette = paletteOf(drawn);
      again();
    };
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", recolour);
    const stop = store.subscribe(again);
    draw();
    return () => {
      stop();
      system.removeEventListener("change", recolour);
      cancelAnimationFrame(frame);
    };
  }, [store, picture, theme]);
  return <canvas ref={canvas} className={styles["picture"]} aria-hidden />;
}

/** Colours as the style sheet has them now, each looked up once. */
function paletteOf(canvas: HTMLCanvasElement): (role: string) => string {
  const style = getComputedStyle(canvas);
  canvas.dataset["font"] = style.fontFamily;
  const known = new Map<string, string>();
  return (role) => {
    const found = known.get(role) ?? style.getPropertyValue(`--${role}`).trim();
    known.set(role, found);
    return found;
  };
}
