// Long text by lines: where each begins, what is looked for in it, which of its lines tell of an error. A million lines are
// nothing special here, so no line is cut out before it is shown.

export class Lines {
  private starts = new Uint32Array(1024);
  private held = "";
  /** Without the empty one behind the last line's end. */
  count = 0;

  constructor(text = "") {
    if (text) this.add(text);
  }

  get text(): string {
    return this.held;
  }

  /** More of it has come. */
  add(more: string): void {
    let at = this.held.length;
    // What lacked its end goes on; after one that has it, a new line begins.
    const fresh = at === 0 || this.held.charCodeAt(at - 1) === 10;
    if (fresh && more) this.push(at);
    this.held += more;
    const end = this.held.length;
    for (;;) {
      const found = this.held.indexOf("\n", at);
      if (found < 0 || found + 1 >= end) break;
      at = found + 1;
      this.push(at);
    }
  }

  private push(start: number): void {
    if (this.count === this.starts.length) {
      const larger = new Uint32Array(this.starts.length * 2);
      larger.set(this.starts);
      this.starts = larger;
    }
    this.starts[this.count] = start;
    this.count += 1;
  }

  start(line: number): number {
    return this.starts[line] ?? this.held.length;
  }

  line(at: number): string {
    const from = this.start(at);
    const to = at + 1 < this.count ? this.start(at + 1) : this.held.length;
    const text = this.held.slice(from, to);
    return text.endsWith("\n") ? text.slice(0, -1) : text;
  }

  /** The line that a place in the text is on. */
  lineAt(place: number): number {
    let [low, high] = [0, this.count - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.start(middle) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

const escaped = (words: string): string => words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** As `less` has it: small letters fit large ones too, unless a large one is asked for. */
export function seeker(words: string): RegExp {
  return new RegExp(escaped(words), words === words.toLowerCase() ? "gi" : "g");
}

/** Where it is found, from the beginning. */
export function search(text: string, words: string): Uint32Array {
  let found = new Uint32Array(256);
  let count = 0;
  if (words) {
    const looking = seeker(words);
    for (let match = looking.exec(text); match; match = looking.exec(text)) {
      if (count === found.length) {
        const larger = new Uint32Array(found.length * 2);
        larger.set(found);
        found = larger;
      }
      found[count] = match.index;
      count += 1;
    }
  }
  return found.subarray(0, count);
}

const WRONG = /\b(error|errors|failed|failure|fatal|panicked|exception|traceback)\b|^\s*[✗✘×]\s/i;
const FINE = /\b(0|no) (errors?|failed|failures?)\b/i;

export const tellsOfError = (line: string): boolean => WRONG.test(line) && !FINE.test(line);

/** So far back it is looked for an error. */
const LOOKED_AT = 50_000;

export function lastError(lines: Lines): number | null {
  for (let at = lines.count - 1; at >= Math.max(0, lines.count - LOOKED_AT); at -= 1) {
    if (tellsOfError(lines.line(at))) return at;
  }
  return null;
}
