// The order in which work lands, and which of it touches the same files.

import type { RunTask, StatusAnswer } from "../../api/types";
import { at } from "../../lib/format";
import { reviewWords as text } from "../../words/review";
import type { TaskEvent } from "../task/events";

export interface Car {
  task: RunTask;
  /** From 1; null where it has landed or does not take part. */
  place: number | null;
  words: string;
}

/** Files that each task has changed so far, as its newest attempt left them. */
export function filesByTask(events: TaskEvent[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { task, change } of events)
    if (task && change?.touched?.files) found.set(task, new Set(change.touched.files));
  return found;
}

/** Pairs that Conductor expects to conflict, by both names. */
export function foreseen(events: TaskEvent[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const event of events) {
    if (event.type !== "conflict_foreseen" || !event.task || !event.with) continue;
    for (const key of [`${event.task}\n${event.with}`, `${event.with}\n${event.task}`])
      found.set(key, event.files ?? []);
  }
  return found;
}

/** What is nearer to the branch comes first. */
function rank(task: RunTask, phase: string | undefined): number {
  if (phase === "merging" || phase === "landing") return 0;
  if (phase === "verifying") return 1;
  if (task.phase === "review") return 2;
  if (task.state === "running") return 3;
  return 4;
}

function wordsOf(task: RunTask, phase: string | undefined): string {
  if (task.state === "landed") return text.landed(task.ended_at ? at(task.ended_at) : "");
  if (task.state === "conflict") return text.conflict;
  if (phase === "merging" || phase === "landing") return text.merging;
  if (phase === "verifying") return text.verifying;
  if (task.phase === "review") return text.inReview;
  if (task.state === "needs") return text.asking;
  return text.atWork;
}

export function train(tasks: RunTask[], status: StatusAnswer | null): { landed: Car[]; coming: Car[]; out: Car[] } {
  const phases = new Map((status?.running ?? []).map((one) => [one.task, one.phase]));
  const car = (task: RunTask, place: number | null): Car => ({
    task,
    place,
    words: wordsOf(task, phases.get(task.id)),
  });
  const landed = tasks
    .filter((task) => task.state === "landed")
    .sort((a, b) => (a.ended_at ?? "").localeCompare(b.ended_at ?? ""));
  const coming = tasks
    .filter((task) => task.state === "running" || task.state === "needs")
    .sort((a, b) => rank(a, phases.get(a.id)) - rank(b, phases.get(b.id)));
  return {
    landed: landed.map((task) => car(task, null)),
    coming: coming.map((task, place) => car(task, place + 1)),
    out: tasks.filter((task) => task.state === "conflict").map((task) => car(task, null)),
  };
}

/** Files of both; null where those of one are not known. */
export function common(files: Map<string, Set<string>>, one: string, other: string): string[] | null {
  const [first, second] = [files.get(one), files.get(other)];
  return first && second ? [...first].filter((file) => second.has(file)) : null;
}
