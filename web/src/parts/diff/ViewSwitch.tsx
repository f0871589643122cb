import { diffWords as text } from "../../words/diff";

export function ViewSwitch({ split, set }: { split: boolean; set: (split: boolean) => void }) {
  return (
    <fieldset className="segments" aria-label={text.view}>
      <button type="button" aria-pressed={!split} onClick={() => set(false)}>
        {text.unified}
      </button>
      <button type="button" aria-pressed={split} onClick={() => set(true)}>
        {text.split}
      </button>
    </fieldset>
  );
}
