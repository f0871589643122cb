// The last thing that can be said about a task, in a few words: what it does, what it waits for, why it failed.

import type { AtWork, RunTask, StatusAnswer } from "../../api/types";
import { at } from "../../lib/format";
import { taskWords } from "../../words/runTasks";

const text = taskWords.activity;

/** What only the coordinator knows, by task. */
export interface Known {
  atWork: Map<string, AtWork>;
  why: Map<string, string>;
  live: boolean;
  at: number;
}

export function knownOf(status: StatusAnswer | null): Known {
  const why = new Map<string, string>();
  for (const { task, why: reasons } of [...(status?.waiting ?? []), ...(status?.next ?? [])]) {
    const said = reasons.map((reason) => reason.words).join("; ");
    if (said) why.set(task, said);
  }
  return {
    atWork: new Map(status?.running.map((one) => [one.task, one])),
    why,
    live: status?.live ?? false,
    at: Date.now(),
  };
}

const NAMED = 3;

function after(task: RunTask, byId: Map<string, RunTask>): string {
  const open = task.dependencies.filter((id) => {
    const state = byId.get(id)?.state;
    return state !== "landed" && state !== "completed";
  });
  if (open.length === 0) return "";
  const more = open.length > NAMED ? text.more(open.length - NAMED) : "";
  return text.after(open.slice(0, NAMED).join(", ") + more);
}

export function phaseOf(task: RunTask, known: Known): string | null {
  const phase = known.atWork.get(task.id)?.phase ?? task.phase;
  return phase ? (taskWords.phases[phase] ?? phase) : null;
}

/** How long it has been worked on, with what is at work now. */
export const workedOf = (task: RunTask, known: Known): number =>
  task.worked_ms + (known.atWork.get(task.id)?.for_ms ?? 0);

export function activityOf(task: RunTask, known: Known, byId: Map<string, RunTask>): string {
  switch (task.state) {
    case "running": {
      const doing = known.atWork.get(task.id);
      if (doing?.last_tool && doing.phase === "working") return doing.last_tool;
      const since = doing?.for_ms != null ? new Date(known.at - doing.for_ms).toISOString() : task.started_at;
      return since ? text.since(phaseOf(task, known) ?? task.state, at(since)) : "";
    }
    case "landed":
    case "completed": {
      const end = task.ended_at ? (task.state === "landed" ? text.landedAt : text.endedAt)(at(task.ended_at)) : "";
      return task.tried > 1 ? `${end}, ${text.onAttempt(task.attempts)}` : end;
    }
    case "needs":
      return task.words ?? (task.phase === "review" ? text.review : (known.why.get(task.id) ?? ""));
    case "pending":
    case "waiting":
      return (
        known.why.get(task.id) ??
        (task.state === "waiting"
          ? text.retry
          : after(task, byId) || (known.live ? text.ready : task.attempts > 0 ? text.left : ""))
      );
    default:
      return task.words ?? "";
  }
}
