// What tasks cost. Nothing told is "unknown", a command costs nothing, and neither is 0.

import type { RunTask } from "../../api/types";
import { dollars } from "../../lib/format";
import { words } from "../../words";

/** An agent has worked and has not said what that cost. */
export const isUntold = (task: RunTask): boolean =>
  Boolean(task.agent) && task.attempts > 0 && (task.cost_usd == null || (task.cost_usd === 0 && task.tokens === 0));

export function costOf(task: RunTask): string {
  if (task.attempts === 0) return "";
  if (!task.agent) return words.none;
  return isUntold(task) ? words.unknown : dollars(task.cost_usd);
}

export interface Sum {
  known: number;
  /** Agents that worked without a word about it. */
  untold: number;
  told: number;
}

export function sumOf(tasks: Iterable<RunTask>): Sum {
  const sum: Sum = { known: 0, untold: 0, told: 0 };
  for (const task of tasks) {
    if (isUntold(task)) sum.untold += 1;
    else if (task.agent && task.attempts > 0) sum.told += 1;
    sum.known += task.cost_usd ?? 0;
  }
  return sum;
}

/** "$4.20", "at least $4.20", "unknown", or nothing where no agent has worked. */
export function sumWords(sum: Sum, atLeast: string): string {
  if (sum.told === 0) return sum.untold > 0 ? words.unknown : "";
  return sum.untold > 0 ? `${atLeast} ${dollars(sum.known)}` : dollars(sum.known);
}
