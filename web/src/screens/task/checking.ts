// How each check of a task went, as far as that can be told: from the way an attempt ended, and from its log, in which
// Conductor writes each command it runs.

import type { TaskEvent } from "./events";

export type Verdict = "passed" | "failed" | "notRun" | "unknown";

export interface Check {
  command: string;
  before: Verdict;
  now: Verdict;
  output: string | null;
}

interface Section {
  command: string;
  output: string[];
  /** It was run on the base, and failed there. */
  failedOnBase: boolean;
  begins: boolean;
}

function sections(log: string, commands: string[]): Section[] {
  const heads = new Map(commands.map((command) => [`$ ${command}`, command]));
  const found: Section[] = [];
  let open: Section | null = null;
  log.split("\n").forEach((line, at) => {
    const command = heads.get(line);
    if (command !== undefined) {
      open = { command, output: [], failedOnBase: false, begins: at === 0 };
      found.push(open);
    } else if (line.startsWith("[conductor: ")) {
      if (open && line.endsWith(" on the untouched base]")) open.failedOnBase = true;
      open = null;
    } else open?.output.push(line);
  });
  return found;
}

/** The attempt's end, as events tell it. */
export function endOf(events: TaskEvent[], attempt: number): TaskEvent | undefined {
  return events.findLast((event) => event.type === "attempt_ended" && event.attempt === attempt);
}

function results(commands: string[], end: TaskEvent | undefined): Verdict[] {
  if (!end) return commands.map(() => "unknown");
  if (end.outcome === "succeeded") return commands.map(() => "passed");
  const failure = typeof end.outcome === "object" ? end.outcome.failed : undefined;
  const at = commands.findIndex((command) => failure?.message.startsWith(`\`${command}\` failed`));
  if (at < 0) return commands.map(() => "unknown");
  return commands.map((_, place) => (place < at ? "passed" : place === at ? "failed" : "notRun"));
}

export function checksOf(commands: string[], log: string, events: TaskEvent[], attempt: number): Check[] {
  const all = sections(log, commands);
  const lookedAtBase = all[0]?.begins ?? false;
  const now = results(commands, endOf(events, attempt));
  return commands.map((command, at) => {
    const own = all.filter((section) => section.command === command);
    const last = own.at(-1);
    const isNow = last !== undefined && !last.failedOnBase && !(lookedAtBase && own.length === 1);
    const failedBefore = own.some((section) => section.failedOnBase);
    const passedBefore = lookedAtBase && own.length > 1;
    return {
      command,
      before: failedBefore ? "failed" : passedBefore ? "passed" : "unknown",
      now: now[at] ?? "unknown",
      output: isNow ? last.output.join("\n").trimEnd() : null,
    };
  });
}
