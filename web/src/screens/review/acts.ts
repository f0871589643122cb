// What a reviewer can do.

import { address, send } from "../../api/http";
import { say } from "../../lib/messages";
import { remember } from "../../lib/settings";
import { askUser, confirmed } from "../../parts/Dialog";
import type { LineComment } from "../../parts/diff/rows";
import { words } from "../../words";
import { reviewWords as text } from "../../words/review";
import { act, taskRoute } from "../task/data";
import { asLines, asMessages } from "./comments";

interface Given {
  active: boolean;
}

/** Verdicts on work of a run that is not active are carried out when it goes on. */
async function carriedOut(run: string, given: Given, done: string, question: string): Promise<void> {
  if (given.active) {
    say(done);
    return;
  }
  if (await confirmed(question, text.resume, false)) {
    await send("POST", address("/api/runs/{run}/resume", { run }), {});
    say(text.resumed);
  }
}

/** Exactly the commit that was looked at: a newer one is refused. */
export async function approve(run: string, task: string, commit: string): Promise<void> {
  const given = await send<Given & Record<string, unknown>>("POST", taskRoute(run, task, "review/approve"), { commit });
  await carriedOut(run, given, text.approved, text.askResume);
}

/** Whether it was sent. */
export async function sendBack(run: string, task: string, comments: LineComment[]): Promise<boolean> {
  let message = asMessages(comments);
  if (message.length === 0) {
    const said = await askUser({
      title: words.inbox.askComments,
      input: { kind: "words" },
      ok: words.inbox.sendBackNow,
    });
    if (said === null) return false;
    message = asLines(said);
  }
  const given = await send<Given & Record<string, unknown>>("POST", taskRoute(run, task, "review/send-back"), {
    message,
  });
  await carriedOut(run, given, text.sent, text.askResumeSent);
  return true;
}

export async function drop(run: string, task: string): Promise<void> {
  if (!(await confirmed(words.inbox.askDrop, words.inbox.dropNow))) return;
  await send("DELETE", taskRoute(run, task, "review"));
  say(text.dropped);
}

export const editName = (run: string, task: string): string => `editing.${run}.${task}`;

/** The folder in which the work is laid out. */
export async function edit(run: string, task: string): Promise<string> {
  const { folder } = (await act(run, task, "review/edit")) as { folder?: string };
  remember(editName(run, task), folder ?? "");
  return folder ?? "";
}

export async function endEdit(run: string, task: string, how: "continue" | "abort"): Promise<void> {
  const given = await send<Given & Record<string, unknown>>("POST", taskRoute(run, task, "review/edit"), {
    [how]: true,
  });
  remember(editName(run, task), "");
  if (how === "abort") say(text.editAborted);
  else await carriedOut(run, { active: given.active ?? true }, text.edited, text.askResume);
}
