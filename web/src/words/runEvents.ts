// What happened in a run, in words: one sentence for each type of event.

import { dollars, duration, tokens } from "../lib/format";
import { taskWords } from "./runTasks";

export const eventWords = {
  list: "Events of the run, newest first",
  type: "Type",
  allTypes: "all types",
  task: "Task",
  taskFilter: "Task's id",
  follow: "follow",
  followTip: "New events appear at once. Off: they wait until you ask for them.",
  fresh: (n: number) => (n === 1 ? "1 new" : `${n} new`),
  time: "Time",
  number: "No.",
  what: "What happened",
  json: "Event as JSON",
  pick: "Select an event to see all of it.",
  nothing: "No event fits the filter.",
  older: "Older events are being read.",
};

/** Of `GET /api/runs/{run}/events`: the fields that all have; the others are by type. */
export interface RunEvent {
  seq: number;
  at: string;
  type: string;
  task?: string;
  attempt?: number;
  [field: string]: unknown;
}

type Part = Record<string, unknown> | undefined;
const part = (value: unknown): Part => (typeof value === "object" && value !== null ? (value as Part) : undefined);
const short = (commit: unknown): string => String(commit ?? "").slice(0, 8);
const plain = (name: unknown): string => String(name ?? "").replaceAll("_", " ");
const list = (value: unknown): string => (Array.isArray(value) ? value.join(", ") : "");

function outcome(event: RunEvent): string {
  const how = part(event.outcome);
  const failure = part(how?.failed);
  const asked = part(how?.asked);
  const end = failure
    ? `failed: ${failure.message ?? plain(failure.class)}`
    : asked
      ? `asks: ${asked.tool}: ${asked.what}`
      : plain(event.outcome);
  return `attempt ${event.attempt} ${end}, after ${duration(Number(event.elapsed ?? 0))}`;
}

function usage(event: RunEvent): string {
  const used = part(event.usage);
  const cost = Number(used?.cost ?? 0) / 1e6;
  const priced = cost > 0 ? `, ${dollars(cost)}` : "";
  return `used ${tokens(Number(used?.tokens ?? 0))} tokens${priced}${event.model ? `, ${event.model}` : ""}`;
}

/** In the log's units. */
function cap(event: RunEvent): string {
  const amount = Number(event.cap ?? 0);
  if (event.what === "cost") return dollars(amount / 1e6);
  if (event.what === "time") return duration(amount);
  return `${tokens(amount)} ${event.what}`;
}

const SAID: Record<string, (event: RunEvent) => string> = {
  run_created: (event) => `the run is made of ${(part(event.plan)?.tasks as unknown[] | undefined)?.length ?? 0} tasks`,
  planning_accounted: () => "what planning used is counted",
  run_started: (event) => `a coordinator starts, with ${part(event.options)?.slots ?? "?"} slots`,
  plan_amended: (event) => `the plan changes; ${event.joined ?? 0} tasks join`,
  run_handed_over: (event) => `the coordinator, version ${event.from}, leaves the run to one of version ${event.to}`,
  run_taken_over: (event) => `a coordinator of version ${event.to} has taken the run over`,
  run_paused: (event) => (event.by ? `paused by ${event.by}` : "paused: nothing new is started"),
  run_continued: () => "goes on",
  parallel_changed: (event) => `${event.slots} slots from now on`,
  cap_changed: (event) => `may use ${cap(event)} from now on`,
  drain_lifted: () => "no cap is reached any more; tasks start again",
  run_drained: (event) => `starts nothing more: ${plain(event.why)}`,
  run_stopped: (event) => `the coordinator leaves: ${plain(event.why)}`,
  run_finished: (event) => `the run is over: ${plain(event.outcome)}`,
  batch_started: (event) => `batch ${event.number} starts: ${list(event.tasks)}`,
  batch_completed: (event) => `batch ${event.number} is over`,
  attempt_started: (event) => {
    const choice = part(event.choice) ?? part(event.hand);
    const who = choice ? `, ${[choice.agent, choice.model].filter(Boolean).join(" ")}` : "";
    return `attempt ${event.attempt} starts${who}`;
  },
  process_started: (event) => `process ${part(event.process)?.pid} starts`,
  attempt_leased: (event) => `worker ${event.worker} takes attempt ${event.attempt}`,
  lease_lost: (event) => `worker ${event.worker} is lost`,
  shim_lost: () => "the process that held its agent was ended, and the agent with it",
  attempt_reattached: () => "its agent has gone on without the coordinator; a new one takes hold of it",
  session_started: () => "a conversation begins",
  usage_reported: usage,
  stop_requested: (event) => `is to stop: ${plain(event.why)}`,
  attempt_ended: outcome,
  work_set_aside: () => "its work is set aside, and done anew",
  merge_intended: (event) => `is merged: ${short(event.from)} to ${short(event.to)}`,
  merge_withdrawn: () => "is not merged yet",
  merge_failed: (event) => `merging failed: ${part(event.failure)?.message ?? ""}`,
  review_requested: () => "waits for your review",
  review_given: (event) => `reviewed: ${plain(Object.keys(part(event.verdict) ?? {})[0] ?? event.verdict)}`,
  recovery_decided: (event) => `${plain(event.strategy)}: ${event.reason}`,
  checkpoint_made: (event) => `checkpoint ${event.name} at ${short(event.commit)}: ${event.reason}`,
  retry_scheduled: (event) => `tried again in ${duration(Number(event.delay ?? 0))}`,
  task_completed: (event) => (event.commit ? `landed as ${short(event.commit)}` : "completed"),
  task_failed: (event) => `failed: ${part(event.failure)?.message ?? ""}`,
  race_decided: (event) => `${event.winner} wins the race: ${event.why}`,
  approval_asked: (event) => `asks: ${part(event.question)?.tool}: ${part(event.question)?.what}`,
  task_reported: (event) => {
    const report = part(event.report);
    return `says: ${report?.status ?? part(report?.issue)?.words ?? ""}`;
  },
  question_answered: (event) => {
    const answer = part(event.answer);
    const said = answer?.words ? `: ${answer.words}` : "";
    return `${answer?.allow ? "allowed" : "denied"} by ${answer?.by === "deadline" ? "the time limit" : "a person"}${said}`;
  },
  priority_changed: (event) => `has priority ${taskWords.priority.names[Number(event.priority)] ?? event.priority}`,
  words_sent: (event) => `is told: ${event.words}`,
  task_skipped: (event) => (event.culprit ? `skipped, since ${event.culprit} did not come to a good end` : "skipped"),
  task_cancelled: () => "cancelled",
  task_reopened: () => "is to be done again",
  task_resolved: (event) => `resolved as ${short(event.commit)}`,
  branch_rolled_back: (event) => `the branch is set back to ${short(event.to)}`,
  provider_parked: (event) => `${event.agent} takes nothing more for a while${event.outage ? `: ${event.outage}` : ""}`,
  stage_examined: (event) => `stage ${event.stage} is examined`,
  budget_neared: (event) => `${plain(event.what)} is near its cap`,
  conflict_foreseen: (event) => `will conflict${event.with ? ` with ${event.with}` : ""} in ${list(event.files)}`,
  checkout_touched: (event) => `wrote outside its workspace: ${list(event.what)}`,
  git_settings_touched: (event) => `changed git's settings: ${list(event.what)}`,
};

export const eventTypes = Object.keys(SAID);
export const typeName = (type: string): string => type.replaceAll("_", " ");

/** An event that is not known is told by its name alone. */
export const told = (event: RunEvent): string => SAID[event.type]?.(event) ?? typeName(event.type);
