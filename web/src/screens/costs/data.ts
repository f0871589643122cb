// What runs have used, of one project or of all, in a range of days.

import { get } from "../../api/http";
import type { CostLine, Listed, Project } from "../../api/types";
import { type Looked, useLooked } from "../../live/query";

export type By = "model" | "agent" | "task" | "epic" | "run" | "project";
export const BYS: By[] = ["model", "agent", "task", "epic", "run", "project"];
export type Range = "7" | "30" | "90" | "all";
type ServerBy = Exclude<By, "project"> | "day";

const DAY = 24 * 60 * 60 * 1000;

/** Of `GET /api/projects/{project}/costs/forecast`. */
export interface Forecast {
  cost_usd: number | null;
  cost_low_usd: number | null;
  cost_high_usd: number | null;
  tasks_of_unknown_cost: number;
}

export const noLine = (key: string): CostLine => ({
  key,
  kind: "task",
  attempts: 0,
  untold_attempts: 0,
  turns: 0,
  tokens: 0,
  cost_usd: 0,
  known_cost_usd: 0,
  unpriced_tokens: 0,
});

/** Together; the cost is known only where all of it is. */
export function sum(lines: CostLine[], key = "total"): CostLine {
  const all = noLine(key);
  for (const line of lines) {
    all.attempts += line.attempts;
    all.untold_attempts += line.untold_attempts;
    all.turns += line.turns;
    all.tokens += line.tokens;
    all.known_cost_usd += line.known_cost_usd;
    all.unpriced_tokens += line.unpriced_tokens;
    all.cost_usd = all.cost_usd == null || line.cost_usd == null ? null : all.cost_usd + line.cost_usd;
  }
  return all;
}

/** Lines of the same name are one, the dearest first. */
export function joined(lines: CostLine[]): CostLine[] {
  const found = new Map<string, CostLine[]>();
  for (const line of lines) {
    const key = `${line.kind}\n${line.key}`;
    found.set(key, [...(found.get(key) ?? []), line]);
  }
  return [...found.values()]
    .map((alike) => ({ ...sum(alike, alike[0]?.key ?? ""), kind: alike[0]?.kind ?? "task" }))
    .sort((a, b) => b.known_cost_usd - a.known_cost_usd || b.tokens - a.tokens);
}

export function firstDay(range: Range, now: number): string | null {
  return range === "all" ? null : new Date(now - (Number(range) - 1) * DAY).toISOString().slice(0, 10);
}

async function allRuns(project: string, signal: AbortSignal): Promise<Listed[]> {
  const runs: Listed[] = [];
  let cursor: string | undefined;
  do {
    const page = await get<"GET /api/projects/{project}/runs">(
      "/api/projects/{project}/runs",
      { project, figures: true, limit: 200, cursor },
      signal,
    );
    runs.push(...page.runs);
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return runs;
}

const ofProject = async (project: string, by: ServerBy, signal: AbortSignal): Promise<CostLine[]> =>
  (await get<"GET /api/projects/{project}/costs">("/api/projects/{project}/costs", { project, by }, signal))
    .lines as unknown as CostLine[];

/** A run that has ended uses nothing more: it is asked for once. */
const ended = new Map<string, CostLine[]>();

async function ofRun(run: Listed, by: ServerBy, signal: AbortSignal): Promise<CostLine[]> {
  const key = `${run.run} ${by}`;
  const known = ended.get(key);
  if (known) return known;
  const answer = await get<"GET /api/runs/{run}/costs">("/api/runs/{run}/costs", { run: run.run, by }, signal);
  const lines = answer.lines as unknown as CostLine[];
  if (run.figures?.ended_at && !run.live && !run.can_be_resumed) ended.set(key, lines);
  return lines;
}

/** The whole project by one request where all its runs are meant, else run by run, a few at once. */
async function linesOf(project: string, runs: Listed[], all: boolean, by: ServerBy, signal: AbortSignal) {
  if (all) return ofProject(project, by, signal);
  const lines: CostLine[] = [];
  for (let at = 0; at < runs.length; at += 6) {
    const some = await Promise.all(runs.slice(at, at + 6).map((run) => ofRun(run, by, signal)));
    lines.push(...some.flat());
  }
  return lines;
}

export interface Spent {
  /** By project, every day that something was used. */
  days: { project: string; lines: CostLine[] }[];
  lines: CostLine[];
  total: CostLine;
  runs: Listed[];
  landed: number;
}

async function spent(projects: Project[], by: By, range: Range, signal: AbortSignal): Promise<Spent> {
  const from = firstDay(range, Date.now());
  const parts = await Promise.all(
    projects.map(async (project) => {
      const everything = await allRuns(project.id, signal);
      const runs = everything.filter((run) => !from || run.created_at.slice(0, 10) >= from);
      const all = runs.length === everything.length;
      const [days, lines] = await Promise.all([
        linesOf(project.id, runs, all, "day", signal),
        linesOf(project.id, runs, all, by === "project" ? "run" : by, signal),
      ]);
      return { project: project.id, days, lines, runs };
    }),
  );
  const lines = parts.flatMap((part) => (by === "project" ? [sum(part.lines, part.project)] : part.lines));
  const runs = parts.flatMap((part) => part.runs);
  return {
    days: parts.map((part) => ({ project: part.project, lines: part.days })),
    lines: joined(lines),
    total: sum(lines),
    runs,
    landed: runs.reduce((all, run) => all + (run.figures?.shown.landed ?? 0) + (run.figures?.shown.completed ?? 0), 0),
  };
}

export function useSpent(projects: Project[] | null, by: By, range: Range): Looked<Spent> {
  const key = projects && `costs-${projects.map((one) => one.id).join(" ")}-${by}-${range}`;
  return useLooked(
    key,
    (signal) => spent(projects ?? [], by, range, signal),
    (ring) => ring.types.has("cost_update") || ring.types.has("parallel_complete"),
    15_000,
  );
}

export interface Forecasts {
  low: number;
  high: number;
  unknown: number;
  files: number;
}

export function useForecasts(projects: Project[] | null): Looked<Forecasts> {
  return useLooked(projects && `forecast-${projects.map((one) => one.id).join(" ")}`, async (signal) => {
    const told: Forecasts = { low: 0, high: 0, unknown: 0, files: 0 };
    for (const { id } of projects ?? []) {
      // A file that cannot be read has no forecast; the board says what is wrong with it.
      const one = await get<"GET /api/projects/{project}/costs/forecast">(
        "/api/projects/{project}/costs/forecast",
        { project: id },
        signal,
      ).catch(() => null);
      if (!one) continue;
      const forecast = one as unknown as Forecast;
      told.low += forecast.cost_low_usd ?? 0;
      told.high += forecast.cost_high_usd ?? 0;
      told.unknown += forecast.tasks_of_unknown_cost;
      told.files += 1;
    }
    return told;
  });
}
