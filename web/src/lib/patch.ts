// A patch of git, taken apart. It knows nothing of how it is shown.

export type LineKind = " " | "+" | "-";

export interface PatchLine {
  kind: LineKind;
  /** Numbers of the line before and after; null where it is not there. */
  old: number | null;
  new: number | null;
  text: string;
  /** The file ends here without a line's end. */
  endless?: boolean;
}

export interface PatchHunk {
  /** The line of the patch that begins it. */
  head: string;
  lines: PatchLine[];
}

export type FileChange = "changed" | "added" | "deleted" | "renamed" | "copied";

export interface PatchFile {
  path: string;
  /** Where it was before, if elsewhere. */
  from: string | null;
  change: FileChange;
  oldMode: string | null;
  newMode: string | null;
  binary: boolean;
  added: number;
  removed: number;
  hunks: PatchHunk[];
}

/** A name as git quotes it where it has unusual bytes: "a/f\303\251.txt". */
export function unquoted(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"')) return name;
  const plain: Record<string, number> = { n: 10, t: 9, r: 13, b: 8, f: 12, v: 11, a: 7, '"': 34, "\\": 92 };
  const bytes: number[] = [];
  const inner = name.slice(1, -1);
  for (let at = 0; at < inner.length; at += 1) {
    const letter = inner[at] as string;
    if (letter !== "\\") {
      bytes.push(...new TextEncoder().encode(letter));
      continue;
    }
    const octal = /^[0-7]{3}/.exec(inner.slice(at + 1))?.[0];
    if (octal) {
      bytes.push(Number.parseInt(octal, 8));
      at += 3;
    } else {
      at += 1;
      bytes.push(plain[inner[at] ?? ""] ?? 92);
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function withoutSide(name: string): string {
  const plain = unquoted(name.replace(/\t.*$/, ""));
  return /^[ab]\//.test(plain) ? plain.slice(2) : plain;
}

/** Both names of `diff --git a/x b/x`; where it has spaces, both halves are the same but for the side. */
function namesOf(line: string): [string, string] {
  const rest = line.slice("diff --git ".length);
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/.exec(rest);
  if (quoted) return [withoutSide(quoted[1] ?? ""), withoutSide(quoted[2] ?? "")];
  const half = (rest.length - 1) / 2;
  return [withoutSide(rest.slice(0, half)), withoutSide(rest.slice(half + 1))];
}

class Reading {
  at = 0;
  constructor(readonly text: string) {}

  get over(): boolean {
    return this.at >= this.text.length;
  }

  peek(): string {
    const end = this.text.indexOf("\n", this.at);
    return this.text.slice(this.at, end < 0 ? this.text.length : end);
  }

  next(): string {
    const line = this.peek();
    this.at += line.length + 1;
    return line;
  }
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** By the numbers in its head, so that nothing a file holds can be taken for the patch itself. */
function hunk(reading: Reading, file: PatchFile): PatchHunk {
  const head = reading.next();
  const found = HUNK.exec(head);
  let [old, fresh] = [Number(found?.[1]), Number(found?.[3])];
  let [oldLeft, newLeft] = [Number(found?.[2] ?? 1), Number(found?.[4] ?? 1)];
  const lines: PatchLine[] = [];
  while (!reading.over && (oldLeft > 0 || newLeft > 0 || reading.peek().startsWith("\\"))) {
    const line = reading.next();
    const text = line.slice(1);
    if (line.startsWith("\\")) {
      const last = lines.at(-1);
      if (last) last.endless = true;
    } else if (line.startsWith("+")) {
      lines.push({ kind: "+", old: null, new: fresh++, text });
      newLeft -= 1;
      file.added += 1;
    } else if (line.startsWith("-")) {
      lines.push({ kind: "-", old: old++, new: null, text });
      oldLeft -= 1;
      file.removed += 1;
    } else {
      lines.push({ kind: " ", old: old++, new: fresh++, text });
      oldLeft -= 1;
      newLeft -= 1;
    }
  }
  return { head, lines };
}

function begun(line: string): PatchFile {
  const [from, path] = namesOf(line);
  return {
    path,
    from: from === path ? null : from,
    change: "changed",
    oldMode: null,
    newMode: null,
    binary: false,
    added: 0,
    removed: 0,
    hunks: [],
  };
}

/** The lines between a file's name and its first hunk. */
function headed(file: PatchFile, line: string): void {
  const after = (words: string): string | null => (line.startsWith(words) ? line.slice(words.length) : null);
  const [added, deleted] = [after("new file mode "), after("deleted file mode ")];
  if (added !== null) [file.change, file.newMode] = ["added", added];
  else if (deleted !== null) [file.change, file.oldMode] = ["deleted", deleted];
  else if (line.startsWith("old mode ")) file.oldMode = after("old mode ");
  else if (line.startsWith("new mode ")) file.newMode = after("new mode ");
  else if (line.startsWith("rename from "))
    [file.change, file.from] = ["renamed", unquoted(after("rename from ") ?? "")];
  else if (line.startsWith("rename to ")) file.path = unquoted(after("rename to ") ?? "");
  else if (line.startsWith("copy from ")) [file.change, file.from] = ["copied", unquoted(after("copy from ") ?? "")];
  else if (line.startsWith("copy to ")) file.path = unquoted(after("copy to ") ?? "");
  else if (line.startsWith("Binary files ")) file.binary = true;
  else if (line.startsWith("--- ") && line !== "--- /dev/null" && file.change !== "renamed")
    file.from = withoutSide(line.slice(4)) === file.path ? null : file.from;
  else if (line.startsWith("+++ ") && line !== "+++ /dev/null") file.path = withoutSide(line.slice(4));
}

/** What follows `GIT binary patch` is no text: it is left out up to the next file. */
function passBinary(reading: Reading): void {
  while (!reading.over && !reading.peek().startsWith("diff --git ")) reading.next();
}

export function parsePatch(text: string): PatchFile[] {
  const reading = new Reading(text);
  const files: PatchFile[] = [];
  let file: PatchFile | null = null;
  while (!reading.over) {
    const line = reading.peek();
    if (line.startsWith("diff --git ")) {
      file = begun(reading.next());
      files.push(file);
    } else if (file && HUNK.test(line)) {
      file.hunks.push(hunk(reading, file));
    } else if (file && line === "GIT binary patch") {
      file.binary = true;
      passBinary(reading);
    } else {
      reading.next();
      if (file) headed(file, line);
    }
  }
  return files;
}

export const totals = (files: PatchFile[]): { added: number; removed: number } =>
  files.reduce((sum, file) => ({ added: sum.added + file.added, removed: sum.removed + file.removed }), {
    added: 0,
    removed: 0,
  });

/** Lines that took each other's place stand side by side. */
export function paired(lines: PatchLine[]): [PatchLine | null, PatchLine | null][] {
  const rows: [PatchLine | null, PatchLine | null][] = [];
  let gone: PatchLine[] = [];
  let come: PatchLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, come.length); at += 1) rows.push([gone[at] ?? null, come[at] ?? null]);
    [gone, come] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === "-") {
      if (come.length > 0) flush();
      gone.push(line);
    } else if (line.kind === "+") come.push(line);
    else {
      flush();
      rows.push([line, line]);
    }
  }
  flush();
  return rows;
}

/** The part in the middle by which two lines differ: where it begins, and where it ends in each; null where it is all. */
export function difference(one: string, other: string): { from: number; to: [number, number] } | null {
  const least = Math.min(one.length, other.length);
  let from = 0;
  while (from < least && one[from] === other[from]) from += 1;
  let same = 0;
  while (same < least - from && one[one.length - 1 - same] === other[other.length - 1 - same]) same += 1;
  const shared = from + same;
  if (shared === 0 || shared < least * 0.3) return null;
  return { from, to: [one.length - same, other.length - same] };
}
