// Needs that are alike are one card: twelve tasks that failed with the same check.

import type { Need } from "../../api/types";

export interface Card {
  key: string;
  /** The first is shown; the others are named. */
  needs: Need[];
}

export function cards(needs: Need[]): Card[] {
  const found = new Map<string, Card>();
  for (const need of needs) {
    const joins = need.kind === "failed" || need.kind === "login";
    const key = joins
      ? [need.run, need.kind, need.words, need.agent, need.live].join("\n")
      : [need.run, need.kind, need.task, need.evidence].join("\n");
    const card = found.get(key);
    if (card) card.needs.push(need);
    else found.set(key, { key, needs: [need] });
  }
  return [...found.values()];
}
