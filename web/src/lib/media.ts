// How wide the window is, where the style alone cannot tell.

import { useSyncExternalStore } from "react";

function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}

/** Tables are rows of two lines. */
export const useNarrow = (): boolean => useMedia("(max-width: 820px)");
/** There is room for a panel beside the table. */
export const useHasPanel = (): boolean => useMedia("(min-width: 1181px)");
