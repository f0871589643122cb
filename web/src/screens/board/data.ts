// A project's tasks as its file has them, and where each is on the board.

import { get, getText } from "../../api/http";
import type { ProjectAnswer, ProjectTask, RunTask } from "../../api/types";
import type { Ring } from "../../live/hub";
import { type Looked, useLooked } from "../../live/query";
import type { board } from "../../words/board";

export type ColumnName = keyof typeof board.columns;

export const COLUMNS: ColumnName[] = ["backlog", "ready", "running", "needs", "review", "landed", "failed"];

export interface FileTasks {
  version: string;
  tasks: ProjectTask[];
  text: string;
}

/** Of `GET /api/projects/{project}`, where its file cannot be read. */
export type ProjectWithError = ProjectAnswer & { file_error?: string };

const PAGE = 1000;
/** A file may be changed in an editor as well. */
const SLOWLY = 4000;

const TELLING = new Set(["run_started", "task_complete", "worktree_merged", "parallel_complete", "parallel_error"]);
const wants = (ring: Ring): boolean => [...ring.types].some((type) => TELLING.has(type));

export async function readFile(project: string, signal?: AbortSignal): Promise<FileTasks> {
  const tasks: ProjectTask[] = [];
  let cursor: string | undefined;
  let version = "";
  do {
    const page = await get<"GET /api/projects/{project}/tasks">(
      "/api/projects/{project}/tasks",
      { project, cursor, limit: PAGE },
      signal,
    );
    tasks.push(...page.tasks);
    version = page.version;
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  const text = await getText(`/api/projects/${encodeURIComponent(project)}/file`, signal);
  return { version, tasks, text };
}

export function useFileTasks(project: string | null): Looked<FileTasks> {
  return useLooked(project && `file-${project}`, (signal) => readFile(project ?? "", signal), wants, SLOWLY);
}

export function useProject(project: string): Looked<ProjectWithError> {
  return useLooked(
    `project-${project}`,
    (signal) => get<"GET /api/projects/{project}">("/api/projects/{project}", { project }, signal),
    wants,
    SLOWLY,
  );
}

export interface Placed {
  task: ProjectTask;
  live: RunTask | null;
  column: ColumnName;
  /** What it waits for that is not done. */
  missing: string[];
}

function columnOf(task: ProjectTask, live: RunTask | null, isLive: boolean, missing: string[]): ColumnName {
  const open = missing.length > 0 ? "backlog" : "ready";
  switch (live?.state) {
    case "running":
      return "running";
    case "needs":
      return live.phase === "review" ? "review" : "needs";
    case "conflict":
      return "needs";
    case "failed":
    case "skipped":
      return "failed";
    case "landed":
    case "completed":
      // Landed with another text than it has now: it is to be done again.
      return task.done || isLive ? "landed" : open;
    case "pending":
    case "waiting":
      if (isLive) return open;
  }
  return task.done ? "landed" : open;
}

export function placed(tasks: ProjectTask[], live: Map<string, RunTask>, isLive: boolean): Placed[] {
  const done = new Set(tasks.filter((task) => task.done).map((task) => task.id));
  const isOver = (id: string) => isLive && ["landed", "completed"].includes(live.get(id)?.state ?? "");
  return tasks.map((task) => {
    const missing = task.dependencies.filter((id) => !done.has(id) && !isOver(id));
    const now = live.get(task.id) ?? null;
    return { task, live: now, column: columnOf(task, now, isLive, missing), missing };
  });
}

export const filesOf = (task: ProjectTask): string[] => (Array.isArray(task.files) ? (task.files as string[]) : []);
export const checksOf = (task: ProjectTask): string[] => (Array.isArray(task.verify) ? (task.verify as string[]) : []);

/** What the task is to do, as text. */
export function workOf(task: ProjectTask): { kind: "prompt" | "run"; text: string } {
  const work = task.work as { prompt?: string; run?: string | string[] } | null;
  const run = Array.isArray(work?.run) ? work.run.join(" ") : (work?.run ?? "");
  return task.kind === "run" ? { kind: "run", text: run } : { kind: "prompt", text: work?.prompt ?? "" };
}
