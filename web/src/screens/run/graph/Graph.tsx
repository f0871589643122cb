// The run's graph: folded where it is big, moved with the pointer or the keys, the same as a table for those who do not see it.

import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useParams, useSearch } from "wouter";
import { address, ask } from "../../../api/http";
import type { RunTask } from "../../../api/types";
import { count, dollars, duration } from "../../../lib/format";
import { useKeys } from "../../../lib/keys";
import { useLooked } from "../../../live/query";
import { useRun } from "../../../live/run";
import { Icon } from "../../../parts/Icon";
import { Refused } from "../../../parts/Messages";
import { shownOf, told } from "../../../parts/State";
import type { StateName } from "../../../words";
import { graphWords as text } from "../../../words/graph";
import { RunFrame } from "../RunFrame";
import { onColours } from "./colours";
import type { Shown } from "./drawing";
import { GraphTable } from "./GraphTable";
import { type Box, GROUP, type GraphLayout } from "./layout";
import { MiniMap } from "./MiniMap";
import { Picture, type View } from "./picture";

const FOLDS = ["auto", "none", "groups", "all"];

export function Graph() {
  const { run = "" } = useParams<{ run: string }>();
  return (
    <RunFrame run={run} tab="graph">
      <GraphBody run={run} />
    </RunFrame>
  );
}

function useAddress() {
  const search = useSearch();
  const [place, go] = useLocation();
  const given = useMemo(() => new URLSearchParams(search), [search]);
  const set = (name: string, value: string | null) => {
    const next = new URLSearchParams(search);
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
    const words = next.toString();
    go(words ? `${place}?${words}` : place, { replace: true });
  };
  return { given, set };
}

function GraphBody({ run }: { run: string }) {
  const live = useRun(run);
  const { given, set } = useAddress();
  const [, go] = useLocation();
  const fold = given.get("fold") ?? "auto";
  const open = given.get("open") ?? "";
  const task = given.get("task");
  const asTable = given.get("as") === "table";
  // The plan may grow while it runs; a change of state moves nothing.
  const key = `layout-${run}-${fold}-${open}-${live.tasks.length}`;
  const looked = useLooked(live.tasks.length > 0 ? key : null, async (signal) => {
    const query = { run, fold, open: open || undefined };
    return (await (await ask(address("/api/runs/{run}/graph/layout", query), { signal })).json()) as GraphLayout;
  });
  const layout = looked.value;
  useKeys([{ keys: "t", label: text.keys.table, act: () => set("as", asTable ? null : "table") }]);
  return (
    <>
      <div className="tools">
        <fieldset className="segments" aria-label={text.show}>
          <button type="button" aria-pressed={!asTable} onClick={() => set("as", null)}>
            {text.picture}
          </button>
          <button type="button" aria-pressed={asTable} onClick={() => set("as", "table")}>
            {text.table}
          </button>
        </fieldset>
        {!asTable && (
          <fieldset className="segments" aria-label={text.fold}>
            {FOLDS.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={fold === name}
                onClick={() => set("fold", name === "auto" ? null : name)}
              >
                {text.folds[name]}
              </button>
            ))}
          </fieldset>
        )}
      </div>
      {looked.refusal && (
        <div className="page">
          <Refused error={looked.refusal} />
        </div>
      )}
      {layout && asTable && (
        <GraphTable run={run} layout={layout} byId={live.byId} chosen={task} choose={(id) => set("task", id)} />
      )}
      {layout && !asTable && (
        <Canvas
          key={key}
          layout={layout}
          byId={live.byId}
          task={task}
          choose={(id) => set("task", id)}
          openTask={(id) => go(`/runs/${run}/tasks/${encodeURIComponent(id)}`)}
          unfold={(group) => set("open", [...new Set([...open.split(",").filter(Boolean), group])].join(","))}
        />
      )}
    </>
  );
}

interface CanvasProps {
  layout: GraphLayout;
  byId: Map<string, RunTask>;
  task: string | null;
  choose: (id: string | null) => void;
  openTask: (id: string) => void;
  unfold: (group: string) => void;
}

function more(task: RunTask | undefined): string {
  if (!task) return "";
  const took = task.worked_ms > 0 ? duration(task.worked_ms) : "";
  const cost = task.cost_usd ? dollars(task.cost_usd) : "";
  return [task.phase, took, cost, task.agent].filter(Boolean).join(" · ");
}

function shownBy(byId: Map<string, RunTask>): (box: Box) => Shown {
  return (box) => {
    if (box.folded) return { state: box.folded.state as StateName, more: text.groupOf(box.folded.tasks) };
    const task = box.id ? byId.get(box.id) : undefined;
    return { state: (task?.state ?? "pending") as StateName, more: more(task) };
  };
}

