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
async () => {{
  const list = document.querySelector('[role=group][aria-label=Instances]');
  const frames = [];
  let drawn = 0, before = performance.now();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const began = before;
  while (!/^[\\d,]+ instances$/.test(list.lastElementChild.textContent)) {{
    list.scrollTop += 1200;
    await frame();
    const now = performance.now();
    frames.push(now - before);
    before = now;
    drawn = Math.max(drawn, list.querySelectorAll('[data-row]').length);
    if (now - began > 1200000) throw new Error('the end does not come near');
  }}
  {_FIGURES}
  return {{ rows: list.lastElementChild.textContent, drawn, ...figures }};
}}
"""
"""Scrolls the list of instances to its end, and counts the rows that are drawn at once."""

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
  const nodes = document.querySelectorAll('.react-flow__node').length;
  {_FIGURES}
  mouse('mouseup', window, 0);
  return {{ nodes, places: places.size, ...figures }};
}}
"""
"""Drags the graph to and fro, one step in each frame."""
