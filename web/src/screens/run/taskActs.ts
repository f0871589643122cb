// What can be done to one task, and why it cannot.

import { address, send } from "../../api/http";
import type { RunTask } from "../../api/types";
import { say } from "../../lib/messages";
import { askUser } from "../../parts/Dialog";
import { words } from "../../words";
import { taskWords } from "../../words/runTasks";
import { retryTasks } from "./retrying";

const text = taskWords.acts;

const ENDED = new Set(["landed", "completed", "failed", "conflict", "skipped", "cancelled"]);
const AGAIN = new Set(["failed", "conflict", "skipped", "cancelled"]);

export const mayNot = {
  retry: (task: RunTask): string | null => (AGAIN.has(task.state) ? null : text.notEnded),
  skip: (task: RunTask): string | null => {
    if (ENDED.has(task.state)) return text.hasEnded;
    if (task.phase === "review") return text.inReview;
    return task.state === "running" ? text.hasBegun : null;
  },
  cancel: (task: RunTask): string | null => (ENDED.has(task.state) ? text.hasEnded : null),
  priority: (task: RunTask): string | null => (ENDED.has(task.state) ? text.hasEnded : null),
  send: (task: RunTask, live: boolean): string | null => {
    if (!live) return text.notLive;
    return task.agent && (task.state === "running" || task.state === "needs") ? null : text.noAgent;
  },
};

const to = (run: string, task: string, what: string): string =>
  address(`/api/runs/{run}/tasks/{task}/${what}`, { run, task });

/** This one, and no other that ended badly. */
export const retryTask = (run: string, task: RunTask): Promise<void> => retryTasks(run, [task.id]);

export const setPriority = (run: string, task: string, priority: number): Promise<unknown> =>
  send("POST", to(run, task, "priority"), { priority });

export async function skipTask(run: string, task: RunTask): Promise<void> {
  if ((await askUser({ title: text.askSkip(task.id), ok: text.skipOk })) !== null)
    await send("POST", to(run, task.id, "skip"));
}

export async function cancelTask(run: string, task: RunTask, held: number): Promise<void> {
  const sure = await askUser({
    title: text.askCancel(task.id, task.state === "running" || task.state === "needs"),
    detail: held > 0 ? text.cancelHeld(held) : undefined,
    ok: text.cancelOk,
    danger: true,
  });
  if (sure !== null) await send("POST", to(run, task.id, "cancel"));
}

export async function sendWords(run: string, task: RunTask): Promise<void> {
  const said = await askUser({ title: text.sendTitle(task.id), input: { kind: "words" }, ok: words.send });
  if (said === null) return;
  await send("POST", to(run, task.id, "send"), { words: said });
  say(text.sent);
}

/** All tasks that depend on this one, however far. */
export function dependentsOf(id: string, tasks: RunTask[]): { direct: string[]; all: number } {
  const behind = orderOf(tasks);
  return { direct: behind.get(id) ?? [], all: allBehind([id], tasks, behind).size };
}

/** Which tasks come directly after each. */
function orderOf(tasks: RunTask[]): Map<string, string[]> {
  const behind = new Map<string, string[]>();
  for (const task of tasks) {
    for (const on of task.dependencies) {
      const known = behind.get(on);
      if (known) known.push(task.id);
      else behind.set(on, [task.id]);
    }
  }
  return behind;
}

/** All that depend on one of these, however far. */
export function allBehind(ids: string[], tasks: RunTask[], behind = orderOf(tasks)): Set<string> {
  const found = new Set<string>();
  const open = [...ids];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const one of behind.get(next) ?? []) {
      if (!found.has(one)) {
        found.add(one);
        open.push(one);
      }
    }
  }
  return found;
}
