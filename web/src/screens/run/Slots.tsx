import { useEffect, useRef, useState } from "react";
import { address, send } from "../../api/http";
import type { StatusAnswer } from "../../api/types";
import { useKeys } from "../../lib/keys";
import { refuse } from "../../lib/messages";
import { Icon } from "../../parts/Icon";
import { words } from "../../words";
import { runWords } from "../../words/run";

const text = runWords.figures;
/** So that dragging is one request. */
const SETTLED = 150;

/** How many tasks run at once, changed while they run. */
export function Slots({ status, forbidden }: { status: StatusAnswer; forbidden: string | null }) {
  const [wanted, setWanted] = useState<number | null>(null);
  const [most] = useState(() => Math.max(16, status.slots * 2));
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const slots = wanted ?? status.slots;
  const why = forbidden ?? (status.live ? null : text.notLive);
  // The run has what was wanted.
  useEffect(() => {
    if (wanted === status.slots) setWanted(null);
  }, [wanted, status.slots]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (to: number) => {
    if (why) {
      refuse(why);
      return;
    }
    if (to < 1) return;
    setWanted(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      try {
        await send("POST", address("/api/runs/{run}/slots", { run: status.run }), { slots: to });
      } catch (error) {
        setWanted(null);
        refuse(error);
      }
    }, SETTLED);
  };
  useKeys([
    { keys: "+", label: text.more, act: () => change(slots + 1) },
    { keys: "-", label: text.fewer, act: () => change(slots - 1) },
  ]);
  const step = (by: number, label: string) => (
    <button
      type="button"
      className="button tiny"
      aria-label={label}
      title={why ?? `${label} (${by > 0 ? "+" : "-"})`}
      aria-disabled={why ? true : undefined}
      onClick={() => change(slots + by)}
    >
      <Icon name={by > 0 ? "plus" : "minus"} />
    </button>
  );
  return (
    <div>
      <span className="label">
        <label htmlFor="slots">{text.slots}</label>
        <span className="row tight">
          {step(-1, text.fewer)}
          {step(1, text.more)}
        </span>
      </span>
      <span className="value">
        {slots} <small>{text.inUse(status.counts.running - status.counts.landing)}</small>
      </span>
      <input
        id="slots"
        type="range"
        min={1}
        max={Math.max(most, slots)}
        value={slots}
        disabled={Boolean(why)}
        title={why ?? `${slots} ${words.of} ${Math.max(most, slots)}`}
        onChange={(event) => change(Number(event.target.value))}
      />
    </div>
  );
}
