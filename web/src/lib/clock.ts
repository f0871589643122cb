// The time, for what is said relative to it: one clock for the whole page.

import { useEffect } from "react";
import { Store, useStore } from "./store";

const time = new Store(Date.now());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  useEffect(() => {
    if (users++ === 0) {
      time.set(Date.now());
      timer = setInterval(() => time.set(Date.now()), 1000);
    }
    return () => {
      if (--users === 0) clearInterval(timer);
    };
  }, []);
  return useStore(time);
}
