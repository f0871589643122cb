// Agents on the server's machine, what live runs have of them, and how they fared.

import { get } from "../../api/http";
import type { ParkedAgent, StatusAnswer } from "../../api/types";
import { type Looked, useLooked } from "../../live/query";

/** Of `GET /api/agents`. */
export interface Agent {
  name: string;
  kind: string;
  program: string;
  path: string | null;
  version: string | null;
  login: string;
  login_by: string | null;
  abilities: Record<string, boolean>;
}

/** Of `GET /api/doctor`. */
export interface Finding {
  check: string;
  level: string;
  told: string;
  remedy?: string;
}

/** Of `GET /api/projects/{project}/model-stats`. */
export interface Fared {
  agent: string;
  model: string | null;
  tasks: number;
  completed: number;
  failed: number;
  attempts: number;
  succeeded_attempts: number;
  worked_ms: number;
  tokens: number;
  cost_usd: number | null;
}

export function useAgents(): Looked<Agent[]> {
  return useLooked(
    "agents",
    async (signal) =>
      ((await get<"GET /api/agents">("/api/agents", {}, signal)) as unknown as { agents: Agent[] }).agents,
  );
}

export function useDoctor(): Looked<{ healthy: boolean; findings: Finding[] }> {
  return useLooked(
    "doctor",
    async (signal) =>
      (await get<"GET /api/doctor">("/api/doctor", {}, signal)) as unknown as { healthy: boolean; findings: Finding[] },
  );
}

export interface AtWork {
  /** Slots in use by agent. */
  used: Map<string, { run: string; task: string }[]>;
  parked: ParkedAgent[];
}

export function useAtWork(): Looked<AtWork> {
  return useLooked(
    "agents-at-work",
    async (signal) => {
      const { runs } = await get<"GET /api/runs">("/api/runs", { limit: 100 }, signal);
      const live = await Promise.all(
        runs
          .filter((run) => run.live)
          .map((run): Promise<StatusAnswer> => get<"GET /api/runs/{run}">("/api/runs/{run}", { run: run.run }, signal)),
      );
      const used: AtWork["used"] = new Map();
      for (const status of live)
        for (const { agent, task } of status.running)
          if (agent) used.set(agent, [...(used.get(agent) ?? []), { run: status.run, task }]);
      return { used, parked: live.flatMap((status) => status.parked_agents) };
    },
    () => true,
    5000,
  );
}

/** Of all projects together. */
export function useFared(): Looked<Fared[]> {
  return useLooked(
    "model-stats",
    async (signal) => {
      const { projects } = await get<"GET /api/projects">("/api/projects", {}, signal);
      const found = new Map<string, Fared>();
      for (const { id } of projects) {
        const answer = await get<"GET /api/projects/{project}/model-stats">(
          "/api/projects/{project}/model-stats",
          { project: id },
          signal,
        );
        for (const one of answer.models as unknown as Fared[]) {
          const key = `${one.agent}\n${one.model}`;
          const before = found.get(key);
          found.set(key, before ? together(before, one) : one);
        }
      }
      return [...found.values()].sort((a, b) => b.tasks - a.tasks);
    },
    (ring) => ring.types.has("task_complete") || ring.types.has("task_failed"),
  );
}

function together(a: Fared, b: Fared): Fared {
  return {
    ...a,
    tasks: a.tasks + b.tasks,
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
    attempts: a.attempts + b.attempts,
    succeeded_attempts: a.succeeded_attempts + b.succeeded_attempts,
    worked_ms: a.worked_ms + b.worked_ms,
    tokens: a.tokens + b.tokens,
    cost_usd: a.cost_usd == null || b.cost_usd == null ? null : a.cost_usd + b.cost_usd,
  };
}
