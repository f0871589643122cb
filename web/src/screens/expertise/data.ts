// What a project has taught, and whether it helps.

import { get, send } from "../../api/http";
import { type Looked, useLooked } from "../../live/query";

export interface Interval {
  estimate: number;
  low: number;
  high: number;
}

/** Of `GET /api/projects/{project}/expertise`. */
export interface Item {
  id: string;
  claim: string;
  kind: string;
  domain: string;
  scope?: string[];
  retired?: unknown;
  given: boolean;
  gain: Interval | null;
  tally: { used: number; helpful: number };
  seen?: number;
  evidence?: { run: string; task: string }[];
}

/** How long tasks like each other took. */
export interface TimesOf {
  command: string | null;
  agent: string | null;
  model: string | null;
  kind: string | null;
  size: string | null;
  tasks: number;
  median_ms: number;
  low_ms: number;
  high_ms: number;
  runs: string[];
}

/** How a model did with one kind of task. */
export interface ModelOf {
  agent: string;
  model: string;
  kind: string | null;
  good: number;
  all: number;
  runs: string[];
}

export interface Advice {
  agent: string;
  kind: string | null;
  instead_of: string;
  why: string;
}

/** What a task changed when it landed last. */
export interface Touched {
  task: string;
  files: string[];
  run: string;
}

/** Of `GET /api/projects/{project}/expertise-evidence`. */
export interface Evidence {
  times: TimesOf[];
  models: ModelOf[];
  advice: Advice[];
  together: Item[];
  touched: Touched[];
}

interface Spread {
  count: number;
  sum: number;
}

export interface Arm {
  tasks: number;
  landed: number;
  first_go: number;
  cost: Spread;
  time: Spread;
}

/** Of `GET /api/projects/{project}/expertise-stats`. */
export interface Stats {
  paused: { by: string } | null;
  comparison: {
    with: Arm;
    without: Arm;
    landed: Interval | null;
    first_go: Interval | null;
    cost: Interval | null;
    time: Interval | null;
  };
}

const place = (project: string, more = "") => `/api/projects/${encodeURIComponent(project)}/expertise${more}`;

export function useItems(project: string): Looked<Item[]> {
  return useLooked(`expertise ${project}`, async (signal) => {
    const said = await get<"GET /api/projects/{project}/expertise">(
      "/api/projects/{project}/expertise",
      { project, all: true },
      signal,
    );
    return (said as unknown as { items: Item[] }).items;
  });
}

export function useStats(project: string): Looked<Stats> {
  return useLooked(
    `expertise-stats ${project}`,
    async (signal) =>
      (await get<"GET /api/projects/{project}/expertise-stats">(
        "/api/projects/{project}/expertise-stats",
        { project },
        signal,
      )) as unknown as Stats,
  );
}

export function useEvidence(project: string): Looked<Evidence> {
  return useLooked(
    `expertise-evidence ${project}`,
    async (signal) =>
      (await get<"GET /api/projects/{project}/expertise-evidence">(
        "/api/projects/{project}/expertise-evidence",
        { project },
        signal,
      )) as unknown as Evidence,
  );
}

export const addItem = (project: string, claim: string) => send<{ id: string }>("POST", place(project), { claim });

export const changeItem = (project: string, id: string, claim: string) =>
  send("PUT", place(project, `/${id}`), { claim });

export const retireItem = (project: string, id: string) => send("POST", place(project, `/${id}/retire`), {});

export const restoreItem = (project: string, id: string) => send("POST", place(project, `/${id}/restore`), {});

export const improve = (project: string) =>
  send<{ items: number; findings: { goes?: unknown }[] }>("POST", place(project, "-improve"), {});

export const resume = (project: string) => send("POST", place(project, "-resume"), {});
