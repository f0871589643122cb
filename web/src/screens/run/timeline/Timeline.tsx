// Who worked on what when, and what was waited for.

import { type PointerEvent, useCallback, useEffect, useMemo, useRef, useState, type WheelEvent } from "react";
import { useLocation, useParams, useSearch } from "wouter";
import { address, ask } from "../../../api/http";
import { duration } from "../../../lib/format";
import { useKeys } from "../../../lib/keys";
import { useLooked } from "../../../live/query";
import { useRun } from "../../../live/run";
import { Refused } from "../../../parts/Messages";
import { graphWords } from "../../../words/graph";
import { colours, onColours } from "../graph/colours";
import { RunFrame } from "../RunFrame";
import { type Bar, bars, densities, type TimelineAnswer } from "./bars";
import { HEAD, LABELS, LANE, paint, type Window } from "./painting";
import { TimelineTable } from "./TimelineTable";

const text = graphWords.timeline;

/** Beyond so many, how many were at work at once is drawn instead of each. */
const MOST_BARS = 600;
const PARTS = 400;

export function Timeline() {
  const { run = "" } = useParams<{ run: string }>();
  return (
    <RunFrame run={run} tab="timeline">
      <Body run={run} />
    </RunFrame>
  );
}

function Body({ run }: { run: string }) {
  const live = useRun(run);
  const search = useSearch();
  const [place, go] = useLocation();
  const given = new URLSearchParams(search);
  const asTable = given.get("as") === "table";
  const looked = useLooked(
    `timeline-${run}`,
    async (signal) =>
      (await (await ask(address("/api/runs/{run}/timeline", { run }), { signal })).json()) as TimelineAnswer,
    (ring) => ring.run === run,
    live.status?.live ? 1000 : undefined,
  );
  const answer = looked.value;
  // While it runs, time goes on between its events.
  const elapsed = live.status?.live ? live.status.elapsed_ms : 0;
  const length = Math.max(1000, answer?.length_ms ?? 0, elapsed);
  const all = useMemo(() => (answer ? bars(answer, length) : []), [answer, length]);
  const show = (as: string | null) => {
    const next = new URLSearchParams(search);
    if (as) next.set("as", as);
    else next.delete("as");
    go(`${place}?${next}`, { replace: true });
  };
  const choose = (task: string) => go(`/runs/${run}/tasks/${encodeURIComponent(task)}`);
  useKeys([{ keys: "t", label: graphWords.keys.table, act: () => show(asTable ? null : "table") }]);
  return (
    <>
      <div className="tools">
        <fieldset className="segments" aria-label={graphWords.show}>
          <button type="button" aria-pressed={!asTable} onClick={() => show(null)}>
            {graphWords.picture}
          </button>
          <button type="button" aria-pressed={asTable} onClick={() => show("table")}>
            {graphWords.table}
          </button>
        </fieldset>
        <span className="grow" />
        <div className="legend">
          {Object.entries(text.phases).map(([phase, name]) => (
            <span key={phase}>
              <i className="swatch" style={{ background: `var(--phase-${phase})` }} />
              {name}
            </span>
          ))}
          <span>
            <i className="swatch line" />
            {graphWords.critical}
          </span>
        </div>
      </div>
      {looked.refusal && !answer && (
        <div className="page">
          <Refused error={looked.refusal} />
        </div>
      )}
      {answer && all.length === 0 && <p className="page faint">{text.nothing}</p>}
      {answer && all.length > 0 && asTable && <TimelineTable bars={all} run={run} />}
      {answer && all.length > 0 && !asTable && (
        <Canvas
          length={length}
          all={all}
          live={live.status?.live ?? false}
          selected={given.get("task")}
          epicOf={(task) => live.byId.get(task)?.epic_id ?? text.other}
          choose={choose}
        />
      )}
    </>
  );
}

interface CanvasProps {
  length: number;
  all: Bar[];
  live: boolean;
  selected: string | null;
  epicOf: (task: string) => string;
  choose: (task: string) => void;
}

