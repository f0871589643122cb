// The graph on a canvas: only what is seen is drawn. Where that is too much for one frame, a picture that was made before is
// moved instead, and what is seen is drawn sharp once nothing moves, a little at a time.

import type { StateName } from "../../../words";
import { type Colours, colours } from "./colours";
import { drawBox, type Shown, traceWire } from "./drawing";
import { type Box, boxes, GATE, type GraphLayout, Grid, type Wire, wires } from "./layout";

export interface View {
  x: number;
  y: number;
  scale: number;
}

/** So much can be drawn in a frame. */
const AT_ONCE = 1500;
/** The side of the picture of everything, at most. */
const SIDE = 4096;
/** How long a piece of work may take. */
const SLICE = 8;
/** After so long nothing moves. */
const REST = 90;

const SMALLEST = 0.01;
const LARGEST = 2.5;

export class Picture {
  readonly boxes: Box[];
  private readonly wires: Wire[];
  private readonly boxGrid: Grid;
  private readonly wireGrid: Grid;
  private colours: Colours = colours();
  private view: View = { x: 0, y: 0, scale: 1 };
  private overview: { canvas: OffscreenCanvas; scale: number; ready: boolean } | null = null;
  private sharp: { canvas: OffscreenCanvas; view: View } | null = null;
  /** Which piece of work is the newest, of the picture of everything and of the sharp one. */
  private readonly work = { overview: 0, sharp: 0 };
  private frame = 0;
  private resting: ReturnType<typeof setTimeout> | undefined;
  private over = false;
  selected: number | null = null;
  private near: Set<number> | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    readonly layout: GraphLayout,
    private shown: (box: Box) => Shown,
    private readonly moved: (view: View) => void,
  ) {
    this.boxes = boxes(layout);
    this.wires = wires(layout);
    this.boxGrid = new Grid(this.boxes.length);
    this.wireGrid = new Grid(this.wires.length);
    for (const box of this.boxes) this.boxGrid.add(box.place, box.x, box.y, box.x + box.width, box.y + box.height);
    this.wires.forEach((wire, place) => {
      this.wireGrid.add(place, wire.left, wire.top, wire.right, wire.bottom);
    });
    if (this.boxes.length + this.wires.length > AT_ONCE) this.makeOverview();
  }

  end(): void {
    this.over = true;
    clearTimeout(this.resting);
    cancelAnimationFrame(this.frame);
  }

  get size(): { width: number; height: number } {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  get at(): View {
    return this.view;
  }

  get map(): OffscreenCanvas | null {
    return this.overview?.ready ? this.overview.canvas : null;
  }

  /** Other colours, other states. */
  restate(shown: (box: Box) => Shown, changed: number[] | null): void {
    this.shown = shown;
    if (changed === null) this.makeOverview();
    else if (this.overview?.ready) this.touchUp(changed);
    this.sharp = null;
    this.draw();
  }

  recolour(): void {
    this.colours = colours();
    this.sharp = null;
    if (this.overview) this.makeOverview();
    this.draw();
  }

  select(place: number | null): void {
    if (place === this.selected) return;
    this.selected = place;
    this.near = place === null ? null : this.reach(place);
    this.sharp = null;
    this.draw();
  }

  /** All before and all after it. */
  private reach(place: number): Set<number> {
    const near = new Set<number>();
    for (const forward of [true, false]) {
      const next = new Map<number, number[]>();
      this.wires.forEach((wire, at) => {
        const key = forward ? wire.from : wire.to;
        const list = next.get(key);
        if (list) list.push(at);
        else next.set(key, [at]);
      });
      const ahead = [place];
      const looked = new Set(ahead);
      while (ahead.length > 0) {
        for (const at of next.get(ahead.pop() ?? 0) ?? []) {
          near.add(at);
          const wire = this.wires[at];
          const other = wire ? (forward ? wire.to : wire.from) : place;
          if (!looked.has(other)) {
            looked.add(other);
            ahead.push(other);
          }
        }
      }
    }
    return near;
  }

  /** The nodes beside one: what it needs or what needs it, the nearest in height first. */
  beside(place: number, forward: boolean): number | null {
    const from = this.boxes[place];
    if (!from) return null;
    const found: number[] = [];
    const looked = new Set([place]);
    const ahead = [place];
    while (ahead.length > 0) {
      const now = ahead.pop() ?? 0;
      for (const wire of this.wires) {
        if ((forward ? wire.from : wire.to) !== now) continue;
        const other = forward ? wire.to : wire.from;
        if (looked.has(other)) continue;
        looked.add(other);
        // A gate is no task: what is behind it is meant.
        if (this.boxes[other]?.kind === GATE) ahead.push(other);
        else found.push(other);
      }
    }
    const far = (place: number) => Math.abs((this.boxes[place]?.y ?? 0) - from.y);
    return found.sort((a, b) => far(a) - far(b))[0] ?? null;
  }

  /** The node above or below in the same layer. */
  along(place: number, by: number): number | null {
    const from = this.boxes[place];
    if (!from) return null;
    const layer = this.boxes.filter((box) => box.layer === from.layer && box.kind !== GATE).sort((a, b) => a.y - b.y);
    return layer[layer.indexOf(from) + by]?.place ?? null;
  }

  boxAt(x: number, y: number): Box | null {
    const [gx, gy] = [x / this.view.scale + this.view.x, y / this.view.scale + this.view.y];
    const found = this.boxGrid.within(gx, gy, gx, gy, 1000) ?? [];
    const is = (box: Box | undefined) =>
      box && box.kind !== GATE && gx >= box.x && gx <= box.x + box.width && gy >= box.y && gy <= box.y + box.height;
    return found.map((place) => this.boxes[place]).find(is) ?? null;
  }

  moveTo(view: View): void {
    const { width, height } = this.size;
    const scale = Math.min(LARGEST, Math.max(SMALLEST, view.scale));
    const keep = (at: number, whole: number, seen: number) => {
      const margin = seen * 0.7;
      return Math.min(Math.max(at, -margin), Math.max(whole - seen + margin, -margin));
    };
    this.view = {
      x: keep(view.x, this.layout.width, width / scale),
      y: keep(view.y, this.layout.height, height / scale),
      scale,
    };
    this.moved(this.view);
    this.draw();
  }

  moveBy(dx: number, dy: number): void {
    this.moveTo({ ...this.view, x: this.view.x - dx / this.view.scale, y: this.view.y - dy / this.view.scale });
  }

  /** What is under the pointer stays there. */
  zoom(by: number, x: number, y: number): void {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.view.scale * by));
    const [gx, gy] = [x / this.view.scale + this.view.x, y / this.view.scale + this.view.y];
    this.moveTo({ x: gx - x / scale, y: gy - y / scale, scale });
  }

  fit(): void {
    const { width, height } = this.size;
    const scale = Math.min(1, width / this.layout.width, height / this.layout.height);
    this.moveTo({
      x: (this.layout.width - width / scale) / 2,
      y: (this.layout.height - height / scale) / 2,
      scale,
    });
  }

  /** Brings a node into view. */
  reveal(place: number): void {
    const box = this.boxes[place];
    if (!box) return;
    const { width, height } = this.size;
    const scale = Math.max(this.view.scale, 0.8);
    const [left, top] = [(box.x - this.view.x) * scale, (box.y - this.view.y) * scale];
    const isSeen =
      scale === this.view.scale &&
      left > 20 &&
      top > 20 &&
      left + box.width * scale < width - 20 &&
      top + box.height * scale < height - 20;
    if (!isSeen) {
      this.moveTo({
        x: box.x + box.width / 2 - width / scale / 2,
        y: box.y + box.height / 2 - height / scale / 2,
        scale,
      });
    }
  }

  draw(): void {
    if (this.frame || this.over) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  private paint(): void {
    const { width, height } = this.size;
    const density = Math.min(2, devicePixelRatio || 1);
    if (this.canvas.width !== width * density || this.canvas.height !== height * density) {
      this.canvas.width = width * density;
      this.canvas.height = height * density;
      this.sharp = null;
    }
    const to = this.canvas.getContext("2d", { alpha: false });
    if (!to || width === 0) return;
    to.setTransform(1, 0, 0, 1, 0, 0);
    to.fillStyle = this.colours.paper;
    to.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const few = this.seen(AT_ONCE);
    if (few) {
      this.place(to, this.view, density);
      this.drawThese(to, few.wires, few.boxes, this.view.scale);
      this.work.sharp += 1;
      return;
    }
    const { sharp, view } = this;
    if (sharp && sharp.view.scale === view.scale && sharp.view.x === view.x && sharp.view.y === view.y) {
      to.drawImage(sharp.canvas, 0, 0);
      return;
    }
    if (this.overview) {
      const { canvas, scale } = this.overview;
      const by = (view.scale * density) / scale;
      to.imageSmoothingEnabled = true;
      to.drawImage(
        canvas,
        -view.x * view.scale * density,
        -view.y * view.scale * density,
        canvas.width * by,
        canvas.height * by,
      );
    }
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.sharpen(density), REST);
  }

  private place(to: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D, view: View, density: number): void {
    to.setTransform(
      view.scale * density,
      0,
      0,
      view.scale * density,
      -view.x * view.scale * density,
      -view.y * view.scale * density,
    );
  }

  private seen(most: number): { boxes: number[]; wires: number[] } | null {
    const { width, height } = this.size;
    const { x, y, scale } = this.view;
    const boxes = this.boxGrid.within(x, y, x + width / scale, y + height / scale, most);
    const wires = boxes && this.wireGrid.within(x, y, x + width / scale, y + height / scale, most);
    return boxes && wires ? { boxes, wires } : null;
  }

  private drawThese(to: CanvasRenderingContext2D, wires: number[], boxes: number[], scale: number): void {
    this.drawWires(to, wires, scale);
    for (const place of boxes) {
      const box = this.boxes[place];
      if (box) drawBox(to, box, this.shown(box), this.colours, scale, place === this.selected);
    }
  }

  /** All of a kind in one line: the plain ones, those of the selected node, those that are held up, the critical path. */
  private drawWires(to: CanvasRenderingContext2D, places: number[], scale: number): void {
    const thin = Math.max(1, 0.8 / scale);
    const groups: [string, number, (wire: Wire, place: number) => boolean][] = [
      [this.colours.lineStrong, thin, (wire, place) => !wire.critical && !this.near?.has(place) && !this.holds(wire)],
      [
        this.colours.state.failed.fill,
        thin * 1.4,
        (wire, place) => !this.near?.has(place) && this.holds(wire) === "failed",
      ],
      [
        this.colours.state.needs.fill,
        thin * 1.4,
        (wire, place) => !this.near?.has(place) && this.holds(wire) === "needs",
      ],
      [this.colours.ink, thin * 1.8, (wire, place) => wire.critical && !this.near?.has(place)],
      [this.colours.accent, thin * 2, (_, place) => this.near?.has(place) ?? false],
    ];
    for (const [colour, width, belongs] of groups) {
      to.beginPath();
      to.strokeStyle = colour;
      to.lineWidth = width;
      for (const place of places) {
        const wire = this.wires[place];
        if (wire && belongs(wire, place)) traceWire(to, wire);
      }
      to.stroke();
    }
  }

  /** A line out of what failed or needs the user holds up what is behind it. */
  private holds(wire: Wire): "failed" | "needs" | null {
    const from = this.boxes[wire.from];
    if (!from || from.kind === GATE) return null;
    const state: StateName = this.shown(from).state;
    return state === "failed" || state === "conflict" ? "failed" : state === "needs" ? "needs" : null;
  }

  /** Everything, small: for the map, and for moving. */
  private makeOverview(): void {
    const scale = Math.min(1, SIDE / Math.max(1, this.layout.width), SIDE / Math.max(1, this.layout.height));
    const canvas = new OffscreenCanvas(
      Math.max(1, Math.ceil(this.layout.width * scale)),
      Math.max(1, Math.ceil(this.layout.height * scale)),
    );
    const to = canvas.getContext("2d") as unknown as CanvasRenderingContext2D | null;
    if (!to) return;
    this.overview = { canvas, scale, ready: false };
    const mine = this.overview;
    to.scale(scale, scale);
    const all = { wires: this.wires.map((_, place) => place), boxes: this.boxes.map((box) => box.place) };
    this.inSlices("overview", to, all, scale, () => {
      mine.ready = true;
      this.draw();
      this.moved(this.view);
    });
  }

  private touchUp(places: number[]): void {
    if (!this.overview) return;
    const to = this.overview.canvas.getContext("2d") as unknown as CanvasRenderingContext2D | null;
    for (const place of places) {
      const box = this.boxes[place];
      if (to && box) drawBox(to, box, this.shown(box), this.colours, this.overview.scale, false);
    }
    this.moved(this.view);
  }

  private sharpen(density: number): void {
    const { width, height } = this.size;
    const view = this.view;
    const canvas = new OffscreenCanvas(width * density, height * density);
    const to = canvas.getContext("2d", { alpha: false }) as unknown as CanvasRenderingContext2D | null;
    const seen = this.seen(Number.POSITIVE_INFINITY);
    if (!to || !seen) return;
    to.fillStyle = this.colours.paper;
    to.fillRect(0, 0, canvas.width, canvas.height);
    this.place(to, view, density);
    this.inSlices("sharp", to, seen, view.scale, () => {
      if (this.view !== view) return;
      this.sharp = { canvas, view };
      this.draw();
    });
  }

  /** A little in each frame, so that none is late. What was begun before is given up. */
  private inSlices(
    kind: "overview" | "sharp",
    to: CanvasRenderingContext2D,
    { wires, boxes }: { wires: number[]; boxes: number[] },
    scale: number,
    done: () => void,
  ): void {
    this.work[kind] += 1;
    const mine = this.work[kind];
    let wire = 0;
    let box = 0;
    const step = () => {
      if (this.work[kind] !== mine || this.over) return;
      const end = performance.now() + SLICE;
      while (performance.now() < end && (wire < wires.length || box < boxes.length)) {
        if (wire < wires.length) {
          this.drawWires(to, wires.slice(wire, wire + 200), scale);
          wire += 200;
        } else {
          this.drawThese(to, [], boxes.slice(box, box + 100), scale);
          box += 100;
        }
      }
      if (wire < wires.length || box < boxes.length) requestAnimationFrame(step);
      else done();
    };
    requestAnimationFrame(step);
  }
}
