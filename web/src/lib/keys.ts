// Keys: what a part of the page listens to while it is shown. The newest part comes first.

import { useEffect, useRef } from "react";
import { Store } from "./store";

export interface Key {
  /** "j", "Enter", "mod+k", or two in a row: "g i". */
  keys: string;
  label: string;
  act: (event: KeyboardEvent) => void;
}

export const known = new Store<Key[][]>([]);

const PAUSE = 900;
let begun: { key: string; at: number } | null = null;

function written(event: KeyboardEvent): string {
  const mod = event.metaKey || event.ctrlKey ? "mod+" : "";
  return `${mod}${event.key.length === 1 ? event.key : event.key}`;
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey) return;
  const key = written(event);
  if (isWriting(event.target) && !key.startsWith("mod+") && key !== "Escape") return;
  // A dialog has the keys to itself.
  if (document.querySelector("dialog[open]") && key !== "mod+k") return;
  const pressed = begun && event.timeStamp - begun.at < PAUSE ? `${begun.key} ${key}` : key;
  begun = null;
  const layers = known.get();
  for (let layer = layers.length - 1; layer >= 0; layer -= 1) {
    const found = layers[layer]?.find((one) => one.keys === pressed);
    if (found) {
      event.preventDefault();
      found.act(event);
      return;
    }
  }
  if (layers.some((layer) => layer.some((one) => one.keys.startsWith(`${key} `)))) begun = { key, at: event.timeStamp };
}

let listening = false;

export function useKeys(keys: Key[]): void {
  const latest = useRef(keys);
  latest.current = keys;
  const names = keys.map((key) => `${key.keys}\n${key.label}`).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the keys do is looked up when one is pressed
  useEffect(() => {
    if (!listening) {
      listening = true;
      window.addEventListener("keydown", onKey);
    }
    const mine: Key[] = latest.current.map((key, place) => ({
      ...key,
      act: (event: KeyboardEvent) => latest.current[place]?.act(event),
    }));
    known.set([...known.get(), mine]);
    return () => known.set(known.get().filter((layer) => layer !== mine));
  }, [names]);
}
