// The events of a task, as GET /api/runs/{run}/events?task=… tells them, and what the page needs of them.

import { bytes, dollars, duration } from "../../lib/format";
import type { StateName } from "../../words";
import { historyWords as text } from "../../words/history";
import { taskWords } from "../../words/runTasks";

export interface Failure {
  class: string;
  message: string;
  evidence?: string;
}

export interface Change {
  base: string;
  commit: string;
  touched?: { files?: string[]; unlisted?: number; added?: number; removed?: number; created?: number };
  edited?: boolean;
  gate?: Record<string, unknown>;
  reviewed?: { by: string; score?: number; findings?: string[] };
  measured?: {
    coverage?: { before?: number; after: number };
    lint?: { before?: Record<string, unknown>; after: Record<string, unknown> };
  };
}

/** What the processes of an attempt took: milliseconds and bytes, each only if it was measured. */
interface Processes {
  cpu?: number;
  memory?: number;
  memory_together?: number;
  read?: number;
  written?: number;
}

/** An event of the log; which of these it has goes by its type. */
export interface TaskEvent {
  seq: number;
  at: string;
  type: string;
  task?: string;
  attempt?: number;
  executor?: number;
  hand?: { agent: string; model?: string; why?: string };
  on?: Record<string, string>;
  outcome?: string | { failed?: Failure; stopped?: unknown };
  elapsed?: number;
  change?: Change;
  phases?: { preparing?: number; working?: number; verifying?: number; processes?: Processes };
  failure?: Failure;
  verdict?:
    | string
    | {
        approved?: unknown;
        sent_back?: { comments: { file?: string; line?: number; words: string }[] };
        edited?: unknown;
      };
  nature?: string;
  strategy?: string;
  reason?: string;
  delay?: number;
  commit?: string;
  question?: { what?: string; tool?: string };
  answer?: { allow: boolean; words?: string; by?: string };
  words?: string;
  priority?: number;
  culprit?: string | null;
  with?: string | null;
  files?: string[];
  what?: string;
  used?: number;
  cap?: number;
  name?: string;
  winner?: string;
  why?: unknown;
  report?: Record<string, unknown>;
  usage?: { cost?: number; tokens?: number; output?: number };
  taken_back?: { cost?: number };
  process?: { pid: number };
}

export interface Told {
  seq: number;
  at: string;
  state: StateName | null;
  words: string;
  /** What else there is to say: a reason, a message, a comment. */
  more: string[];
  /** Conductor noted it for itself. */
  minor: boolean;
}

const short = (commit: string | undefined): string => (commit ?? "").slice(0, 10);

function changed(event: TaskEvent): string[] {
  const touched = event.change?.touched;
  if (!touched?.files) return [];
  return [text.changed(touched.files.length + (touched.unlisted ?? 0), touched.added ?? 0, touched.removed ?? 0)];
}

function taken(of: Processes | undefined): string[] {
  if (!of) return [];
  const peak = Math.max(of.memory ?? 0, of.memory_together ?? 0);
  const parts = [
    of.cpu ? text.cpu(duration(of.cpu)) : null,
    peak ? text.memory(bytes(peak)) : null,
    of.read ? text.read(bytes(of.read)) : null,
    of.written ? text.written(bytes(of.written)) : null,
  ].filter((part) => part !== null);
  return parts.length ? [parts.join(", ")] : [];
}

function ended(event: TaskEvent): Omit<Told, "seq" | "at"> {
  const [n, took] = [event.attempt ?? 0, duration(event.elapsed)];
  const machine = taken(event.phases?.processes);
  if (event.outcome === "succeeded")
    return { state: null, words: text.attempt_ended(n, took), more: [...changed(event), ...machine], minor: false };
  const failure = typeof event.outcome === "object" ? event.outcome.failed : undefined;
  if (failure)
    return {
      state: "failed",
      words: text.attempt_failed(n, took),
      more: [`${failure.class}: ${failure.message}`, ...machine],
      minor: false,
    };
  return { state: null, words: text.attempt_stopped(n, took), more: machine, minor: false };
}

function reviewed(event: TaskEvent): Omit<Told, "seq" | "at"> {
  const verdict = event.verdict;
  if (typeof verdict === "object" && verdict.sent_back) {
    const comments = verdict.sent_back.comments;
    const said = comments.map((one) => [one.file, one.line, one.words].filter((part) => part !== undefined).join(":"));
    return { state: "needs", words: text.sent_back(comments.length), more: said, minor: false };
  }
  const words =
    verdict === "dropped" ? text.dropped : typeof verdict === "object" && verdict.edited ? text.edited : text.approved;
  return { state: null, words, more: [], minor: false };
}

