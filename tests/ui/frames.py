"""Scripts that count frames in a page while it moves."""

from __future__ import annotations

from typing import Final

_FIGURES = """
  frames.sort((one, other) => one - other);
  const share = (of) => Math.round(frames[Math.floor((frames.length - 1) * of)]);
  const figures = {
    frames: frames.length,
    seconds: (performance.now() - began) / 1000,
    p50: share(0.5),
    p95: share(0.95),
    worst: share(1),
    heap: Math.round((performance.memory?.usedJSHeapSize ?? 0) / 2 ** 20),
  };
"""

SCROLL: Final = f"""
async (step) => {{
  const list = document.querySelector('[role=group][aria-label=Instances]');
  const frames = [];
  let drawn = 0, before = performance.now();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const began = before;
  const foot = () => list.lastElementChild.textContent;
  while (!/^[\\d,]+ instances$/.test(foot())) {{
    if (foot() !== 'Reading on…') throw new Error(foot());
    list.scrollTop += step;
    await frame();
    const now = performance.now();
    frames.push(now - before);
    before = now;
    drawn = Math.max(drawn, list.querySelectorAll('[data-row]').length);
  }}
  {_FIGURES}
  return {{ rows: list.lastElementChild.textContent, drawn, ...figures }};
}}
"""
"""Scrolls the list of instances to its end, by so many pixels in each frame, and counts the rows
that are drawn at once. It ends at once where the list cannot be read on, and says why."""

PAN: Final = f"""
async () => {{
  const pane = document.querySelector('.react-flow__pane');
  const moved = document.querySelector('.react-flow__viewport');
  const {{ left, top, width, height }} = pane.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const mouse = (type, target, aside) => {{
    const place = {{ clientX: x + aside, clientY: y + aside / 2 }};
    const how = {{ view: window, bubbles: true, cancelable: true, button: 0, buttons: 1 }};
    target.dispatchEvent(new MouseEvent(type, {{ ...how, ...place }}));
  }};
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const frames = [];
  const places = new Set();
  await frame();
  mouse('mousedown', pane, 0);
  let before = performance.now();
  const began = before;
  for (let turn = 1; turn <= 180; turn++) {{
    mouse('mousemove', window, 100 * Math.sin(turn / 15));
    await frame();
    const now = performance.now();
    frames.push(now - before);
    before = now;
    places.add(moved.style.transform);
  }}
  const picture = document.querySelector('canvas[data-boxes]');
  const drawn = document.querySelectorAll('.react-flow__node').length;
  const nodes = drawn + Number(picture?.dataset.boxes ?? 0);
  {_FIGURES}
  // What was seen moved, too: a picture is another one at another place.
  const seen = picture?.toDataURL();
  mouse('mousemove', window, 60);
  await frame();
  await frame();
  const hasMoved = picture === null || picture.toDataURL() !== seen;
  mouse('mouseup', window, 0);
  return {{ nodes, places: places.size, hasMoved, ...figures }};
}}
"""
"""Drags the graph to and fro, one step in each frame."""
