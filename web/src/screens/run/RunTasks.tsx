// The tasks of a run: the table, and the one that is selected beside it.

import { useCallback, useMemo, useState } from "react";
import { useLocation, useParams } from "wouter";
import { useInAddress } from "../../lib/address";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useHasPanel } from "../../lib/media";
import { useRun } from "../../live/run";
import { words } from "../../words";
import { runWords } from "../../words/run";
import { taskWords } from "../../words/runTasks";
import { knownOf } from "./activity";
import { cancelGroup, openGroups } from "./cancelGroup";
import type { Seen } from "./columns";
import { fits, type Group, type GroupBy, groupsOf, type Item, isFoldedFirst, itemsOf, useAtRest } from "./layout";
import { Overview } from "./Overview";
import { Panel, taskScreen } from "./Panel";
import { useMaySteer } from "./project";
import { RunFrame, useRest } from "./RunFrame";
import { cursorOf, TaskTable } from "./TaskTable";
import { TaskTools } from "./TaskTools";

export function RunTasks() {
  const { run = "" } = useParams<{ run: string }>();
  return (
    <RunFrame run={run} tab="tasks">
      <Tasks key={run} run={run} />
    </RunFrame>
  );
}

/** Which groups are folded: as a run of this size begins, then as the user has it. */
function useFolds(groups: Group[], all: number, by: GroupBy, selected: string | undefined) {
  const [turned, setTurned] = useState<Set<string>>(new Set());
  const isFolded = useCallback(
    (group: Group) => {
      if (turned.has(`${by}\n${group.key}`)) return !isFoldedFirst(group, all, groups.length);
      return group.key !== selected && isFoldedFirst(group, all, groups.length);
    },
    [turned, by, all, groups.length, selected],
  );
  const fold = useCallback(
    (key: string) =>
      setTurned((before) => {
        const after = new Set(before);
        const name = `${by}\n${key}`;
        if (!after.delete(name)) after.add(name);
        return after;
      }),
    [by],
  );
  return { isFolded, fold, turned };
}

function Tasks({ run }: { run: string }) {
  const live = useRun(run);
  const { tasks, byId, status } = live;
  const hasPanel = useHasPanel();
  const rest = useRest(run, live);
  const [query, setQuery] = useInAddress("filter");
  const [chip, setChip] = useInAddress("state");
  const [grouping, setBy] = useInAddress("group", "epic");
  const [selected, setSelected] = useInAddress("task");
  const [atGroup, setAtGroup] = useState<string | null>(null);
  const by = (grouping in taskWords.groups ? grouping : "epic") as GroupBy;
  const fitting = useMemo(() => tasks.filter((task) => fits(task, query, chip)), [tasks, query, chip]);
  const groups = useMemo(() => groupsOf(fitting, by), [fitting, by]);
  const byKey = useMemo(() => new Map(groups.map((group) => [group.key, group])), [groups]);
  const within = useMemo(
    () => groups.find((group) => group.tasks.some((task) => task.id === selected))?.key,
    [groups, selected],
  );
  const { isFolded, fold, turned } = useFolds(groups, fitting.length, by, within);
  const wanted = useMemo(() => itemsOf(groups, by, isFolded), [groups, by, isFolded]);
  const wish = [query, chip, by, [...turned].join(), tasks.length === 0].join("\n");
  const { items, moved, settle, pointer } = useAtRest(wanted, wish);
  const seen: Seen = useMemo(
    () => ({ known: knownOf(status), byId, critical: new Set(rest.path.map((step) => step.id)) }),
    [status, byId, rest.path],
  );
  const select = useCallback(
    (id: string | null) => {
      setAtGroup(null);
      setSelected(id);
    },
    [setSelected],
  );
  const forbidden = useMaySteer(status?.directory);
  // All of the group, whatever the filter shows of it.
  const cancel = useCallback(
    async (group: Group) => {
      const meant = openGroups(tasks).find((one) => one.name === group.key);
      if (meant) await cancelGroup(run, meant, tasks);
    },
    [run, tasks],
  );
  const cursor = atGroup !== null ? `\n${atGroup}` : selected || null;
  useTableKeys({ run, items, cursor, select, setAtGroup, fold });
  const task = selected ? byId.get(selected) : undefined;
  return (
    <div className="with-panel">
      <div style={{ minWidth: 0 }}>
        {status && (
          <TaskTools
            total={tasks.length}
            shown={status.shown}
            {...{ query, setQuery, chip, setChip, by, setBy, moved, settle }}
          />
        )}
        <div className="table-box">
          <TaskTable
            {...{ run, items, groups: byKey, isFolded, fold, seen, cursor, select, pointer, forbidden }}
            cancel={by === "group" ? cancel : undefined}
          />
          {fitting.length === 0 && tasks.length > 0 && (
            <p className="nothing">
              {taskWords.nothing}{" "}
              <button
                type="button"
                className="link"
                onClick={() => {
                  setQuery(null);
                  setTimeout(() => setChip(null));
                }}
              >
                {taskWords.clear}
              </button>
            </p>
          )}
          {status && tasks.length > 0 && <p className="small faint foot">{taskWords.foot(count(tasks.length))}</p>}
        </div>
      </div>
      {hasPanel &&
        status &&
        (task ? <Panel key={task.id} {...{ run, live, task, select }} /> : <Overview {...{ status, tasks, select }} />)}
    </div>
  );
}

interface TableKeys {
  run: string;
  items: Item[];
  cursor: string | null;
  select: (id: string | null) => void;
  setAtGroup: (key: string) => void;
  fold: (key: string) => void;
}

function useTableKeys({ run, items, cursor, select, setAtGroup, fold }: TableKeys): void {
  const [, go] = useLocation();
  const at = items.findIndex((item) => cursorOf(item) === cursor);
  const move = (by: number) => {
    const first = items.findIndex((item) => item.kind === "task");
    const next = items[at < 0 ? Math.max(0, first) : Math.max(0, Math.min(items.length - 1, at + by))];
    if (next?.kind === "group") setAtGroup(next.key);
    else if (next) select(next.id);
  };
  const item = items[at];
  const open = () => {
    if (item?.kind === "task") go(taskScreen(run, item.id));
    else if (item) fold(item.key);
  };
  useKeys([
    { keys: "j", label: words.keys.next, act: () => move(1) },
    { keys: "k", label: words.keys.previous, act: () => move(-1) },
    { keys: "ArrowDown", label: words.keys.next, act: () => move(1) },
    { keys: "ArrowUp", label: words.keys.previous, act: () => move(-1) },
    { keys: "PageDown", label: words.keys.next, act: () => move(20) },
    { keys: "PageUp", label: words.keys.previous, act: () => move(-20) },
    { keys: "Enter", label: words.keys.open, act: open },
    { keys: "z", label: runWords.keys.fold, act: () => item && fold(item.kind === "group" ? item.key : item.group) },
    { keys: "Escape", label: runWords.keys.all, act: () => select(null) },
  ]);
}
