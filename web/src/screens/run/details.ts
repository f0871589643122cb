// What is asked about one task when it is looked at, kept while it is asked again.

import { useEffect, useMemo } from "react";
import { address, ask, get, Refusal } from "../../api/http";
import type { RunTask } from "../../api/types";
import { type Looked, useLooked } from "../../live/query";
import { type Check, checksOf } from "../task/checking";

/** Of `GET /api/runs/{run}/tasks/{task}/explanation`: what the panel shows of it. */
export interface Explanation {
  /** Nothing where the run is not active. */
  waits: { words: string }[] | null;
  model: { name: string | null; why: string | null } | null;
  specialist: { name: string } | null;
  files: { declared: string[]; learned: string[] };
  verify: string[];
  decisions: { attempt: number; strategy: string; reason: string }[];
}

/** Asked again when something has happened to the task, not at every event of the run. */
function useOfTask<T>(name: string, run: string, task: RunTask, get: (signal: AbortSignal) => Promise<T>): Looked<T> {
  const isAtWork = task.state === "running";
  const looked = useLooked(`${name}\n${run}\n${task.id}`, get, undefined, isAtWork ? 3000 : undefined);
  const { again } = looked;
  const happened = [task.state, task.phase, task.attempts, task.tried, task.ended_at].join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: what has happened to it is why it is asked again
  useEffect(again, [happened, again]);
  return looked;
}

export function useExplanation(run: string, task: RunTask): Explanation | null {
  return useOfTask("why", run, task, async (signal) => {
    const found = await get<"GET /api/runs/{run}/tasks/{task}/explanation">(
      "/api/runs/{run}/tasks/{task}/explanation",
      { run, task: task.id },
      signal,
    );
    return found as unknown as Explanation;
  }).value;
}

/** How each check of its newest attempt went. */
export function useDetailChecks(run: string, task: RunTask): Check[] {
  const detail = useOfTask("detail", run, task, async (signal) => {
    const path = "/api/runs/{run}/tasks/{task}";
    return (await get<"GET /api/runs/{run}/tasks/{task}">(path, { run, task: task.id }, signal)).task;
  }).value;
  return useMemo(() => (detail ? checksOf(detail.verify, detail.checks) : []), [detail]);
}

const TAIL = 4000;

/** The end of what its agent or command said last; nothing where it has not begun. */
export function useTail(run: string, task: RunTask): string | null {
  return useOfTask("tail", run, task, async (signal) => {
    if (task.attempts === 0) return "";
    const path = address("/api/runs/{run}/tasks/{task}/log", { run, task: task.id });
    const said = await (await ask(path, { signal, headers: { range: `bytes=-${TAIL}` } })).text();
    return said.slice(-TAIL);
  }).value;
}

export interface Changed {
  files: { name: string; lines: string }[];
  added: number;
  removed: number;
}

/** What `git diff --stat` says: files, and how many lines in all. */
export function readStat(stat: string): Changed {
  const files: Changed["files"] = [];
  for (const line of stat.split("\n")) {
    const found = /^ (.+?)\s+\|\s+(\d+|Bin)/.exec(line);
    if (found?.[1]) files.push({ name: found[1], lines: found[2] ?? "" });
  }
  const sum = (what: string) => Number(new RegExp(`(\\d+) ${what}`).exec(stat)?.[1] ?? 0);
  return { files, added: sum("insertion"), removed: sum("deletion") };
}

/** Of these there is work to look at. */
const HAS_WORK = new Set(["running", "needs", "landed", "conflict"]);

export function useChanged(run: string, task: RunTask): Changed | null {
  return useOfTask("changed", run, task, async (signal) => {
    const none = { files: [], added: 0, removed: 0 };
    if (task.attempts === 0 || !HAS_WORK.has(task.state)) return none;
    try {
      const path = address("/api/runs/{run}/tasks/{task}/diff", { run, task: task.id, stat: true });
      const found = (await (await ask(path, { signal })).json()) as { stat?: string };
      return readStat(found.stat ?? "");
    } catch (error) {
      // Its work is not there: it has none, or it was set aside.
      if (error instanceof Refusal && error.status < 500) return none;
      throw error;
    }
  }).value;
}
