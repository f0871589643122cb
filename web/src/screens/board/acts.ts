// What changes the file of a project. All but adding needs the version of the file that the user has seen.

import { address, send } from "../../api/http";
import type { EditedAnswer, ParallelStartAnswer } from "../../api/types";

const ofTask = (project: string, task: string, what = ""): string =>
  address(`/api/projects/{project}/tasks/{task}${what}`, { project, task });

export type Fields = Record<string, unknown>;

export function addTask(project: string, fields: Fields): Promise<EditedAnswer> {
  return send("POST", address("/api/projects/{project}/tasks", { project }), { fields });
}

export function changeTask(project: string, task: string, fields: Fields, id: string | null, seen: string) {
  const body: Record<string, unknown> = {};
  if (Object.keys(fields).length > 0) body.fields = fields;
  if (id) body.id = id;
  return send<EditedAnswer>("PATCH", ofTask(project, task), body, seen);
}

export function removeTask(project: string, task: string, seen: string): Promise<EditedAnswer> {
  return send("DELETE", ofTask(project, task), {}, seen);
}

export type MoveTo = { before: string } | { after: string };

export function moveTask(project: string, task: string, to: MoveTo, seen: string) {
  return send<EditedAnswer>("POST", ofTask(project, task, "/move"), to, seen);
}

export interface Start {
  max_concurrency?: number | string;
  only?: string;
  agent?: string;
  model?: string;
  max_cost?: number | string;
  merge?: string;
  isolation?: string;
  strategy?: string;
}

export function startRun(project: string, how: Start): Promise<ParallelStartAnswer> {
  return send("POST", address("/api/projects/{project}/parallel/start", { project }), { ...how });
}
