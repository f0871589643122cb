// What the log of a run says of work: which files each task has changed, and which conflicts are expected. Of a long log
// only that is kept, and what is read is not read again.

import { useEffect, useState } from "react";
import { ofTheLog } from "../../api/events";
import { get } from "../../api/http";
import { refuse } from "../../lib/messages";
import { paced } from "../../lib/pace";
import { onRing } from "../../live/hub";
import type { TaskEvent } from "../task/events";

/** As many as the server gives at once. */
const PAGE = 10_000;

const isOfWork = (event: TaskEvent): boolean => event.change !== undefined || event.type === "conflict_foreseen";

export function useWorkEvents(run: string): TaskEvent[] {
  const [held, setHeld] = useState<{ run: string; events: TaskEvent[] }>({ run, events: [] });
  useEffect(() => {
    const stop = new AbortController();
    let [since, events]: [number, TaskEvent[]] = [0, []];
    const look = async (): Promise<void> => {
      try {
        const given = { run, since, limit: PAGE };
        const answer = await get<"GET /api/runs/{run}/events">("/api/runs/{run}/events", given, stop.signal);
        const found = ofTheLog<TaskEvent>(answer.events);
        since = answer.next_since ?? found.at(-1)?.seq ?? since;
        const fresh = found.filter(isOfWork);
        if (fresh.length > 0) {
          events = [...events, ...fresh];
          setHeld({ run, events });
        }
        if (answer.next_since != null) mine.ring();
      } catch (error) {
        if (!stop.signal.aborted) refuse(error);
      }
    };
    const mine = paced(look);
    mine.ring();
    const off = onRing((ring) => (ring === null || ring.run.startsWith(run)) && mine.ring());
    return () => {
      off();
      mine.stop();
      stop.abort();
    };
  }, [run]);
  return held.run === run ? held.events : [];
}
