// The tasks of a run by state. Cards only show; what can be done is in the panel.

import { useMemo } from "react";
import { Link, useLocation, useParams } from "wouter";
import type { RunTask } from "../../api/types";
import { useInAddress } from "../../lib/address";
import { count, duration } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useHasPanel } from "../../lib/media";
import { useRun } from "../../live/run";
import { Glyph } from "../../parts/State";
import { type StateName, words } from "../../words";
import { taskWords } from "../../words/runTasks";
import { type Known, knownOf, phaseOf, workedOf } from "./activity";
import { costOf, isUntold } from "./cost";
import { Panel, taskScreen } from "./Panel";
import { RunFrame } from "./RunFrame";

const text = taskWords.board;
type ColumnName = keyof typeof text.columns;

const STATES: Record<ColumnName, StateName[]> = {
  pending: ["pending"],
  waiting: ["waiting"],
  running: ["running"],
  needs: ["needs", "conflict"],
  landed: ["landed", "completed"],
  failed: ["failed"],
  dropped: ["skipped", "cancelled"],
};
/** A column shows so many; the table has all. */
const MOST = 40;
const FILTER: Partial<Record<ColumnName, string>> = {
  pending: "left",
  waiting: "left",
  running: "running",
  needs: "needs",
  landed: "landed",
  failed: "failed",
};

export function RunBoard() {
  const { run = "" } = useParams<{ run: string }>();
  return (
    <RunFrame run={run} tab="board">
      <Board run={run} />
    </RunFrame>
  );
}

function Board({ run }: { run: string }) {
  const live = useRun(run);
  const [, go] = useLocation();
  const hasPanel = useHasPanel();
  const [selected, setSelected] = useInAddress("task");
  const known = useMemo(() => knownOf(live.status), [live.status]);
  const columns = useMemo(
    () =>
      (Object.keys(STATES) as ColumnName[])
        .map((name) => ({
          name,
          tasks: live.tasks.filter((task) => STATES[name].includes(task.state as StateName)),
        }))
        // These two are seldom used; the others keep their place.
        .filter(({ name, tasks }) => tasks.length > 0 || (name !== "waiting" && name !== "dropped")),
    [live.tasks],
  );
  const cards = columns.flatMap(({ tasks }) => tasks.slice(0, MOST));
  const at = cards.findIndex((task) => task.id === selected);
  const move = (by: number) => {
    const next = cards[Math.max(0, Math.min(cards.length - 1, at + by))];
    if (next) setSelected(next.id);
  };
  useKeys([
    { keys: "j", label: words.keys.next, act: () => move(1) },
    { keys: "k", label: words.keys.previous, act: () => move(-1) },
    { keys: "Enter", label: words.keys.open, act: () => selected && go(taskScreen(run, selected)) },
    { keys: "Escape", label: taskWords.panel.close, act: () => setSelected(null) },
  ]);
  const open = (id: string) => (hasPanel ? setSelected(id) : go(taskScreen(run, id)));
  const task = selected ? live.byId.get(selected) : undefined;
  return (
    <div className={task && hasPanel ? "with-panel" : undefined}>
      <div className="run-board" role="group" aria-label={text.label}>
        {columns.map(({ name, tasks }) => (
          <section key={name} aria-label={text.columns[name]}>
            <h2 data-state={STATES[name][0]}>
              <Glyph state={STATES[name][0] ?? "pending"} />
              {text.columns[name]} <span className="faint">{count(tasks.length)}</span>
            </h2>
            {tasks.slice(0, MOST).map((one) => (
              <Card key={one.id} task={one} known={known} selected={one.id === selected} open={open} />
            ))}
            {tasks.length > MOST && (
              <Link className="link small" href={`/runs/${run}${FILTER[name] ? `?state=${FILTER[name]}` : ""}`}>
                {text.more(tasks.length - MOST)}
              </Link>
            )}
          </section>
        ))}
      </div>
      {task && hasPanel && <Panel key={task.id} {...{ run, live, task, select: setSelected }} />}
    </div>
  );
}

interface CardProps {
  task: RunTask;
  known: Known;
  selected: boolean;
  open: (id: string) => void;
}

function Card({ task, known, selected, open }: CardProps) {
  const worked = workedOf(task, known);
  const phase = phaseOf(task, known);
  const doing = [task.agent ?? taskWords.command, phase ?? (worked > 0 ? duration(worked) : null)].filter(Boolean);
  return (
    <button
      type="button"
      className="run-card"
      data-state={task.state}
      aria-pressed={selected}
      onClick={() => open(task.id)}
    >
      <b className="cut">{task.id}</b>
      {task.name !== task.id && <span className="cut dim small">{task.name}</span>}
      <span className="row faint">
        <span className="cut">
          {task.state === "skipped" || task.state === "cancelled" || task.state === "conflict"
            ? words.states[task.state as StateName]
            : doing.join(" · ")}
        </span>
        <span className="nowrap">{task.agent && !isUntold(task) ? costOf(task) : ""}</span>
      </span>
    </button>
  );
}
