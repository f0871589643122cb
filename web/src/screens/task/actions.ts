// What a user can do with a task, and why not where not.

import { address, send } from "../../api/http";
import type { RunTask, StatusAnswer } from "../../api/types";
import { say } from "../../lib/messages";
import { askUser, confirmed } from "../../parts/Dialog";
import { words } from "../../words";
import { taskWords } from "../../words/task";
import { act } from "./data";

const text = taskWords.acts;

const ENDED = new Set(["landed", "completed", "failed", "conflict", "skipped", "cancelled"]);
const AGAIN = new Set(["failed", "conflict", "skipped", "cancelled"]);

export const mayRetry = (task: RunTask): string | null => (AGAIN.has(task.state) ? null : text.notFailed);
export const maySkip = (task: RunTask): string | null => (ENDED.has(task.state) ? text.ended : null);
export const mayCancel = maySkip;
export function maySend(task: RunTask, kind: string | undefined): string | null {
  if (kind === "run" || kind === "command") return text.isCommand;
  return task.state === "running" ? null : text.notAtWork;
}

/** A task of a run that is over is done again by resuming the run. */
export async function retry(status: StatusAnswer | null, task: RunTask): Promise<void> {
  const run = status?.run ?? "";
  if (status && !status.live) {
    await send("POST", address("/api/runs/{run}/resume", { run }), { retry_failed: true });
    say(text.runGoesOn);
    return;
  }
  await act(run, task.id, "retry");
  say(text.retried);
}

export async function skip(run: string, task: RunTask): Promise<void> {
  if (await confirmed(text.askSkip(task.id), text.skipNow)) await act(run, task.id, "skip");
}

export async function cancel(run: string, task: RunTask): Promise<void> {
  if (await confirmed(text.askCancel(task.id), text.cancelNow)) await act(run, task.id, "cancel");
}

export async function sendWords(run: string, task: RunTask): Promise<void> {
  const said = await askUser({ title: text.askSend, detail: text.sendHelp, input: { kind: "words" }, ok: words.send });
  if (said === null) return;
  await act(run, task.id, "send", { words: said });
  say(text.sent);
}
