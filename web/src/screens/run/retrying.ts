// Tasks are done again by their names. Whatever else ended badly in their run stays as it is: doing it again costs money.

import { address, get, send } from "../../api/http";
import type { StatusAnswer } from "../../api/types";
import { refuse, say } from "../../lib/messages";
import { askUser, confirmed } from "../../parts/Dialog";
import { words } from "../../words";

const text = words.retrying;

const ofRun = (run: string, what: string): string => address(`/api/runs/{run}/${what}`, { run });

/** A run that was left is gone on with as a whole: where that is more than the user named, it is said first. */
async function mayGoOn(status: StatusAnswer, tasks: string[]): Promise<boolean> {
  const others = status.shown.pending + status.shown.waiting;
  return others === 0 || confirmed(text.ask(tasks, others), text.ok, false);
}

/** `by`: another agent than theirs. */
export async function retryTasks(run: string, tasks: string[], by: { agent?: string } = {}): Promise<void> {
  const status = await get<"GET /api/runs/{run}">("/api/runs/{run}", { run });
  if (!status.live && !(await mayGoOn(status, tasks))) return;
  for (const task of tasks) await send("POST", address("/api/runs/{run}/tasks/{task}/retry", { run, task }), by);
  if (status.live) {
    say(text.again(tasks.length));
    return;
  }
  await send("POST", ofRun(run, "resume"));
  say(text.goesOn);
}

interface Installed {
  name: string;
  path: string | null;
}

/** Asks which agent that is there is to do them instead of the one that failed. */
export async function retryWithAnother(run: string, tasks: string[], before: string | null): Promise<void> {
  const answer = (await get<"GET /api/agents">("/api/agents")) as unknown as { agents: Installed[] };
  const others = answer.agents.filter((agent) => agent.path !== null && agent.name !== before);
  if (others.length === 0) return refuse(text.noOther);
  const options = others.map((agent) => agent.name);
  const agent = await askUser({
    title: text.askAgent(tasks),
    detail: before ? text.agentBefore(before) : undefined,
    input: { kind: "choice", value: options[0], options },
    ok: text.agentOk,
  });
  if (agent !== null) await retryTasks(run, tasks, { agent });
}
