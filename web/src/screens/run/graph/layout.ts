// A graph as the server lays it out: rows of numbers, see docs/api.md "Graphs as pictures".

export interface GraphLayout {
  fold: string;
  width: number;
  height: number;
  ids: string[];
  /** For each task, the node that stands for it. */
  stands: number[];
  nodes: number[][];
  edges: number[][];
  folded: Folded[];
}

export interface Folded {
  node: number;
  kind: "group" | "rest";
  name: string;
  state: string;
  tasks: number;
  counts: Record<string, number>;
  expected_ms: number;
}

export const TASK = 0;
export const GROUP = 1;
export const REST = 2;
export const GATE = 3;

export interface Box {
  place: number;
  kind: number;
  x: number;
  y: number;
  width: number;
  height: number;
  layer: number;
  critical: boolean;
  /** The task, where it stands for one. */
  id: string | null;
  folded: Folded | null;
}

export interface Wire {
  from: number;
  to: number;
  critical: boolean;
  points: number[];
  /** The rectangle it lies in. */
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function boxes(layout: GraphLayout): Box[] {
  const ids = new Map<number, string>();
  layout.stands.forEach((node, task) => {
    if (layout.nodes[node]?.[0] === TASK) ids.set(node, layout.ids[task] ?? "");
  });
  const folded = new Map(layout.folded.map((one) => [one.node, one]));
  return layout.nodes.map((row, place) => {
    const [kind = 0, x = 0, y = 0, width = 0, height = 0, layer = 0, critical = 0] = row;
    return {
      place,
      kind,
      x,
      y,
      width,
      height,
      layer,
      critical: critical === 1,
      id: ids.get(place) ?? null,
      folded: folded.get(place) ?? null,
    };
  });
}

export function wires(layout: GraphLayout): Wire[] {
  return layout.edges.map((row) => {
    const points = row.slice(5);
    const xs = points.filter((_, place) => place % 2 === 0);
    const ys = points.filter((_, place) => place % 2 === 1);
    return {
      from: row[0] ?? 0,
      to: row[1] ?? 0,
      critical: row[4] === 1,
      points,
      left: Math.min(...xs),
      top: Math.min(...ys),
      right: Math.max(...xs),
      bottom: Math.max(...ys),
    };
  });
}

/** Things by the squares they lie in, so that only what is seen is looked at. */
export class Grid {
  private readonly cells = new Map<number, number[]>();
  private seen: Uint32Array;
  private turn = 0;

  constructor(
    count: number,
    private readonly size = 512,
  ) {
    this.seen = new Uint32Array(count);
  }

  add(place: number, left: number, top: number, right: number, bottom: number): void {
    for (let x = Math.floor(left / this.size); x <= Math.floor(right / this.size); x += 1) {
      for (let y = Math.floor(top / this.size); y <= Math.floor(bottom / this.size); y += 1) {
        const key = x * 100_003 + y;
        const cell = this.cells.get(key);
        if (cell) cell.push(place);
        else this.cells.set(key, [place]);
      }
    }
  }

  /** Up to `most`; null where there are more. */
  within(left: number, top: number, right: number, bottom: number, most: number): number[] | null {
    this.turn += 1;
    const found: number[] = [];
    for (let x = Math.floor(left / this.size); x <= Math.floor(right / this.size); x += 1) {
      for (let y = Math.floor(top / this.size); y <= Math.floor(bottom / this.size); y += 1) {
        for (const place of this.cells.get(x * 100_003 + y) ?? []) {
          if (this.seen[place] === this.turn) continue;
          this.seen[place] = this.turn;
          found.push(place);
          if (found.length > most) return null;
        }
      }
    }
    return found;
  }
}
