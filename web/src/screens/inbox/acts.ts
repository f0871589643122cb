// What a user can do about a need.

import { address, send } from "../../api/http";
import type { Need } from "../../api/types";
import { say } from "../../lib/messages";
import { askUser, confirmed } from "../../parts/Dialog";
import { words } from "../../words";

const text = words.inbox;

function ofTask(need: Need, what: string): string {
  return address(`/api/runs/{run}/tasks/{task}/${what}`, { run: need.run, task: need.task ?? "" });
}

const ofRun = (need: Need, what: string): string => address(`/api/runs/{run}/${what}`, { run: need.run });

export async function allow(need: Need): Promise<void> {
  await send("POST", ofTask(need, "approve"));
}

export async function deny(need: Need): Promise<void> {
  await send("POST", ofTask(need, "deny"));
}

/** With words: what an agent asked is answered, what it wants to do is denied with what it should do instead. */
export async function answer(need: Need): Promise<void> {
  const message = await askUser({ title: text.askWords, detail: need.words, input: { kind: "words" }, ok: words.send });
  if (message === null) return;
  await send("POST", ofTask(need, need.kind === "question" ? "approve" : "deny"), { message });
}

export async function approve(need: Need): Promise<void> {
  await send("POST", ofTask(need, "review/approve"));
}

export async function sendBack(need: Need): Promise<void> {
  const comments = await askUser({ title: text.askComments, input: { kind: "words" }, ok: words.inbox.sendBackNow });
  if (comments === null) return;
  // One comment a line, as the server takes them.
  const message = comments.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  await send("POST", ofTask(need, "review/send-back"), { message: message.filter(Boolean) });
}

export async function drop(need: Need): Promise<void> {
  if (await confirmed(text.askDrop, words.inbox.dropNow)) await send("DELETE", ofTask(need, "review"));
}

/** A task of a run that is over is done again by resuming the run. */
export async function retry(needs: Need[]): Promise<void> {
  const first = needs[0];
  if (!first) return;
  if (!first.live) {
    await send("POST", ofRun(first, "resume"), { retry_failed: true });
    say(text.goesOn);
    return;
  }
  for (const need of needs) await send("POST", ofTask(need, "retry"));
}

export async function resume(need: Need): Promise<void> {
  await send("POST", ofRun(need, "resume"), {});
  say(text.goesOn);
}

export async function raiseCap(need: Need): Promise<void> {
  const amount = await askUser({ title: text.askCap, input: { kind: "amount" }, ok: text.resume });
  if (amount === null) return;
  await send("POST", ofRun(need, "resume"), { max_cost: Number(amount.replace("$", "")) });
  say(text.goesOn);
}

export async function cancelRest(need: Need): Promise<void> {
  if (await confirmed(text.askCancel(need.held), text.cancelNow)) await send("POST", ofRun(need, "cancel"));
}
