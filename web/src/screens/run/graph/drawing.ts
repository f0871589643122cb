// How boxes and lines look. Landed and pending stay plain, so that what is live or needs the user is seen at once.

import { ORDER } from "../../../parts/State";
import type { StateName } from "../../../words";
import { words } from "../../../words";
import { graphWords } from "../../../words/graph";
import type { Colours } from "./colours";
import { type Box, GATE, type Wire } from "./layout";

/** Below this scale words cannot be read and are not drawn. */
export const READABLE = 0.55;

const TINTED = new Set<StateName>(["running", "needs", "failed", "conflict"]);

export interface Shown {
  state: StateName;
  /** Beneath its name. */
  more: string;
}

export function traceWire(path: CanvasRenderingContext2D | Path2D, wire: Wire): void {
  const { points } = wire;
  path.moveTo(points[0] ?? 0, points[1] ?? 0);
  for (let at = 2; at < points.length; at += 2) {
    const [x0 = 0, y0 = 0, x = 0, y = 0] = points.slice(at - 2, at + 2);
    // By turns it bends and runs level.
    if (at % 4 === 2 && y0 !== y) path.bezierCurveTo((x0 + x) / 2, y0, (x0 + x) / 2, y, x, y);
    else path.lineTo(x, y);
  }
}

export function drawBox(
  to: CanvasRenderingContext2D,
  box: Box,
  shown: Shown,
  colours: Colours,
  scale: number,
  selected: boolean,
): void {
  const { x, y, width, height } = box;
  const own = colours.state[shown.state];
  if (box.kind === GATE) {
    to.fillStyle = box.critical ? colours.ink : colours.lineStrong;
    to.fillRect(x, y, width, height);
    return;
  }
  to.fillStyle = TINTED.has(shown.state) ? own.tint : colours.paper;
  to.strokeStyle = selected
    ? colours.accent
    : TINTED.has(shown.state)
      ? own.fill
      : box.critical
        ? colours.ink
        : colours.lineStrong;
  to.lineWidth = selected ? 2.5 : box.critical ? 1.75 : 1;
  to.beginPath();
  to.roundRect(x, y, width, height, 6);
  to.fill();
  to.stroke();
  if (scale < READABLE) {
    to.fillStyle = own.fill;
    to.fillRect(x, y, 5, height);
    return;
  }
  glyph(to, shown.state, x + 9, y + 12, own.text);
  const name = box.folded
    ? box.folded.kind === "rest"
      ? graphWords.andMore(box.folded.tasks, words.states[box.folded.name as StateName] ?? box.folded.name)
      : box.folded.name
    : (box.id ?? "");
  to.fillStyle = shown.state === "pending" || shown.state === "skipped" ? colours.ink2 : colours.ink;
  to.font = "600 11.5px system-ui, sans-serif";
  to.textBaseline = "alphabetic";
  text(to, name, x + 26, y + 16, width - 34);
  if (box.critical) {
    to.fillStyle = colours.ink;
    to.fillRect(x + 26, y + 18.5, Math.min(to.measureText(name).width + 4, width - 34), 1.2);
  }
  to.fillStyle = colours.ink3;
  to.font = "10.5px system-ui, sans-serif";
  text(to, shown.more, x + 26, y + 30, width - 34);
  if (box.folded) parts(to, box, colours);
}

/** A bar by state at the foot of a folded node. */
function parts(to: CanvasRenderingContext2D, box: Box, colours: Colours): void {
  if (!box.folded) return;
  let x = box.x + 10;
  const room = box.width - 20;
  for (const state of ORDER) {
    const count = box.folded.counts[state] ?? 0;
    if (count === 0) continue;
    const width = Math.max(3, (room * count) / box.folded.tasks);
    to.fillStyle = colours.state[state].fill;
    to.fillRect(x, box.y + box.height - 11, width - 1, 4);
    x += width;
  }
}

const cuts = new Map<string, string>();

function text(to: CanvasRenderingContext2D, words: string, x: number, y: number, room: number): void {
  if (!words) return;
  const key = `${to.font}\n${room}\n${words}`;
  let cut = cuts.get(key);
  if (cut === undefined) {
    cut = words;
    while (cut.length > 1 && to.measureText(cut).width > room) cut = `${cut.slice(0, -2)}…`;
    if (cuts.size > 20_000) cuts.clear();
    cuts.set(key, cut);
  }
  to.fillText(cut, x, y);
}

/** The same shapes as in parts/State. */
function glyph(to: CanvasRenderingContext2D, state: StateName, x: number, y: number, colour: string): void {
  to.save();
  to.translate(x - 1, y - 7);
  to.strokeStyle = colour;
  to.fillStyle = colour;
  to.lineWidth = 1.5;
  to.lineCap = "round";
  to.beginPath();
  switch (state) {
    case "running":
      to.arc(7, 7, 4.6, 0, Math.PI * 2);
      to.fill();
      break;
    case "needs":
      to.moveTo(7, 1.4);
      to.lineTo(12.6, 7);
      to.lineTo(7, 12.6);
      to.lineTo(1.4, 7);
      to.fill();
      break;
    case "landed":
    case "completed":
      to.moveTo(2.6, 7.4);
      to.lineTo(5.6, 10.4);
      to.lineTo(11.4, 3.8);
      to.stroke();
      break;
    case "failed":
      to.moveTo(3.2, 3.2);
      to.lineTo(10.8, 10.8);
      to.moveTo(10.8, 3.2);
      to.lineTo(3.2, 10.8);
      to.stroke();
      break;
    case "conflict":
      to.moveTo(2.4, 5);
      to.lineTo(11.6, 5);
      to.moveTo(2.4, 9);
      to.lineTo(11.6, 9);
      to.moveTo(9, 1.8);
      to.lineTo(5, 12.2);
      to.stroke();
      break;
    default:
      to.arc(7, 7, 4.6, 0, Math.PI * 2);
      if (state === "skipped" || state === "cancelled") {
        to.moveTo(3.8, 10.2);
        to.lineTo(10.2, 3.8);
      }
      to.stroke();
      if (state === "waiting") {
        to.beginPath();
        to.moveTo(7, 7);
        to.arc(7, 7, 4.6, -Math.PI / 2, 0);
        to.fill();
      }
  }
  to.restore();
}