function Canvas({ length, all, live, selected, epicOf, choose }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const lanes = all.reduce((most, bar) => Math.max(most, bar.lane + 1), 1);
  // Until it is moved, everything is shown; while it runs, with room for what comes.
  const [moved, setMoved] = useState<Window | null>(null);
  const window = moved ?? { from: 0, to: live ? length * 1.15 : length };
  const [tip, setTip] = useState<{ bar: Bar; x: number; y: number } | null>(null);
  const drag = useRef<{ x: number; window: Window; far: number } | null>(null);
  const many = all.length > MOST_BARS;
  // biome-ignore lint/correctness/useExhaustiveDependencies: epics do not change
  const dense = useMemo(() => (many ? densities(all, epicOf, length, PARTS) : null), [many, all, length]);
  const redraw = useCallback(() => {
    if (!canvas.current) return;
    paint(canvas.current, { bars: all, densities: dense, lanes: lanes, length, live, selected }, window, colours());
  }, [all, dense, lanes, length, live, selected, window]);
  useEffect(() => {
    redraw();
    const off = onColours(redraw);
    const sized = new ResizeObserver(redraw);
    if (canvas.current) sized.observe(canvas.current);
    return () => {
      off();
      sized.disconnect();
    };
  }, [redraw]);
  const timeAt = (x: number) => {
    const room = (canvas.current?.clientWidth ?? 1) - LABELS - 12;
    return window.from + ((x - LABELS) / room) * (window.to - window.from);
  };
  const barAt = (x: number, y: number): Bar | null => {
    if (dense) return null;
    const [time, lane] = [timeAt(x), Math.floor((y - HEAD) / LANE)];
    const slack = (window.to - window.from) / 300;
    return all.find((bar) => bar.lane === lane && time >= bar.from - slack && time <= bar.to + slack) ?? null;
  };
  const placed = (event: PointerEvent | WheelEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const move = (event: PointerEvent) => {
    const { x, y } = placed(event);
    const held = drag.current;
    if (held) {
      const room = (canvas.current?.clientWidth ?? 1) - LABELS - 12;
      const by = ((held.x - x) / room) * (held.window.to - held.window.from);
      held.far = Math.max(held.far, Math.abs(held.x - x));
      setMoved({ from: held.window.from + by, to: held.window.to + by });
      return;
    }
    const bar = barAt(x, y);
    setTip(bar ? { bar, x, y } : null);
  };
  const up = (event: PointerEvent) => {
    const held = drag.current;
    drag.current = null;
    const { x, y } = placed(event);
    const bar = held && held.far < 4 ? barAt(x, y) : null;
    if (bar) choose(bar.task);
  };
  const zoom = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey) return;
    const { x } = placed(event);
    const time = timeAt(x);
    const by = Math.exp(event.deltaY * 0.003);
    setMoved({ from: time - (time - window.from) * by, to: time + (window.to - time) * by });
  };
  return (
    <div className="timeline">
      <canvas
        ref={canvas}
        role="img"
        aria-label={text.label(all.length, lanes)}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: placed(event).x, window, far: 0 };
          setTip(null);
        }}
        onPointerMove={move}
        onPointerUp={up}
        onPointerLeave={() => setTip(null)}
        onDoubleClick={() => setMoved(null)}
        onWheel={zoom}
      />
      {tip && (
        <div
          className="tip"
          style={{ left: Math.min(tip.x + 12, (canvas.current?.clientWidth ?? 0) - 240), top: tip.y + 14 }}
        >
          <b>{tip.bar.task}</b> · {text.columns.attempt.toLowerCase()} {tip.bar.attempt} ·{" "}
          {duration(tip.bar.to - tip.bar.from)}
          {tip.bar.pieces.map((piece) => (
            <div key={`${piece.phase}-${piece.from}`} className="dim">
              {text.phases[piece.phase] ?? piece.phase} {duration(piece.to - piece.from)}
            </div>
          ))}
          {tip.bar.waitedSince !== null && (
            <div className="dim">
              {text.waited} {duration(tip.bar.from - tip.bar.waitedSince)}
              {tip.bar.waitedFor ? `: ${tip.bar.waitedFor.replaceAll("_", " ")}` : ""}
            </div>
          )}
          {tip.bar.critical && <div className="dim">{graphWords.criticalOnly}</div>}
        </div>
      )}
    </div>
  );
}
