// The timeline on a canvas: lanes by time.

import { duration } from "../../../lib/format";
import { graphWords } from "../../../words/graph";
import type { Colours } from "../graph/colours";
import type { Bar, Density } from "./bars";

export const LANE = 30;
export const HEAD = 26;
export const LABELS = 96;

export interface Window {
  from: number;
  to: number;
}

export interface Painted {
  bars: Bar[];
  densities: Density[] | null;
  lanes: number;
  length: number;
  live: boolean;
  selected: string | null;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400].map(
  (s) => s * 1000,
);

export function paint(canvas: HTMLCanvasElement, what: Painted, window: Window, colours: Colours): void {
  const density = Math.min(2, devicePixelRatio || 1);
  const width = canvas.clientWidth;
  const height = HEAD + LANE * (what.densities?.length ?? what.lanes) + 8;
  canvas.style.height = `${height}px`;
  if (canvas.width !== width * density || canvas.height !== height * density) {
    canvas.width = width * density;
    canvas.height = height * density;
  }
  const to = canvas.getContext("2d", { alpha: false });
  if (!to || width === 0) return;
  to.setTransform(density, 0, 0, density, 0, 0);
  to.fillStyle = colours.paper;
  to.fillRect(0, 0, width, height);
  const x = (time: number) => LABELS + ((time - window.from) / (window.to - window.from)) * (width - LABELS - 12);
  axis(to, window, x, height, width, colours);
  to.save();
  to.beginPath();
  to.rect(LABELS, 0, width - LABELS, height);
  to.clip();
  if (what.densities)
    for (const [lane, one] of what.densities.entries()) paintDensity(to, one, lane, what.length, x, colours);
  else for (const bar of what.bars) paintBar(to, bar, x, colours, bar.task === what.selected);
  if (what.live) nowLine(to, x(what.length), height, colours);
  to.restore();
  labels(to, what, colours);
}

function axis(
  to: CanvasRenderingContext2D,
  window: Window,
  x: (time: number) => number,
  height: number,
  width: number,
  colours: Colours,
): void {
  const span = window.to - window.from;
  const step = steps.find((one) => (one / span) * (width - LABELS) > 70) ?? span;
  to.font = "11px system-ui, sans-serif";
  to.textBaseline = "alphabetic";
  to.strokeStyle = colours.line;
  to.fillStyle = colours.ink3;
  to.lineWidth = 1;
  for (let time = Math.ceil(window.from / step) * step; time <= window.to; time += step) {
    const at = Math.round(x(time)) + 0.5;
    to.beginPath();
    to.moveTo(at, HEAD - 4);
    to.lineTo(at, height);
    to.stroke();
    to.fillText(duration(time), at + 3, 15);
  }
}

function paintBar(
  to: CanvasRenderingContext2D,
  bar: Bar,
  x: (time: number) => number,
  colours: Colours,
  selected: boolean,
): void {
  const top = HEAD + bar.lane * LANE + 4;
  const tall = LANE - 10;
  const [left, right] = [x(bar.from), Math.max(x(bar.from) + 1.5, x(bar.to))];
  if (bar.waitedSince !== null && bar.waitedSince < bar.from) {
    to.fillStyle = colours.phases.waiting ?? colours.line;
    to.fillRect(x(bar.waitedSince), top + tall / 2 - 1, left - x(bar.waitedSince), 2);
  }
  to.fillStyle = colours.phases.working ?? colours.ink3;
  to.fillRect(left, top, right - left, tall);
  for (const piece of bar.pieces) {
    to.fillStyle = colours.phases[piece.phase] ?? colours.ink3;
    to.fillRect(x(piece.from), top, Math.max(1, x(piece.to) - x(piece.from)), tall);
  }
  const state =
    bar.end === null || bar.end === "succeeded"
      ? null
      : bar.end === "asked"
        ? colours.state.needs
        : colours.state.failed;
  if (state) {
    to.fillStyle = state.fill;
    to.fillRect(right - 3, top, 3, tall);
  }
  if (bar.critical) {
    to.fillStyle = colours.ink;
    to.fillRect(left, top + tall + 2, right - left, 2);
  }
  if (selected) {
    to.strokeStyle = colours.accent;
    to.lineWidth = 2;
    to.strokeRect(left - 1, top - 1, right - left + 2, tall + 2);
  }
  if (right - left > 44) {
    to.save();
    to.beginPath();
    to.rect(left, top, right - left, tall);
    to.clip();
    to.font = "600 11px system-ui, sans-serif";
    // On its own ground, so that it can be read on every phase.
    const room = to.measureText(bar.task).width + 8;
    to.fillStyle = colours.paper;
    to.fillRect(left + 4, top + 3, room, tall - 6);
    to.fillStyle = colours.ink;
    to.fillText(bar.task, left + 8, top + tall - 6);
    to.restore();
  }
}

function paintDensity(
  to: CanvasRenderingContext2D,
  one: Density,
  lane: number,
  length: number,
  x: (time: number) => number,
  colours: Colours,
): void {
  const top = HEAD + lane * LANE + 4;
  const tall = LANE - 10;
  to.fillStyle = colours.phases.working ?? colours.ink3;
  for (const [place, count] of one.counts.entries()) {
    if (count === 0) continue;
    const left = x((place / one.counts.length) * length);
    const right = x(((place + 1) / one.counts.length) * length);
    const high = Math.max(2, (tall * count) / one.most);
    to.fillRect(left, top + tall - high, Math.max(1, right - left), high);
  }
}

function nowLine(to: CanvasRenderingContext2D, at: number, height: number, colours: Colours): void {
  to.strokeStyle = colours.state.failed.fill;
  to.lineWidth = 1.5;
  to.beginPath();
  to.moveTo(at, HEAD - 8);
  to.lineTo(at, height);
  to.stroke();
  to.fillStyle = colours.state.failed.text;
  to.font = "600 11px system-ui, sans-serif";
  to.fillText(graphWords.timeline.now, at - 26, HEAD - 4);
}

function labels(to: CanvasRenderingContext2D, what: Painted, colours: Colours): void {
  to.font = "11.5px system-ui, sans-serif";
  to.fillStyle = colours.ink2;
  const names =
    what.densities?.map((one) => one.name) ??
    Array.from({ length: what.lanes }, (_, lane) => graphWords.timeline.worker(lane + 1));
  names.forEach((name, lane) => {
    let cut = name;
    while (cut.length > 2 && to.measureText(cut).width > LABELS - 16) cut = `${cut.slice(0, -2)}…`;
    to.fillText(cut, 10, HEAD + lane * LANE + 18);
  });
}
