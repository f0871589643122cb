// What needs the user, for the inbox, the sidebar, the tab's title and notifications.

import { useEffect } from "react";
import { get } from "../api/http";
import type { Need } from "../api/types";
import { remember, remembered } from "../lib/settings";
import { Store, useStore } from "../lib/store";
import { words } from "../words";
import type { Ring } from "./hub";
import { type Looked, useLooked } from "./query";

/** Events after which something else may need the user. */
const TELLING = new Set([
  "task_progress",
  "task_failed",
  "task_complete",
  "worktree_conflict",
  "question_answered",
  "review_given",
  "task_skipped",
  "task_cancelled",
  "task_reopened",
  "provider_parked",
  "parallel_complete",
  "parallel_error",
  "run_started",
  "run_drained",
]);

export const needs = new Store<Need[]>([]);

const wants = (ring: Ring): boolean => [...ring.types].some((type) => TELLING.has(type));

/** A provider that will be back by itself does not count. */
export const isUrgent = (need: Need): boolean => need.kind !== "parked";

/** Kept for the whole page by the shell. */
export function useNeeds(): Looked<Need[]> {
  const looked = useLooked(
    "inbox",
    async (signal) => (await get<"GET /api/inbox">("/api/inbox", {}, signal)).items,
    wants,
    10_000,
  );
  useEffect(() => {
    if (looked.value) {
      notify(needs.get(), looked.value);
      needs.set(looked.value);
    }
  }, [looked.value]);
  const count = useStore(needs).filter(isUrgent).length;
  useEffect(() => {
    document.title = count > 0 ? `(${count}) ${words.product}` : words.product;
  }, [count]);
  return looked;
}

const key = (need: Need): string => [need.run, need.task, need.kind, need.since].join("\n");

export const notifying = new Store(remembered("notify", "") === "yes");

export async function askToNotify(): Promise<boolean> {
  const allowed = typeof Notification !== "undefined" && (await Notification.requestPermission()) === "granted";
  notifying.set(allowed);
  remember("notify", allowed ? "yes" : "");
  return allowed;
}

function notify(before: Need[], now: Need[]): void {
  if (!notifying.get() || !document.hidden || typeof Notification === "undefined") return;
  const known = new Set(before.map(key));
  for (const need of now.filter((need) => isUrgent(need) && !known.has(key(need))).slice(0, 3)) {
    new Notification(`${words.kinds[need.kind] ?? need.kind}: ${need.task ?? need.run}`, {
      body: need.words,
      tag: key(need),
    });
  }
}
