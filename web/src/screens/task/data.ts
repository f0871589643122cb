// What a task's screens look at: asked for once for all parts of a screen, and again when something happened in the run.

import { useMemo } from "react";
import { ofTheLog } from "../../api/events";
import { address, get, send } from "../../api/http";
import type { DiffAnswer, ExplanationAnswer, Need, RunTask, TaskDetail } from "../../api/types";
import { type PatchFile, parsePatch } from "../../lib/patch";
import { useStore } from "../../lib/store";
import { needs } from "../../live/needs";
import { type Looked, useLooked } from "../../live/query";
import type { LiveRun } from "../../live/run";
import type { TaskEvent } from "./events";

export const taskRoute = (run: string, task: string, what: string): string =>
  address(`/api/runs/{run}/tasks/{task}/${what}`, { run, task });

export const taskPath = (run: string, task: string, tab = ""): string =>
  `/runs/${run}/tasks/${encodeURIComponent(task)}${tab}`;

export function useDetail(run: string, task: string, atWork = false): Looked<TaskDetail> {
  return useLooked(
    `task-${run}-${task}`,
    async (signal) =>
      (await get<"GET /api/runs/{run}/tasks/{task}">("/api/runs/{run}/tasks/{task}", { run, task }, signal)).task,
    (ring) => ring.run.startsWith(run),
    // Checks that end and tools that are called ring no bell.
    atWork ? 5000 : undefined,
  );
}

/** All that happened to the task, in order. */
export function useEvents(run: string, task: string): Looked<TaskEvent[]> {
  return useLooked(
    `events-${run}-${task}`,
    async (signal) => {
      const given = { run, task, limit: 10_000 };
      const answer = await get<"GET /api/runs/{run}/events">("/api/runs/{run}/events", given, signal);
      return ofTheLog<TaskEvent>(answer.events);
    },
    (ring) => ring.run.startsWith(run),
  );
}

export function useExplanation(run: string, task: string, changes: unknown): Looked<ExplanationAnswer> {
  return useLooked(`explanation-${run}-${task}-${changes}`, (signal) =>
    get<"GET /api/runs/{run}/tasks/{task}/explanation">(
      "/api/runs/{run}/tasks/{task}/explanation",
      { run, task },
      signal,
    ),
  );
}

export interface Diffed {
  answer: DiffAnswer;
  files: PatchFile[];
}

/** What it changed. While it is at work, the diff is made anew from time to time: a folder's changes ring no bell. */
export function useDiff(run: string, task: RunTask | undefined): Looked<Diffed> {
  const begun = task !== undefined && task.attempts > 0;
  const looked = useLooked(
    begun ? `diff-${run}-${task.id}-${task.state}-${task.attempts}-${task.commit}` : null,
    (signal) =>
      get<"GET /api/runs/{run}/tasks/{task}/diff">(
        "/api/runs/{run}/tasks/{task}/diff",
        { run, task: task?.id },
        signal,
      ),
    () => false,
    task?.state === "running" ? 5000 : undefined,
  );
  const value = useMemo(
    () => (looked.value ? { answer: looked.value, files: parsePatch(looked.value.patch ?? "") } : null),
    [looked.value],
  );
  return { ...looked, value };
}

/** What this task needs of the user, if anything. */
export function useNeed(run: string, task: string): Need | null {
  return useStore(needs).find((need) => need.run === run && need.task === task) ?? null;
}

/** Ids of the tasks that need this one. */
export const dependents = (live: LiveRun, task: string): RunTask[] =>
  live.tasks.filter((other) => other.dependencies.includes(task));

export const act = (run: string, task: string, what: string, body: Record<string, unknown> = {}) =>
  send("POST", taskRoute(run, task, what), body);
