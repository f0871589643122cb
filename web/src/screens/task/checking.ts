// How each check of an attempt went, as Conductor noted it: before the work, on the work, and on what it was merged with.

import type { CheckRun } from "../../api/types";
import type { StateName } from "../../words";
import { taskWords } from "../../words/task";
import type { TaskEvent } from "./events";

export type Verdict = "passed" | "failed" | "notRun" | "unknown";

export interface Check {
  command: string;
  before: Verdict;
  now: Verdict;
  /** How long its newest run took, in milliseconds. */
  took: number | null;
  why: string | null;
  output: string | null;
}

export const verdictState: Record<Verdict, StateName> = {
  passed: "landed",
  failed: "failed",
  notRun: "pending",
  unknown: "pending",
};

export const verdictWords: Record<Verdict, string> = taskWords.checked;

/** The attempt's end, as events tell it. */
export function endOf(events: TaskEvent[], attempt: number): TaskEvent | undefined {
  return events.findLast((event) => event.type === "attempt_ended" && event.attempt === attempt);
}

const verdict = (run: CheckRun | undefined, otherwise: Verdict): Verdict =>
  run === undefined ? otherwise : run.passed ? "passed" : "failed";

/**
 * `commands` are those of the task. What was noted may be more: `auto` stands for what the project has. Of attempts of
 * earlier versions nothing was noted; whether they came to a good end says how their checks went.
 */
export function checksOf(commands: string[], runs: CheckRun[], end?: TaskEvent): Check[] {
  const noted = new Set(runs.map((run) => run.command));
  const isExpanded = [...noted].some((command) => !commands.includes(command));
  const named = isExpanded ? commands.filter((command) => noted.has(command)) : commands;
  const otherwise: Verdict = runs.length > 0 ? "notRun" : end?.outcome === "succeeded" ? "passed" : "unknown";
  return [...new Set([...named, ...noted])].map((command) => {
    const own = runs.filter((run) => run.command === command);
    const now = own.findLast((run) => run.on === "work" || run.on === "combined");
    return {
      command,
      before: verdict(
        own.findLast((run) => run.on === "base"),
        "unknown",
      ),
      now: verdict(now, otherwise),
      took: now?.took_ms ?? null,
      why: now?.why ?? null,
      output: now ? now.lines.join("\n") : null,
    };
  });
}
