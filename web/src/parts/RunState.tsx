import { type StateName, words } from "../words";
import { runWords } from "../words/run";
import { State } from "./State";

/** A run's state by the glyph and colour of a task's. */
const alike: Record<string, StateName> = {
  created: "pending",
  running: "running",
  paused: "waiting",
  finishing: "running",
  stopped: "needs",
  completed: "completed",
  failed: "failed",
};

export const runStateName = (state: string): StateName => alike[state] ?? "cancelled";

export function RunState({ state, filled, needs = 0 }: { state: string; filled?: boolean; needs?: number }) {
  return (
    <State
      state={runStateName(state)}
      word={runWords.states[state] ?? state}
      phase={needs > 0 ? words.inbox.needYou(needs) : null}
      filled={filled}
    />
  );
}
