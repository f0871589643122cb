import { type ReactNode, useState } from "react";
import { refuse } from "../lib/messages";
import { useStore } from "../lib/store";
import { connection } from "../live/hub";
import { words } from "../words";

interface ButtonProps {
  children: ReactNode;
  act: () => unknown;
  kind?: "primary" | "danger" | "quiet" | "icon-only";
  /** The key that does the same, shown on it. */
  hint?: string;
  /** Why it cannot be done now; it says so when pointed at or pressed. */
  forbidden?: string | null;
  /** It needs no server: it goes somewhere, or changes what is only here. */
  local?: boolean;
  label?: string;
  pressed?: boolean;
}

/** What it does may take a while and may be refused: it is not done twice meanwhile, and a refusal is shown. */
export function Button({ children, act, kind, hint, forbidden, local, label, pressed }: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const { away } = useStore(connection);
  const why = forbidden || (away !== null && !local ? words.connection.actionAway : null);
  const press = async () => {
    if (busy) return;
    if (why) {
      refuse(why);
      return;
    }
    setBusy(true);
    try {
      await act();
    } catch (error) {
      refuse(error);
    }
    setBusy(false);
  };
  return (
    <button
      type="button"
      className={kind ? `button ${kind}` : "button"}
      onClick={press}
      aria-disabled={why ? true : undefined}
      aria-busy={busy || undefined}
      aria-label={label}
      aria-pressed={pressed}
      title={why ?? label}
    >
      {children}
      {hint && <kbd>{hint}</kbd>}
    </button>
  );
}
