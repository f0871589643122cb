// The runs, newest first: the first page is kept up to date, older ones are read as one scrolls.

import { useCallback, useMemo, useRef, useState } from "react";
import { get } from "../../api/http";
import type { Listed } from "../../api/types";
import { refuse } from "../../lib/messages";
import { useLooked } from "../../live/query";

const PAGE = 50;

const read = (cursor: string | undefined, signal?: AbortSignal) =>
  get<"GET /api/runs">("/api/runs", { figures: true, limit: PAGE, cursor }, signal);

export function useRuns() {
  const first = useLooked(
    "runs",
    (signal) => read(undefined, signal),
    () => true,
    10_000,
  );
  const [older, setOlder] = useState<Listed[]>([]);
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const reading = useRef(false);
  const cursor = next === undefined ? first.value?.next_cursor : next;
  const more = useCallback(async () => {
    if (!cursor || reading.current) return;
    reading.current = true;
    try {
      const page = await read(cursor);
      setOlder((before) => [...before, ...page.runs]);
      setNext(page.next_cursor ?? null);
    } catch (error) {
      refuse(error);
    }
    reading.current = false;
  }, [cursor]);
  const runs = useMemo(() => {
    const newest = first.value?.runs ?? [];
    const known = new Set(newest.map((run) => run.run));
    return [...newest, ...older.filter((run) => !known.has(run.run))];
  }, [first.value, older]);
  return {
    runs,
    isKnown: first.value !== null,
    refusal: first.refusal,
    hasMore: Boolean(cursor),
    more,
    again: first.again,
  };
}

export type Chip = "running" | "needs" | "stopped" | "failed" | "completed";

export function fitsChip(run: Listed, chip: string): boolean {
  const shown = run.figures?.shown;
  switch (chip) {
    case "running":
      return run.live;
    case "needs":
      return (shown?.needs ?? 0) > 0 || run.can_be_resumed;
    case "stopped":
      return run.can_be_resumed;
    case "failed":
      return run.state === "failed";
    case "completed":
      return run.state === "completed";
    default:
      return true;
  }
}

export function fitsQuery(run: Listed, query: string): boolean {
  const all = `${run.run} ${run.source} ${run.project ?? ""} ${run.directory} ${run.figures?.by ?? ""}`.toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
