// How long the rest of a run takes, from the run's own times. An estimate, and said to be one.

import type { RunTask, StatusAnswer } from "../../api/types";

/** Of `GET /api/runs/{run}/graph`. */
export interface GraphTask {
  id: string;
  dependencies: string[];
  estimate_ms: number;
}

export interface PathStep {
  id: string;
  left: number;
}

export interface Rest {
  /** How many tasks of this run it is reckoned from. */
  ended: number;
  tasks: number;
  /** Null while too little is known. */
  shortest: number | null;
  longest: number | null;
  path: PathStep[];
  pathLeft: number | null;
}

const OPEN = new Set(["pending", "waiting", "running", "needs"]);
const ENOUGH = 2;
const OVERRUN = 0.25;

export const isOpen = (task: RunTask): boolean => OPEN.has(task.state);

/** How long tasks took here against what was expected; agents and commands by themselves, since they differ most. */
function pace(tasks: RunTask[], expected: Map<string, number>) {
  const sums = { agent: [0, 0], command: [0, 0] } as Record<string, [number, number]>;
  let ended = 0;
  for (const task of tasks) {
    if ((task.state !== "landed" && task.state !== "completed") || task.worked_ms === 0) continue;
    const sum = sums[task.agent ? "agent" : "command"];
    if (!sum) continue;
    sum[0] += task.worked_ms;
    sum[1] += expected.get(task.id) ?? 0;
    ended += 1;
  }
  const all = (sums.agent?.[1] ?? 0) + (sums.command?.[1] ?? 0);
  const common = all > 0 ? ((sums.agent?.[0] ?? 0) + (sums.command?.[0] ?? 0)) / all : 1;
  const of = (task: RunTask) => {
    const [took, wanted] = sums[task.agent ? "agent" : "command"] ?? [0, 0];
    return wanted > 0 ? took / wanted : common;
  };
  return { ended, of };
}

export function restOf(tasks: RunTask[], status: StatusAnswer | null, graph: GraphTask[]): Rest {
  const expected = new Map(graph.map((task) => [task.id, task.estimate_ms]));
  const { ended, of } = pace(tasks, expected);
  const since = new Map(status?.running.map((one) => [one.task, one.for_ms ?? 0]));
  const left = new Map<string, number>();
  let work = 0;
  for (const task of tasks) {
    if (!isOpen(task)) continue;
    // A task in review has done its work.
    const whole = task.phase === "review" ? 0 : (expected.get(task.id) ?? 0) * of(task);
    const passed = since.get(task.id) ?? 0;
    // What takes longer than expected takes a part of that longer still.
    const rest = Math.max(whole - passed, passed * OVERRUN);
    left.set(task.id, rest);
    work += rest;
  }
  const { path, length } = longestPath(tasks, left);
  const slots = Math.max(1, status?.slots ?? 1);
  const isKnown = ended >= ENOUGH && graph.length > 0;
  return {
    ended,
    tasks: left.size,
    shortest: isKnown ? Math.max(length, work / slots) : null,
    longest: isKnown ? length + (work - length) / slots : null,
    path,
    pathLeft: isKnown ? length : null,
  };
}

/** Over the tasks that are left; of equally long ones, that of more tasks. */
function longestPath(tasks: RunTask[], left: Map<string, number>): { path: PathStep[]; length: number } {
  const best = new Map<string, { length: number; steps: number; before: string | null }>();
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const find = (first: string): void => {
    const open = [first];
    while (open.length > 0) {
      const id = open[open.length - 1] as string;
      const before = (byId.get(id)?.dependencies ?? []).filter((on) => left.has(on));
      const unknown = before.filter((on) => !best.has(on));
      if (unknown.length > 0) {
        open.push(...unknown);
        continue;
      }
      open.pop();
      if (best.has(id)) continue;
      let chosen = { length: 0, steps: 0, before: null as string | null };
      for (const on of before) {
        const one = best.get(on);
        if (one && (one.length > chosen.length || (one.length === chosen.length && one.steps > chosen.steps)))
          chosen = { length: one.length, steps: one.steps, before: on };
      }
      best.set(id, {
        length: chosen.length + (left.get(id) ?? 0),
        steps: chosen.steps + 1,
        before: chosen.before,
      });
    }
  };
  let last: string | null = null;
  for (const id of left.keys()) {
    find(id);
    const [one, other] = [best.get(id), last ? best.get(last) : undefined];
    if (one && (!other || one.length > other.length || (one.length === other.length && one.steps > other.steps)))
      last = id;
  }
  const length = (last && best.get(last)?.length) || 0;
  const path: PathStep[] = [];
  for (let at: string | null = last; at; at = best.get(at)?.before ?? null)
    path.unshift({ id: at, left: left.get(at) ?? 0 });
  return { path, length };
}
