// What a user can do about a need.

import { address, get, send } from "../../api/http";
import type { Need } from "../../api/types";
import { dollars } from "../../lib/format";
import { refuse, say } from "../../lib/messages";
import { askUser, confirmed } from "../../parts/Dialog";
import { words } from "../../words";
import * as review from "../review/acts";
import { retryTasks, retryWithAnother } from "../run/retrying";

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

/** Instead of an answer: the task is not done, and neither is what needs it. */
export async function skip(need: Need): Promise<void> {
  if (await confirmed(text.askSkip(need.task ?? "", need.held), text.skipNow)) await send("POST", ofTask(need, "skip"));
}

/** The very commit that the card shows: work that has changed since is refused. */
export async function approve(need: Need): Promise<void> {
  if (need.commit) await review.approve(need.run, need.task ?? "", need.commit);
  else refuse(text.noCommit);
}

export async function sendBack(need: Need): Promise<void> {
  await review.sendBack(need.run, need.task ?? "", []);
}

export const drop = (need: Need): Promise<void> => review.drop(need.run, need.task ?? "");

/** Only the tasks of the card. One that is about a whole run goes on with it. */
export async function retry(needs: Need[]): Promise<void> {
  const first = needs[0];
  if (!first) return;
  const tasks = needs.flatMap((need) => need.task ?? []);
  if (tasks.length > 0) await retryTasks(first.run, tasks);
  else await resume(first);
}

/** By another agent than the one that failed. */
export async function retryWith(needs: Need[]): Promise<void> {
  const first = needs[0];
  const tasks = needs.flatMap((need) => need.task ?? []);
  if (first) await retryWithAnother(first.run, tasks, first.agent ?? null);
}

export async function resume(need: Need): Promise<void> {
  await send("POST", ofRun(need, "resume"), {});
  say(text.goesOn);
}

type Cap = keyof typeof text.caps;

/** What was written, in the units of the API; null where it is no amount. */
function amountOf(written: string, cap: Cap): number | null {
  const amount = Number(written.trim().replace(/^\$/, "").replace(",", "."));
  if (!Number.isFinite(amount) || amount <= 0) return null;
  if (cap === "max_cost") return amount;
  return cap === "max_time" ? Math.round(amount * 60) : Math.round(amount);
}

/** A run that is being left for its cap goes on by itself; one that was left is resumed. */
export async function raiseCap(need: Need): Promise<void> {
  const cap = (need.why in text.caps ? need.why : "max_cost") as Cap;
  const status = await get<"GET /api/runs/{run}">("/api/runs/{run}", { run: need.run });
  const used = { max_cost: status.known_cost_usd, max_tokens: status.tokens, max_attempts: 0, max_time: 0 }[cap];
  const spent = cap === "max_cost" ? dollars(used) : String(used);
  const written = await askUser({
    title: text.caps[cap],
    detail: used > 0 ? text.capUsed(spent) : undefined,
    input: { kind: "amount" },
    ok: text.raiseNow,
  });
  if (written === null) return;
  const amount = amountOf(written, cap);
  if (amount === null) return refuse(text.capWrong);
  if (amount <= used) return refuse(text.capTooLow(spent));
  const { active } = await send<{ active: boolean }>("POST", ofRun(need, "caps"), { [cap]: amount });
  if (!active) await send("POST", ofRun(need, "resume"), {});
  say(text.goesOn);
}

export async function cancelRest(need: Need): Promise<void> {
  if (await confirmed(text.askCancel(need.held), text.cancelNow)) await send("POST", ofRun(need, "cancel"));
}
