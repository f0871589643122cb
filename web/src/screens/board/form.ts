// A task as a form has it, and what of it has to be written.

import type { ProjectTask } from "../../api/types";
import { board } from "../../words/board";
import type { Fields } from "./acts";
import { checksOf, filesOf, workOf } from "./data";
import { blockOf, keyOf } from "./yaml";

export interface Form {
  id: string;
  name: string;
  epic: string;
  priority: string;
  after: string;
  agent: string;
  model: string;
  files: string;
  cap: string;
  land: string;
  verify: string;
  kind: "prompt" | "run";
  work: string;
}

export const EMPTY: Form = {
  id: "",
  name: "",
  epic: "",
  priority: "",
  after: "",
  agent: "",
  model: "",
  files: "",
  cap: "",
  land: "",
  verify: "",
  kind: "prompt",
  work: "",
};

/** What the task itself says in the file: defaults that come from elsewhere are not in it. */
export function formOf(task: ProjectTask, text: string): Form {
  const block = blockOf(text, task.id);
  const own = (key: string): string => (block ? (keyOf(block, key) ?? "") : "");
  const work = workOf(task);
  const priority = own("priority");
  return {
    id: task.id,
    name: task.name === task.id && !own("name") && !own("title") ? "" : task.name,
    epic: task.epic_id ?? "",
    priority: /^[0-4]$/.test(priority) ? (board.priorities[Number(priority)] ?? "") : priority,
    after: task.dependencies.join(", "),
    agent: own("agent"),
    model: own("model"),
    files: filesOf(task).join(", "),
    cap: own("max_cost"),
    land: own("land"),
    verify: checksOf(task).join("\n"),
    kind: work.kind,
    work: work.text,
  };
}

const list = (text: string, by: RegExp): string[] =>
  text
    .split(by)
    .map((one) => one.trim())
    .filter(Boolean);

/** What is no number is sent as it is, so that the server says what is wrong with it. */
export function asAmount(value: string): number | string {
  const bare = value.trim().replace("$", "");
  return Number.isFinite(Number(bare)) ? Number(bare) : bare;
}

/** As the file has it; null takes a key out. */
const WRITTEN: Record<Exclude<keyof Form, "id" | "kind" | "work">, [string, (value: string) => unknown]> = {
  name: ["name", (value) => value.trim() || null],
  epic: ["epic", (value) => value.trim() || null],
  priority: ["priority", (value) => value || null],
  after: ["dependencies", (value) => (value.trim() ? list(value, /[,\s]+/) : null)],
  agent: ["agent", (value) => value.trim() || null],
  model: ["model", (value) => value.trim() || null],
  files: ["files", (value) => (value.trim() ? list(value, /,/) : null)],
  cap: ["max_cost", (value) => (value.trim() ? asAmount(value) : null)],
  land: ["land", (value) => value || null],
  verify: ["verify", (value) => (value.trim() ? list(value, /\n/) : null)],
};

export function changedFields(before: Form, now: Form): Fields {
  const fields: Fields = {};
  for (const [name, [key, value]] of Object.entries(WRITTEN)) {
    const at = name as keyof typeof WRITTEN;
    if (before[at] !== now[at]) fields[key] = value(now[at]);
  }
  if (before.kind !== now.kind) {
    fields[before.kind] = null;
    fields[now.kind] = now.work;
  } else if (before.work !== now.work) fields[now.kind] = now.work;
  return fields;
}

export function newFields(form: Form): Fields {
  const fields: Fields = { id: form.id.trim() };
  for (const [name, [key, value]] of Object.entries(WRITTEN)) {
    const written = value(form[name as keyof typeof WRITTEN]);
    if (written !== null) fields[key] = written;
  }
  fields[form.kind] = form.work;
  return fields;
}

/** Names of the controls that are not as they were. */
export const differing = (before: Form, now: Form): (keyof Form)[] =>
  (Object.keys(before) as (keyof Form)[]).filter((name) => before[name] !== now[name]);
