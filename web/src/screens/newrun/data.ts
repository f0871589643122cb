// Plans that an agent makes, and rehearsals of the file.

import { useEffect, useState } from "react";
import { address, get, send } from "../../api/http";
import type { JobAnswer } from "../../api/types";
import { type Looked, useLooked } from "../../live/query";
import { board } from "../../words/board";
import type { Fields } from "../board/acts";

/** Of `result.plan.tasks` of a job that made a plan. */
export interface Proposed {
  id: string;
  name?: string;
  prompt?: string;
  description?: string;
  run?: string | string[];
  priority?: number | string;
  dependencies?: (string | { id: string })[];
  agent?: string | null;
  model?: string | null;
  files?: string[];
  verify?: string[];
  estimate?: string;
}

/** Of `GET /api/projects/{project}/jobs/{job}`, of a plan. */
export interface PlanResult {
  agent: string;
  analysis?: { reasoning?: string; size?: string };
  plan: { tasks: Proposed[]; notes?: string };
  told?: string[];
  usage: { cost_usd: number | null; known_cost_usd: number; tokens: number };
}

export type Job = JobAnswer & { result?: PlanResult | null };

export interface Wanted {
  requirements: string;
  max_cost: number | string;
  agent?: string;
  model?: string;
}

export function plan(project: string, wanted: Wanted): Promise<JobAnswer> {
  return send("POST", address("/api/projects/{project}/plans", { project }), { ...wanted });
}

/** A job rings no bell: it is asked for until it has ended. */
const AGAIN = 700;

export function useJob(project: string, job: string): Looked<Job> {
  const key = job ? `job-${project}-${job}` : null;
  const [ended, setEnded] = useState<string | null>(null);
  const looked = useLooked(
    key,
    async (signal) =>
      (await get<"GET /api/projects/{project}/jobs/{job}">(
        "/api/projects/{project}/jobs/{job}",
        { project, job },
        signal,
      )) as unknown as Job,
    undefined,
    key === ended ? undefined : AGAIN,
  );
  const state = looked.value?.state;
  useEffect(() => {
    if (state && state !== "running") setEnded(key);
  }, [state, key]);
  return looked;
}

/** Of `GET /api/projects/{project}/rehearsal`. */
export interface Rehearsal {
  tasks: { id: string; expected_ms: number; basis: string }[];
  by_parallel: { parallel: number; makespan_ms: number }[];
  best_parallel: number;
  critical_path: string[];
  critical_path_ms: number;
  cost_usd: number | null;
  cost_low_usd: number | null;
  cost_high_usd: number | null;
  tasks_of_unknown_cost: number;
}

export function useRehearsal(project: string, version: string | null, workers: number): Looked<Rehearsal> {
  return useLooked(
    version && `rehearsal-${project}-${version}-${workers}`,
    async (signal) =>
      (await get<"GET /api/projects/{project}/rehearsal">(
        "/api/projects/{project}/rehearsal",
        { project, parallel: workers },
        signal,
      )) as unknown as Rehearsal,
  );
}

export const needed = (task: Proposed): string[] =>
  (task.dependencies ?? []).map((one) => (typeof one === "string" ? one : one.id));

/** As the file takes it; what comes first has to be there, too. */
export function fieldsOf(task: Proposed, there: ReadonlySet<string>): Fields {
  const fields: Fields = { id: task.id };
  const put = (key: string, value: unknown) => {
    if (value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0))
      fields[key] = value;
  };
  put("name", task.name === task.id ? undefined : task.name);
  put("priority", typeof task.priority === "number" ? board.priorities[task.priority] : task.priority);
  put("agent", task.agent);
  put("model", task.model);
  put(
    "dependencies",
    needed(task).filter((id) => there.has(id)),
  );
  put("files", task.files);
  put("verify", task.verify);
  put("estimate", task.estimate);
  if (task.run) put("run", task.run);
  else put("prompt", task.prompt ?? task.description);
  return fields;
}
