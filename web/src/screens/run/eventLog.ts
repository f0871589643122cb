// The events of a run as far as they were looked at: the newest at once, older ones page by page, new ones as they come.

import { useCallback, useEffect, useRef, useState } from "react";
import { ofTheLog } from "../../api/events";
import { get } from "../../api/http";
import { refuse } from "../../lib/messages";
import type { RunEvent } from "../../words/runEvents";

const PAGE = 500;

async function read(run: string, since: number, limit: number): Promise<RunEvent[]> {
  const found = await get<"GET /api/runs/{run}/events">("/api/runs/{run}/events", { run, since, limit });
  return ofTheLog<RunEvent>(found.events);
}

export interface EventLog {
  /** Newest first. */
  events: RunEvent[];
  /** Whether there are older ones that were not read. */
  hasOlder: boolean;
  older: () => void;
}

/** `newest` is the number of the run's last event. */
export function useEventLog(run: string, newest: number): EventLog {
  const [events, setEvents] = useState<RunEvent[]>([]);
  const reading = useRef(false);
  const known = useRef({ first: 0, last: 0 });
  const [round, again] = useState(0);
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` reads on where more has happened meanwhile
  useEffect(() => {
    if (newest === 0 || reading.current || known.current.last >= newest) return;
    reading.current = true;
    const { last } = known.current;
    const since = last || Math.max(0, newest - PAGE);
    read(run, since, 10_000)
      .then((found) => {
        const end = found.at(-1);
        if (!isShown.current || !end) return;
        if (known.current.first === 0) known.current.first = found[0]?.seq ?? 0;
        known.current.last = end.seq;
        setEvents((before) => [...found.reverse(), ...before]);
      })
      .catch(refuse)
      .finally(() => {
        reading.current = false;
        if (isShown.current) again((n) => n + 1);
      });
  }, [run, newest, round]);

  const older = useCallback(async () => {
    const { first } = known.current;
    if (reading.current || first <= 1) return;
    reading.current = true;
    try {
      const since = Math.max(0, first - 1 - PAGE);
      const found = await read(run, since, first - 1 - since);
      known.current.first = found[0]?.seq ?? 1;
      setEvents((before) => [...before, ...found.reverse()]);
    } catch (error) {
      refuse(error);
    }
    reading.current = false;
    again((n) => n + 1);
  }, [run]);

  return { events, hasOlder: known.current.first > 1, older };
}
