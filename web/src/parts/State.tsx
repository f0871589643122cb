import type { ReactNode } from "react";
import type { Shown } from "../api/types";
import { type StateName, words } from "../words";

const line = { fill: "none", stroke: "currentColor", strokeWidth: 1.4 } as const;

/** The same shapes as the signs in the terminal, drawn, because fonts disagree about some of them. */
const shapes: Record<StateName, ReactNode> = {
  pending: <circle cx="7" cy="7" r="4.6" {...line} />,
  waiting: (
    <>
      <circle cx="7" cy="7" r="4.6" {...line} />
      <path d="M7 7V2.4A4.6 4.6 0 0 1 11.6 7Z" fill="currentColor" />
    </>
  ),
  running: <circle cx="7" cy="7" r="4.6" fill="currentColor" />,
  needs: <path d="M7 1.4 12.6 7 7 12.6 1.4 7Z" fill="currentColor" />,
  landed: <path d="m2.6 7.4 3 3 5.8-6.6" {...line} strokeWidth={1.8} strokeLinecap="round" strokeLinejoin="round" />,
  completed: <path d="m2.6 7.4 3 3 5.8-6.6" {...line} strokeWidth={1.8} strokeLinecap="round" strokeLinejoin="round" />,
  failed: <path d="m3.2 3.2 7.6 7.6m0-7.6-7.6 7.6" {...line} strokeWidth={1.8} strokeLinecap="round" />,
  conflict: <path d="M2.4 5h9.2M2.4 9h9.2M9 1.8 5 12.2" {...line} strokeLinecap="round" />,
  skipped: (
    <>
      <circle cx="7" cy="7" r="4.6" {...line} />
      <path d="m3.8 10.2 6.4-6.4" {...line} />
    </>
  ),
  cancelled: (
    <>
      <circle cx="7" cy="7" r="4.6" {...line} />
      <path d="m3.8 10.2 6.4-6.4" {...line} />
    </>
  ),
};

export function Glyph({ state }: { state: StateName }) {
  return (
    <svg className="glyph" viewBox="0 0 14 14" aria-hidden="true">
      {shapes[state] ?? shapes.pending}
    </svg>
  );
}

interface StateProps {
  state: StateName;
  word?: ReactNode;
  phase?: string | null;
  filled?: boolean;
}

/** A glyph, a word and a colour: never the colour alone. */
export function State({ state, word, phase, filled }: StateProps) {
  return (
    <span className={filled ? "state filled" : "state"} data-state={state}>
      <Glyph state={state} />
      <span>{word ?? words.states[state]}</span>
      {phase && <i>{phase}</i>}
    </span>
  );
}

/** In the order in which they are shown: what is done first. */
export const ORDER: StateName[] = [
  "landed",
  "completed",
  "running",
  "needs",
  "conflict",
  "failed",
  "waiting",
  "pending",
  "skipped",
  "cancelled",
];

/** How many of what, in words. */
export function told(shown: Shown): string {
  return ORDER.filter((state) => shown[state] > 0)
    .map((state) => `${shown[state]} ${words.states[state]}`)
    .join(", ");
}

export function Bar({ shown, thin }: { shown: Shown; thin?: boolean }) {
  return (
    <div className={thin ? "bar thin" : "bar"} role="img" aria-label={told(shown)}>
      {ORDER.filter((state) => shown[state] > 0).map((state) => (
        <i
          key={state}
          data-state={state}
          style={{ flex: shown[state] }}
          title={`${shown[state]} ${words.states[state]}`}
        />
      ))}
    </div>
  );
}

export function Legend({ shown }: { shown: Shown }) {
  return (
    <div className="legend">
      {ORDER.filter((state) => shown[state] > 0).map((state) => (
        <State key={state} state={state} word={`${shown[state]} ${words.states[state]}`} />
      ))}
    </div>
  );
}

export function shownOf(states: Iterable<string>): Shown {
  const shown: Shown = {
    pending: 0,
    waiting: 0,
    running: 0,
    needs: 0,
    landed: 0,
    completed: 0,
    failed: 0,
    conflict: 0,
    skipped: 0,
    cancelled: 0,
  };
  for (const state of states) if (state in shown) shown[state as StateName] += 1;
  return shown;
}
