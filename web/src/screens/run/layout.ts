// Which rows the table has, in which order. Knows nothing of how they look.

import { useCallback, useMemo, useRef, useState } from "react";
import type { RunTask } from "../../api/types";
import { ORDER } from "../../parts/State";
import { type StateName, words } from "../../words";
import { taskWords } from "../../words/runTasks";

export type GroupBy = keyof typeof taskWords.groups;
export type Chip = keyof typeof taskWords.chips;

export const CHIPS: Record<Chip, StateName[]> = {
  needs: ["needs"],
  failed: ["failed", "conflict"],
  running: ["running"],
  left: ["pending", "waiting"],
  landed: ["landed", "completed"],
};

export interface Group {
  key: string;
  name: string;
  tasks: RunTask[];
}

export type Item = { kind: "group"; key: string } | { kind: "task"; id: string; group: string };

const BIG = 600;

export function fitsWords(task: RunTask, query: string): boolean {
  if (!query) return true;
  const all = `${task.id} ${task.name} ${task.epic_id ?? ""} ${task.agent ?? ""} ${task.model ?? ""}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

export function fits(task: RunTask, query: string, chip: string): boolean {
  const states = CHIPS[chip as Chip];
  return (!states || states.includes(task.state as StateName)) && fitsWords(task, query);
}

function keyOf(task: RunTask, by: GroupBy): string {
  if (by === "epic") return task.epic_id ?? "";
  if (by === "group") return task.group ?? "";
  return by === "state" ? task.state : "";
}

function nameOf(key: string, by: GroupBy): string {
  if (by === "state") return words.states[key as StateName] ?? key;
  return key || (by === "group" ? taskWords.noGroup : taskWords.noEpic);
}

/** In the order in which the file names them first; by state, what is most urgent first. */
const URGENT: StateName[] = ["needs", "conflict", "failed", "running", "waiting", "pending"];
const byUrgency = (state: string): number => {
  const at = URGENT.indexOf(state as StateName);
  return at >= 0 ? at : URGENT.length + ORDER.indexOf(state as StateName);
};

export function groupsOf(tasks: RunTask[], by: GroupBy): Group[] {
  const found = new Map<string, Group>();
  for (const task of tasks) {
    const key = keyOf(task, by);
    const group = found.get(key);
    if (group) group.tasks.push(task);
    else found.set(key, { key, name: nameOf(key, by), tasks: [task] });
  }
  const groups = [...found.values()];
  if (by === "state") groups.sort((a, b) => byUrgency(a.key) - byUrgency(b.key));
  return groups;
}

/** Groups of a big run are folded, but for those that need the user. */
export function isFoldedFirst(group: Group, all: number, groups: number): boolean {
  if (all <= BIG || groups < 2) return false;
  return !group.tasks.some((task) => ["needs", "failed", "conflict"].includes(task.state));
}

export function itemsOf(groups: Group[], by: GroupBy, isFolded: (group: Group) => boolean): Item[] {
  const items: Item[] = [];
  const hasHeads = by !== "none" && !(groups.length === 1 && groups[0]?.key === "");
  for (const group of groups) {
    if (hasHeads) items.push({ kind: "group", key: group.key });
    if (hasHeads && isFolded(group)) continue;
    for (const task of group.tasks) items.push({ kind: "task", id: task.id, group: group.key });
  }
  return items;
}

const nameOfItem = (item: Item | undefined): string => (item ? (item.kind === "task" ? item.id : `\n${item.key}`) : "");

function moves(before: Item[], now: Item[]): number {
  let moved = Math.abs(before.length - now.length);
  const most = Math.min(before.length, now.length);
  for (let at = 0; at < most && moved < 100; at += 1) if (nameOfItem(before[at]) !== nameOfItem(now[at])) moved += 1;
  return moved;
}

/**
 * No row jumps under the pointer: while it is over the table, rows stay where they are, whatever happens to the tasks.
 * What the user asks for (`wish`: a filter, a fold) is done at once.
 */
export function useAtRest(now: Item[], wish: string) {
  const held = useRef({ items: now, wish });
  const over = useRef(false);
  const [, look] = useState(0);
  if (!over.current || held.current.wish !== wish) held.current = { items: now, wish };
  const { items } = held.current;
  const moved = useMemo(() => (items === now ? 0 : moves(items, now)), [items, now]);
  const settle = useCallback(() => {
    over.current = false;
    look((n) => n + 1);
  }, []);
  const pointer = useMemo(
    () => ({
      onPointerEnter: (event: { pointerType: string }) => {
        over.current = event.pointerType === "mouse";
      },
      onPointerLeave: settle,
    }),
    [settle],
  );
  return { items, moved, settle, pointer };
}