function Canvas({ layout, byId, task, choose, openTask, unfold }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const [view, setView] = useState<View>({ x: 0, y: 0, scale: 1 });
  const [, redraw] = useState(0);
  const before = useRef(byId);
  const at = useRef({ choose, openTask, unfold, byId, layout });
  at.current = { choose, openTask, unfold, byId, layout };
  const placeOf = useMemo(() => new Map(layout.ids.map((id, place) => [id, layout.stands[place] ?? 0])), [layout]);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const made = new Picture(element, layout, shownBy(at.current.byId), setView);
    picture.current = made;
    made.fit();
    redraw((n) => n + 1);
    const sized = new ResizeObserver(() => made.draw());
    sized.observe(element);
    const off = onColours(() => made.recolour());
    return () => {
      off();
      sized.disconnect();
      made.end();
    };
  }, [layout]);

  // Only boxes whose task has changed are painted anew.
  useEffect(() => {
    const made = picture.current;
    if (!made || before.current === byId) return;
    const changed: number[] = [];
    for (const [id, now] of byId) if (before.current.get(id) !== now) changed.push(placeOf.get(id) ?? 0);
    before.current = byId;
    if (changed.length > 0) made.restate(shownBy(byId), changed);
  }, [byId, placeOf]);

  useEffect(() => {
    const made = picture.current;
    if (!made) return;
    const place = task === null ? null : (placeOf.get(task) ?? null);
    made.select(place);
    if (place !== null) made.reveal(place);
  }, [task, placeOf]);

  useMoving(canvas, picture, at);
  const step = (find: (made: Picture, from: number) => number | null) => {
    const made = picture.current;
    if (!made) return;
    const from = made.selected ?? made.boxes.find((box) => box.id !== null)?.place ?? 0;
    const next = made.selected === null ? from : find(made, from);
    const box = next === null ? undefined : made.boxes[next];
    if (box?.id) choose(box.id);
    else if (box) {
      made.select(box.place);
      made.reveal(box.place);
    }
  };
  useKeys([
    { keys: "ArrowLeft", label: text.keys.left, act: () => step((made, from) => made.beside(from, false)) },
    { keys: "ArrowRight", label: text.keys.right, act: () => step((made, from) => made.beside(from, true)) },
    { keys: "ArrowUp", label: text.keys.up, act: () => step((made, from) => made.along(from, -1)) },
    { keys: "ArrowDown", label: text.keys.down, act: () => step((made, from) => made.along(from, 1)) },
    { keys: "0", label: text.keys.fit, act: () => picture.current?.fit() },
    { keys: "+", label: text.zoomIn, act: () => zoomBy(1.4) },
    { keys: "-", label: text.zoomOut, act: () => zoomBy(1 / 1.4) },
    {
      keys: "Enter",
      label: text.openGroup,
      act: () => {
        const made = picture.current;
        const box = made?.selected != null ? made.boxes[made.selected] : undefined;
        if (box?.id) openTask(box.id);
        else if (box?.kind === GROUP && box.folded) unfold(box.folded.name);
      },
    },
  ]);
  const zoomBy = (by: number) => {
    const made = picture.current;
    if (made) made.zoom(by, made.size.width / 2, made.size.height / 2);
  };
  const summary = useMemo(
    () => text.label(layout.ids.length, told(shownOf([...byId.values()].map((one) => one.state)))),
    [layout, byId],
  );
  return (
    <div className="graph">
      <canvas ref={canvas} role="img" aria-label={summary} />
      <div className="graph-tools">
        <button type="button" className="button icon-only" aria-label={text.zoomIn} onClick={() => zoomBy(1.4)}>
          <Icon name="plus" />
        </button>
        <button type="button" className="button icon-only" aria-label={text.zoomOut} onClick={() => zoomBy(1 / 1.4)}>
          <Icon name="minus" />
        </button>
        <button type="button" className="button" onClick={() => picture.current?.fit()}>
          {text.fit} <kbd>0</kbd>
        </button>
        <span className="small faint keys">
          {count(layout.nodes.length)} · {text.hint}
        </span>
      </div>
      {picture.current && <MiniMap picture={picture.current} view={view} />}
    </div>
  );
}

type At = React.RefObject<{
  choose: (id: string | null) => void;
  openTask: (id: string) => void;
  unfold: (group: string) => void;
}>;

/** Pointer and wheel. */
function useMoving(
  canvas: React.RefObject<HTMLCanvasElement | null>,
  picture: React.RefObject<Picture | null>,
  at: At,
): void {
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const held = new Map<number, { x: number; y: number }>();
    let travelled = 0;
    const placed = (event: PointerEvent | WheelEvent | MouseEvent) => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const down = (event: PointerEvent) => {
      element.setPointerCapture(event.pointerId);
      held.set(event.pointerId, placed(event));
      travelled = 0;
    };
    const move = (event: PointerEvent) => {
      const last = held.get(event.pointerId);
      const now = placed(event);
      if (!last) {
        element.style.cursor = picture.current?.boxAt(now.x, now.y) ? "pointer" : "grab";
        return;
      }
      const others = [...held.entries()].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
      const other = others[0];
      if (other) {
        const far = (one: { x: number; y: number }) => Math.hypot(one.x - other.x, one.y - other.y);
        picture.current?.zoom(far(now) / Math.max(1, far(last)), (now.x + other.x) / 2, (now.y + other.y) / 2);
      } else {
        travelled += Math.abs(now.x - last.x) + Math.abs(now.y - last.y);
        picture.current?.moveBy(now.x - last.x, now.y - last.y);
      }
      held.set(event.pointerId, now);
    };
    const up = (event: PointerEvent) => {
      held.delete(event.pointerId);
      if (travelled > 4) return;
      const now = placed(event);
      const box = picture.current?.boxAt(now.x, now.y);
      if (box?.id) at.current.choose(box.id);
      else if (box?.kind === GROUP && box.folded) at.current.unfold(box.folded.name);
      else if (!box) at.current.choose(null);
    };
    const twice = (event: MouseEvent) => {
      const now = placed(event);
      const box = picture.current?.boxAt(now.x, now.y);
      if (box?.id) at.current.openTask(box.id);
    };
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const now = placed(event);
      if (event.shiftKey) picture.current?.moveBy(-event.deltaY, 0);
      else picture.current?.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), now.x, now.y);
    };
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    element.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
    element.addEventListener("dblclick", twice);
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("dblclick", twice);
      element.removeEventListener("wheel", wheel);
    };
  }, [canvas, picture, at]);
}
