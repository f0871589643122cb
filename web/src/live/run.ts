// A run as it is now: all its tasks, and how it stands. One request brings it up to date, whatever has happened.

import { useEffect, useMemo } from "react";
import { type Away, get, type Refusal } from "../api/http";
import type { RunTask, StatusAnswer } from "../api/types";
import { Store, useStore } from "../lib/store";
import { onRing } from "./hub";

export interface LiveRun {
  status: StatusAnswer | null;
  /** In the order of the file. */
  tasks: RunTask[];
  byId: Map<string, RunTask>;
  refusal: Refusal | Away | null;
}

const SOON = 30;
const MOST_OFTEN = 120;
/** A run at work is looked at from time to time anyway: elapsed times and waiting reasons change without events. */
const SLOWLY = 5000;

const nothing: LiveRun = { status: null, tasks: [], byId: new Map(), refusal: null };

class Following {
  readonly store = new Store<LiveRun>(nothing);
  private seq = 0;
  private known = 0;
  private asking = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = 0;
  private users = 0;
  private off = () => {};
  private ticking: ReturnType<typeof setInterval> | undefined;

  constructor(readonly run: string) {}

  enter(): () => void {
    if (this.users++ === 0) {
      this.off = onRing((ring) => {
        if (ring === null) this.soon();
        else if (ring.run === this.store.get().status?.run) {
          this.known = Math.max(this.known, ring.seq);
          this.soon();
        }
      });
      this.ticking = setInterval(() => {
        if (this.store.get().status?.live) this.soon();
      }, SLOWLY);
      this.look();
    }
    return () => {
      if (--this.users > 0) return;
      this.off();
      clearInterval(this.ticking);
      clearTimeout(this.timer);
      this.timer = undefined;
    };
  }

  soon = (): void => {
    if (this.timer !== undefined || this.users === 0) return;
    this.timer = setTimeout(this.look, Math.max(SOON, MOST_OFTEN - (Date.now() - this.last)));
  };

  private look = async (): Promise<void> => {
    this.timer = undefined;
    if (this.asking) {
      this.known = Math.max(this.known, this.seq + 1);
      return;
    }
    this.asking = true;
    this.last = Date.now();
    try {
      const changes = await get<"GET /api/runs/{run}/changes">("/api/runs/{run}/changes", {
        run: this.run,
        since: this.seq,
      });
      this.seq = changes.seq;
      this.take(changes.status as unknown as StatusAnswer, changes.tasks, changes.all);
    } catch (error) {
      this.store.set({ ...this.store.get(), refusal: error as Refusal | Away });
    }
    this.asking = false;
    // The log is behind what was told already.
    if (this.known > this.seq) this.soon();
  };

  private take(status: StatusAnswer, changed: RunTask[], all: boolean): void {
    const before = this.store.get();
    let { tasks, byId } = before;
    if (all) {
      tasks = changed;
      byId = new Map(changed.map((task) => [task.id, task]));
    } else if (changed.length > 0) {
      byId = new Map(byId);
      for (const task of changed) byId.set(task.id, task);
      tasks = tasks.map((task) => byId.get(task.id) ?? task);
    }
    // What only the coordinator knows of those at work: verifying, merging.
    this.store.set({ status, tasks, byId, refusal: null });
  }
}

const followed = new Map<string, Following>();

function following(run: string): Following {
  const known = followed.get(run);
  if (known) return known;
  const made = new Following(run);
  followed.set(run, made);
  // Those that are not looked at any more are kept for going back to them; not for ever.
  if (followed.size > 8) {
    for (const [id, old] of followed) {
      if (followed.size > 8 && !old.store.watched && old !== made) followed.delete(id);
    }
  }
  return made;
}

export function useRun(run: string): LiveRun & { again: () => void } {
  const mine = useMemo(() => following(run), [run]);
  useEffect(() => mine.enter(), [mine]);
  return { ...useStore(mine.store), again: mine.soon };
}
