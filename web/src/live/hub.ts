// One connection for the whole page: it rings when something happens in a run. What then stands is asked for by those who
// show it, so that nothing is missed or counted twice, however long the connection was lost.

import { Store } from "../lib/store";

export interface Ring {
  run: string;
  /** The number of the last event that is told. */
  seq: number;
  types: Set<string>;
}

export interface Connection {
  /** Since when the server is away; null while it is there. */
  away: number | null;
  everThere: boolean;
}

/** How often the server has ended the connection because the user may see something else than before. */
export const letGo = new Store(0);

export const connection = new Store<Connection>({ away: null, everThere: false });

type Listener = (ring: Ring | null) => void;
const listeners = new Set<Listener>();
let socket: WebSocket | null = null;
let wait = 250;
let timer: ReturnType<typeof setTimeout> | undefined;

/** `null`: the connection was lost for a while, anything may have happened. */
export function onRing(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(ring: Ring | null): void {
  for (const listener of listeners) listener(ring);
}

interface Told {
  type: string;
  run?: string;
  seq?: number;
}

export function connect(): void {
  if (socket) return;
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const mine = new WebSocket(`${scheme}://${location.host}/api/ws`);
  socket = mine;
  mine.onopen = () => {
    const before = connection.get();
    wait = 250;
    connection.set({ away: null, everThere: true });
    if (before.everThere) tell(null);
  };
  mine.onmessage = (message) => {
    const rings = new Map<string, Ring>();
    for (const told of JSON.parse(String(message.data)) as Told[]) {
      if (!told.run) continue;
      const ring = rings.get(told.run) ?? { run: told.run, seq: 0, types: new Set<string>() };
      ring.seq = Math.max(ring.seq, told.seq ?? 0);
      ring.types.add(told.type);
      rings.set(told.run, ring);
    }
    for (const ring of rings.values()) tell(ring);
  };
  mine.onclose = (event) => {
    if (socket !== mine) return;
    socket = null;
    // Logged out, or given other roles: the server closes with this code.
    if (event.code === 4003) letGo.set(letGo.get() + 1);
    const { away, everThere } = connection.get();
    connection.set({ away: away ?? Date.now(), everThere });
    timer = setTimeout(connect, wait);
    wait = Math.min(wait * 2, 4000);
  };
}

export function disconnect(): void {
  clearTimeout(timer);
  const mine = socket;
  socket = null;
  mine?.close();
}
