// A group of a run is called off as one, after it was said what is lost.

import { address, send } from "../../api/http";
import type { RunTask } from "../../api/types";
import { say } from "../../lib/messages";
import { askUser } from "../../parts/Dialog";
import { shownOf } from "../../parts/State";
import { runWords } from "../../words/run";
import { taskWords } from "../../words/runTasks";
import { allBehind, mayNot } from "./taskActs";

const text = taskWords.group;

export interface OpenGroup {
  name: string;
  tasks: RunTask[];
}

const isOpen = (task: RunTask): boolean => mayNot.cancel(task) === null;

/** The groups that the file names, of which something has not ended. */
export function openGroups(tasks: RunTask[]): OpenGroup[] {
  const found = new Map<string, RunTask[]>();
  for (const task of tasks) {
    if (!task.group) continue;
    const known = found.get(task.group);
    if (known) known.push(task);
    else found.set(task.group, [task]);
  }
  return [...found].filter(([, own]) => own.some(isOpen)).map(([name, own]) => ({ name, tasks: own }));
}

/** How many tasks outside of it need one of it that has not ended. */
function heldBy(group: OpenGroup, all: RunTask[]): number {
  const byId = new Map(all.map((task) => [task.id, task]));
  const own = group.tasks.filter(isOpen).map((task) => task.id);
  return [...allBehind(own, all)].filter((id) => {
    const task = byId.get(id);
    return task && task.group !== group.name && isOpen(task);
  }).length;
}

export async function cancelGroup(run: string, group: OpenGroup, all: RunTask[]): Promise<void> {
  const { running, needs, pending, waiting, landed, completed } = shownOf(group.tasks.map((task) => task.state));
  const held = heldBy(group, all);
  const detail = (
    <ul className="plain">
      {running > 0 && <li>{runWords.steer.cancelRunning(running)}</li>}
      {needs + pending + waiting > 0 && <li>{runWords.steer.cancelWaiting(needs + pending + waiting)}</li>}
      {held > 0 && <li>{text.held(held)}</li>}
      <li>{runWords.steer.cancelKeeps(landed + completed, `conductor/${run}`)}</li>
    </ul>
  );
  const sure = await askUser({ title: text.ask(group.name), detail, ok: text.ok, danger: true });
  if (sure === null) return;
  await send("POST", address("/api/runs/{run}/cancel", { run }), { group: group.name });
  say(text.done(group.name));
}
