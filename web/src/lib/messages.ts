// What the page says to the user in passing: above all why something was not done.

import { Away, Refusal } from "../api/http";
import { words } from "../words";
import { Store } from "./store";

export interface Message {
  id: number;
  kind: "said" | "refused";
  title: string;
  detail?: string;
  help?: string | null;
}

export const messages = new Store<Message[]>([]);

let next = 1;
const SHOWN = 6000;

function show(message: Omit<Message, "id">): void {
  const id = next++;
  messages.set([...messages.get().slice(-3), { ...message, id }]);
  // A refusal stays until it is closed: it says what to do.
  if (message.kind === "said") setTimeout(() => close(id), SHOWN);
}

export function close(id: number): void {
  messages.set(messages.get().filter((message) => message.id !== id));
}

export const say = (title: string): void => show({ kind: "said", title });

export function refuse(error: unknown): void {
  if (error instanceof Refusal)
    show({ kind: "refused", title: words.refused.title, detail: error.message, help: error.help });
  else if (error instanceof Away)
    show({ kind: "refused", title: words.refused.title, detail: words.connection.actionAway });
  else show({ kind: "refused", title: words.refused.title, detail: String(error) });
}
