// The page's colours for what is drawn: read from the same places as everything else, again when the theme changes.

import type { StateName } from "../../../words";

export interface Colours {
  paper: string;
  line: string;
  lineStrong: string;
  ink: string;
  ink2: string;
  ink3: string;
  accent: string;
  state: Record<StateName, { text: string; tint: string; fill: string }>;
  phases: Record<string, string>;
}

const OF_STATE: Record<StateName, string> = {
  pending: "grey",
  waiting: "grey",
  running: "blue",
  needs: "amber",
  landed: "green",
  completed: "green",
  failed: "red",
  conflict: "purple",
  skipped: "grey",
  cancelled: "grey",
};

/** A canvas does not know `light-dark()`: an element is asked what becomes of it. */
export function colours(): Colours {
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const of = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const state = Object.fromEntries(
    Object.entries(OF_STATE).map(([name, colour]) => [
      name,
      { text: of(colour), tint: of(`${colour}-tint`), fill: of(`${colour}-fill`) },
    ]),
  ) as Colours["state"];
  const phases = Object.fromEntries(
    ["preparing", "working", "verifying", "merging", "waiting"].map((name) => [name, of(`phase-${name}`)]),
  );
  const found: Colours = {
    paper: of("paper"),
    line: of("line"),
    lineStrong: of("line-strong"),
    ink: of("ink"),
    ink2: of("ink-2"),
    ink3: of("ink-3"),
    accent: of("accent"),
    state,
    phases,
  };
  probe.remove();
  return found;
}

/** Calls back whenever other colours hold. */
export function onColours(changed: () => void): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", changed);
  const watching = new MutationObserver(changed);
  watching.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    dark.removeEventListener("change", changed);
    watching.disconnect();
  };
}
