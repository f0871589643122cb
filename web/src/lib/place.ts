// What of a screen is in its address, so that it can be sent to a colleague: selection, filter, tab.

import { useCallback } from "react";
import { useLocation, useSearch } from "wouter";

export function usePlace(): [(name: string) => string, (changes: Record<string, string | null>) => void] {
  const search = useSearch();
  const [path, go] = useLocation();
  const read = (name: string) => new URLSearchParams(search).get(name) ?? "";
  const write = useCallback(
    (changes: Record<string, string | null>) => {
      const query = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(changes)) {
        if (value) query.set(name, value);
        else query.delete(name);
      }
      const text = query.toString();
      go(text ? `${path}?${text}` : path, { replace: true });
    },
    [path, go],
  );
  return [read, write];
}
