// What is shown is kept while it is looked at, asked for again when something happened, and shown as it was until then.

import { useCallback, useEffect, useRef, useState } from "react";
import { type Away, Refusal } from "../api/http";
import { onRing, type Ring } from "./hub";

export interface Looked<T> {
  value: T | null;
  refusal: Refusal | Away | null;
  again: () => void;
}

/** How soon after a ring it is asked again, and how often at most. */
const SOON = 20;
const MOST_OFTEN = 120;

/**
 * `ask` is called at the start, when `key` changes, and after each ring that `wants` lets through.
 * Answers that were overtaken by newer ones are dropped.
 */
export function useLooked<T>(
  key: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  wants: (ring: Ring) => boolean = () => false,
  every?: number,
): Looked<T> {
  const [held, setHeld] = useState<{ key: string | null; value: T | null; refusal: Refusal | Away | null }>({
    key,
    value: null,
    refusal: null,
  });
  const latest = useRef({ ask, wants });
  latest.current = { ask, wants };
  const trigger = useRef<() => void>(() => {});

  useEffect(() => {
    if (key === null) return;
    let over = false;
    let asking: AbortController | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let rung = false;
    let last = 0;
    const look = async () => {
      timer = undefined;
      if (asking) {
        rung = true;
        return;
      }
      asking = new AbortController();
      last = Date.now();
      try {
        const value = await latest.current.ask(asking.signal);
        if (!over) setHeld({ key, value, refusal: null });
      } catch (error) {
        if (!over && !(error instanceof DOMException)) {
          const refusal = error as Refusal | Away;
          setHeld((before) => ({ key, value: before.key === key ? before.value : null, refusal }));
        }
      }
      asking = null;
      if (rung && !over) {
        rung = false;
        soon();
      }
    };
    const soon = () => {
      if (timer === undefined) timer = setTimeout(look, Math.max(SOON, MOST_OFTEN - (Date.now() - last)));
    };
    trigger.current = () => {
      clearTimeout(timer);
      timer = setTimeout(look, 0);
    };
    look();
    const off = onRing((ring) => {
      if (ring === null || latest.current.wants(ring)) soon();
    });
    const ticking = every ? setInterval(soon, every) : undefined;
    return () => {
      over = true;
      off();
      clearTimeout(timer);
      clearInterval(ticking);
      asking?.abort();
    };
  }, [key, every]);

  const again = useCallback(() => trigger.current(), []);
  const current = held.key === key ? held : { value: null, refusal: null };
  return { value: current.value, refusal: current.refusal, again };
}

export const isRefusal = (error: unknown): error is Refusal => error instanceof Refusal;