function answered(event: TaskEvent): string {
  const { answer } = event;
  if (answer?.by && /limit|time/.test(answer.by)) return text.answered.limit;
  if (answer?.by && answer.by !== "person") return text.answered.rule;
  return answer?.allow ? text.answered.allow : text.answered.deny;
}

function of(event: TaskEvent): Omit<Told, "seq" | "at"> {
  const plain = (words: string, more: (string | undefined | null)[] = [], state: StateName | null = null) => ({
    state,
    words,
    more: more.filter((one): one is string => !!one),
    minor: false,
  });
  const minor = (words: string) => ({ state: null, words, more: [], minor: true });
  switch (event.type) {
    case "attempt_started": {
      const on = Object.keys(event.on ?? {}).join(", ");
      const { agent, model, why } = event.hand ?? { agent: null, model: null, why: null };
      return plain(
        text.attempt_started(event.attempt ?? 0, agent, model ?? null, event.executor ?? 0),
        [on && text.on(on), why],
        "running",
      );
    }
    case "attempt_ended":
      return ended(event);
    case "merge_failed":
      return plain(text.merge_failed, [event.failure?.message], "conflict");
    case "merge_intended":
      return minor(text.merge_intended);
    case "merge_withdrawn":
      return minor(text.merge_withdrawn);
    case "review_requested":
      return plain(text.review_requested, [], "needs");
    case "review_given":
      return reviewed(event);
    case "recovery_decided":
      return plain(text.decided(event.nature ?? "", event.strategy ?? ""), [event.reason]);
    case "retry_scheduled":
      return plain(event.delay ? text.retry_scheduled(duration(event.delay)) : text.retry_now, [], "waiting");
    case "task_completed":
      return plain(
        event.commit ? text.landed(short(event.commit)) : text.completed,
        [],
        event.commit ? "landed" : "completed",
      );
    case "task_failed":
      return plain(text.task_failed, [event.failure && `${event.failure.class}: ${event.failure.message}`], "failed");
    case "task_skipped":
      return plain(text.skipped(event.culprit ?? null), [], "skipped");
    case "task_cancelled":
      return plain(text.cancelled, [], "cancelled");
    case "task_reopened":
      return plain(text.reopened, [], "pending");
    case "task_resolved":
      return plain(text.resolved(short(event.commit)), changed(event), "landed");
    case "approval_asked":
      return plain(text.asked, [event.question?.what], "needs");
    case "question_answered":
      return plain(answered(event), [event.answer?.words]);
    case "priority_changed":
      return plain(text.priority(taskWords.priority.names[event.priority ?? 2] ?? String(event.priority)));
    case "words_sent":
      return plain(text.words_sent, [event.words]);
    case "conflict_foreseen":
      return plain(text.foreseen((event.files ?? []).join(", "), event.with ?? null), [], "conflict");
    case "budget_neared": {
      const share = event.cap ? `${Math.round((100 * (event.used ?? 0)) / event.cap)} %` : "";
      return plain(
        text.budget(event.what ?? "", share),
        [event.what === "cost" ? dollars((event.cap ?? 0) / 1e6) : null],
        "needs",
      );
    }
    case "work_set_aside":
      return plain(text.set_aside);
    case "checkpoint_made":
      return plain(text.checkpoint(event.name ?? ""), [event.reason]);
    case "task_reported":
      return plain(text.reported, [
        event.report
          ? Object.values(event.report)
              .filter((one) => typeof one === "string")
              .join(": ")
          : null,
      ]);
    case "race_decided":
      return plain(text.race(event.winner ?? ""), [typeof event.why === "string" ? event.why : null]);
    case "stop_requested":
      return plain(text.stop);
    case "attempt_leased":
      return minor(text.leased);
    case "lease_lost":
      return plain(text.lost);
    case "shim_lost":
      return plain(text.shimLost);
    case "attempt_reattached":
      return plain(text.reattached);
    case "session_started":
      return minor(text.session);
    case "process_started":
      return minor(text.process(event.process?.pid ?? 0));
    case "usage_reported":
      return minor(text.usage);
    default:
      return minor(event.type.replaceAll("_", " "));
  }
}

export const told = (events: TaskEvent[]): Told[] =>
  events.map((event) => ({ seq: event.seq, at: event.at, ...of(event) }));

/** What an attempt cost, in dollars; null where nothing was reported. */
export function costOf(events: TaskEvent[], attempt: number): number | null {
  const reports = events.filter((event) => event.type === "usage_reported" && event.attempt === attempt);
  if (reports.length === 0) return null;
  return reports.reduce((sum, { usage, taken_back }) => sum + (usage?.cost ?? 0) - (taken_back?.cost ?? 0), 0) / 1e6;
}

/** The newest change that an attempt left. */
export const lastChange = (events: TaskEvent[]): Change | null =>
  events.findLast((event) => event.change !== undefined)?.change ?? null;
