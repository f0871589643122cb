// What is in the address behind the question mark: filters, selections, switches. So that every view can be sent to others.

import { useCallback } from "react";
import { useSearchParams } from "wouter";

/** One value of the address; setting it leaves no trace in the history unless it is a step of its own. */
export function useInAddress(name: string, otherwise = ""): [string, (value: string | null, step?: boolean) => void] {
  const [given, change] = useSearchParams();
  const set = useCallback(
    (value: string | null, step = false) =>
      change(
        (before) => {
          const after = new URLSearchParams(before);
          if (value === null || value === "" || value === otherwise) after.delete(name);
          else after.set(name, value);
          return after;
        },
        { replace: !step },
      ),
    [change, name, otherwise],
  );
  return [given.get(name) ?? otherwise, set];
}
