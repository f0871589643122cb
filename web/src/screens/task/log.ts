// The text of a log, held as it comes: all of it at the start, then only what is new.

import { useEffect, useRef, useState } from "react";
import { type Away, address, ask, Refusal } from "../../api/http";
import { Lines } from "../../lib/lines";

export interface Log {
  lines: Lines;
  /** How often something was added: what is drawn goes by it. */
  version: number;
  loaded: boolean;
  refusal: Refusal | Away | null;
}

const OFTEN = 1000;

const fresh = (): Log => ({ lines: new Lines(), version: 0, loaded: false, refusal: null });

export const logAddress = (run: string, task: string, attempt: number | null): string =>
  address("/api/runs/{run}/tasks/{task}/log", { run, task, attempt: attempt ?? undefined });

export function useLog(run: string, task: string, attempt: number | null, atWork: boolean): Log {
  const path = attempt === null ? null : logAddress(run, task, attempt);
  const [held, setHeld] = useState<Log & { path: string | null }>(() => ({ path, ...fresh() }));
  const live = useRef(atWork);
  live.current = atWork;
  const trigger = useRef<() => void>(() => {});
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    const decoder = new TextDecoder();
    const lines = new Lines();
    let [bytes, version] = [0, 0];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    const look = async (): Promise<void> => {
      if (asking) return;
      asking = true;
      clearTimeout(timer);
      const goesOn = live.current;
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
      asking = false;
      if (goesOn) timer = setTimeout(look, OFTEN);
    };
    trigger.current = look;
    look();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [path]);
  // When it ends, the rest is asked for once more; when it begins again, it is followed again.
  useEffect(() => {
    if (atWork) trigger.current();
  }, [atWork]);
  return held.path === path ? held : { lines: new Lines(), version: 0, loaded: false, refusal: null };
}
