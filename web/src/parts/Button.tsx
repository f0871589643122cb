import { type ReactNode, useState } from "react";
import { refuse } from "../lib/messages";

interface ButtonProps {
  children: ReactNode;
  act: () => unknown;
  kind?: "primary" | "danger" | "quiet" | "icon-only";
  /** The key that does the same, shown on it. */
  hint?: string;
  /** Why it cannot be done now; it says so when pointed at or pressed. */
  forbidden?: string | null;
  label?: string;
  pressed?: boolean;
}

/** What it does may take a while and may be refused: it is not done twice meanwhile, and a refusal is shown. */
export function Button({ children, act, kind, hint, forbidden, label, pressed }: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    if (busy) return;
    if (forbidden) {
      refuse(forbidden);
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
      aria-disabled={forbidden ? true : undefined}
      aria-busy={busy || undefined}
      aria-label={label}
      aria-pressed={pressed}
      title={forbidden ?? label}
    >
      {children}
      {hint && <kbd>{hint}</kbd>}
    </button>
  );
}
