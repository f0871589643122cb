// What a run has spent, as far as it is told.

import type { Listed } from "../../api/types";
import { dollars } from "../../lib/format";
import { words } from "../../words";
import { runsWords } from "../../words/runs";

/** What it cost, of its cap; nothing told is unknown. */
export function spendOf(run: Listed): string {
  const { figures } = run;
  if (!figures) return words.unknown;
  const isPartly = figures.cost_usd == null;
  if (figures.known_cost_usd === 0 && (isPartly || figures.tokens === 0)) return isPartly ? words.unknown : "";
  return isPartly ? `${runsWords.atLeast} ${dollars(figures.known_cost_usd)}` : dollars(figures.known_cost_usd);
}
