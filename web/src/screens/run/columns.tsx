// The columns of the table of tasks, and which of them this browser shows.

import type { ReactNode } from "react";
import type { RunTask } from "../../api/types";
import { at, count, duration, exactly, tokens } from "../../lib/format";
import { remember, remembered } from "../../lib/settings";
import { Store } from "../../lib/store";
import { State } from "../../parts/State";
import type { StateName } from "../../words";
import { taskWords } from "../../words/runTasks";
import { activityOf, type Known, phaseOf, workedOf } from "./activity";
import { costOf } from "./cost";

export type ColumnName = keyof typeof taskWords.head;

export interface Seen {
  known: Known;
  byId: Map<string, RunTask>;
  critical: Set<string>;
}

interface Column {
  width: string;
  number?: boolean;
  /** The whole of it, where it may be cut. */
  tip?: (task: RunTask, seen: Seen) => string | undefined;
  cell: (task: RunTask, seen: Seen) => ReactNode;
}

export const COLUMNS: Record<ColumnName, Column> = {
  state: {
    width: "minmax(112px, 152px)",
    cell: (task, { known }) => <State state={task.state as StateName} phase={phaseOf(task, known)} />,
  },
  task: {
    width: "minmax(160px, 1.7fr)",
    tip: (task) => (task.name === task.id ? task.id : `${task.id}: ${task.name}`),
    cell: (task, { critical }) => (
      <>
        <b className={critical.has(task.id) ? "id critical" : "id"}>{task.id}</b>
        {task.name !== task.id && <span className="dim">{task.name}</span>}
      </>
    ),
  },
  agent: {
    width: "104px",
    cell: (task) =>
      task.agent ? (
        <>
          {task.agent} {task.model && <span className="faint">{task.model}</span>}
        </>
      ) : (
        <span className="faint">{taskWords.command}</span>
      ),
  },
  time: {
    width: "72px",
    number: true,
    cell: (task, { known }) => {
      const worked = workedOf(task, known);
      return worked > 0 ? duration(worked) : "";
    },
  },
  cost: {
    width: "72px",
    number: true,
    cell: (task) => {
      const said = costOf(task);
      return said.includes("$") ? said : <span className="faint">{said}</span>;
    },
  },
  attempts: {
    width: "32px",
    number: true,
    cell: (task) => (task.attempts > 1 ? <b>{task.attempts}</b> : task.attempts || ""),
  },
  changes: {
    width: "96px",
    number: true,
    cell: (task) =>
      task.added == null ? (
        ""
      ) : (
        <>
          <span className="plus">+{count(task.added)}</span> <span className="minus">−{count(task.removed ?? 0)}</span>
        </>
      ),
  },
  tokens: { width: "72px", number: true, cell: (task) => (task.tokens > 0 ? tokens(task.tokens) : "") },
  priority: { width: "64px", cell: (task) => taskWords.priority.names[task.priority] ?? task.priority },
  started: {
    width: "84px",
    tip: (task) => (task.started_at ? exactly(task.started_at) : undefined),
    cell: (task) => (task.started_at ? at(task.started_at) : ""),
  },
  commit: { width: "76px", cell: (task) => <span className="mono">{task.commit?.slice(0, 8)}</span> },
  activity: {
    width: "minmax(120px, 1.3fr)",
    tip: (task, { known, byId }) => activityOf(task, known, byId),
    cell: (task, { known, byId }) => <span className="faint">{activityOf(task, known, byId)}</span>,
  },
};

/** These are always there. */
export const FIXED: ColumnName[] = ["state", "task"];
const FIRST: ColumnName[] = ["state", "task", "agent", "time", "cost", "attempts", "activity"];

function read(): ColumnName[] {
  const names = remembered("columns", "").split(",");
  const found = (Object.keys(COLUMNS) as ColumnName[]).filter((name) => names.includes(name));
  return found.length > 0 ? found : FIRST;
}

export const chosenColumns = new Store<ColumnName[]>(read());

export function switchColumn(name: ColumnName): void {
  const before = chosenColumns.get();
  const wanted = before.includes(name) ? before.filter((one) => one !== name) : [...before, name];
  const inOrder = (Object.keys(COLUMNS) as ColumnName[]).filter((one) => wanted.includes(one) || FIXED.includes(one));
  chosenColumns.set(inOrder);
  remember("columns", inOrder.join(","));
}
