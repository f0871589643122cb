// A run's timeline as the server tells it: a row of numbers for each attempt, see docs/api.md.

export interface TimelineAnswer {
  length_ms: number;
  lanes: number;
  ids: string[];
  ends: string[];
  waits: string[];
  phases: string[];
  bars: number[][];
}

export interface Piece {
  phase: string;
  from: number;
  to: number;
}

export interface Bar {
  task: string;
  attempt: number;
  lane: number;
  from: number;
  /** Of one at work, the end of the picture. */
  to: number;
  atWork: boolean;
  end: string | null;
  critical: boolean;
  waitedSince: number | null;
  waitedFor: string | null;
  pieces: Piece[];
}

const NOTHING = -1;

/** `length`: how long the run has gone on, which may be longer than its events tell. */
export function bars(answer: TimelineAnswer, length: number): Bar[] {
  const lanes = [...new Set(answer.bars.map((row) => row[2] ?? 0))].sort((a, b) => a - b);
  const rowOf = new Map(lanes.map((lane, row) => [lane, row]));
  const known = (value: number | undefined) => (value === undefined || value === NOTHING ? null : value);
  return answer.bars.map((row) => {
    const [task = 0, attempt = 0, lane = 0, from = 0, to, end, critical, since, why] = row;
    const pieces: Piece[] = [];
    for (let at = 9; at + 2 < row.length; at += 3) {
      pieces.push({ phase: answer.phases[row[at] ?? 0] ?? "working", from: row[at + 1] ?? 0, to: row[at + 2] ?? 0 });
    }
    const ended = known(to);
    return {
      task: answer.ids[task] ?? "",
      attempt,
      lane: rowOf.get(lane) ?? 0,
      from,
      to: ended ?? length,
      atWork: ended === null,
      end: known(end) === null ? null : (answer.ends[end ?? 0] ?? null),
      critical: critical === 1,
      waitedSince: known(since),
      waitedFor: known(why) === null ? null : (answer.waits[why ?? 0] ?? null),
      pieces,
    };
  });
}

/** For very many: how many were at work at once, by epic. */
export interface Density {
  name: string;
  /** One figure for each of the equal parts of the time. */
  counts: number[];
  most: number;
}

export function densities(all: Bar[], epicOf: (task: string) => string, length: number, parts: number): Density[] {
  const found = new Map<string, number[]>();
  for (const bar of all) {
    const name = epicOf(bar.task);
    let counts = found.get(name);
    if (!counts) {
      counts = new Array<number>(parts).fill(0);
      found.set(name, counts);
    }
    const first = Math.min(parts - 1, Math.floor((bar.from / Math.max(1, length)) * parts));
    const last = Math.min(parts - 1, Math.floor((bar.to / Math.max(1, length)) * parts));
    for (let at = first; at <= last; at += 1) counts[at] = (counts[at] ?? 0) + 1;
  }
  return [...found.entries()]
    .map(([name, counts]) => ({ name, counts, most: Math.max(...counts) }))
    .sort((a, b) => a.name.localeCompare(b.name));
}
