// The text of a log, held as it comes: all of it at the start, then only what is new.

import { useCallback, useEffect, useRef, useState } from "react";
import { type Away, address, ask, Refusal } from "../../api/http";
import { Lines } from "../../lib/lines";
import { type Pace, paced } from "../../lib/pace";
import { useOutput } from "../../live/output";

export interface Log {
  lines: Lines;
  /** How often something was added: what is drawn goes by it. */
  version: number;
  loaded: boolean;
  refusal: Refusal | Away | null;
}

const fresh = (): Log => ({ lines: new Lines(), version: 0, loaded: false, refusal: null });

export const logAddress = (run: string, task: string, attempt: number | null): string =>
  address("/api/runs/{run}/tasks/{task}/log", { run, task, attempt: attempt ?? undefined });

/** `seq`: the number of an event of the run that is known. */
export function useLog(run: string, task: string, attempt: number | null, atWork: boolean, seq: number): Log {
  const path = attempt === null ? null : logAddress(run, task, attempt);
  const [held, setHeld] = useState<Log & { path: string | null }>(() => ({ path, ...fresh() }));
  const pace = useRef<Pace | null>(null);
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    const decoder = new TextDecoder();
    const lines = new Lines();
    let [bytes, version] = [0, 0];
    const look = async (): Promise<void> => {
      try {
        const headers: Record<string, string> = bytes > 0 ? { range: `bytes=${bytes}-` } : {};
        const response = await ask(path, { signal: stop.signal, headers });
        const more = new Uint8Array(await response.arrayBuffer());
        bytes += more.length;
        lines.add(decoder.decode(more, { stream: true }));
        version += 1;
        setHeld({ path, lines, version, loaded: true, refusal: null });
      } catch (error) {
        if (stop.signal.aborted) return;
        // Nothing new has come.
        if (!(error instanceof Refusal && error.status === 416))
          setHeld((before) => ({
            ...(before.path === path ? before : { path, ...fresh() }),
            loaded: true,
            refusal: error as Refusal | Away,
          }));
      }
    };
    const mine = paced(look);
    pace.current = mine;
    mine.ring();
    return () => {
      mine.stop();
      stop.abort();
    };
  }, [path]);
  const ring = useCallback(() => pace.current?.ring(), []);
  useOutput(run, task, atWork && path !== null, seq, ring);
  return held.path === path ? held : { lines: new Lines(), version: 0, loaded: false, refusal: null };
}
