// A file with the marks of a conflict, taken apart into what both sides agree on and what they do not; and put together
// again by what was chosen for each.

export interface Agreed {
  kind: "agreed";
  text: string;
}

export interface Disputed {
  kind: "disputed";
  /** What has landed, and the task's work. */
  ours: string;
  theirs: string;
  /** Only where the marks tell it. */
  base: string | null;
}

export type Part = Agreed | Disputed;

const mark = (sign: string, line: string): boolean => line === sign.repeat(7) || line.startsWith(`${sign.repeat(7)} `);

function split(text: string): string[] {
  const lines = text.split("\n").map((line) => `${line}\n`);
  // Behind the last line's end there is no line.
  const last = lines.pop() ?? "";
  if (last !== "\n") lines.push(last.slice(0, -1));
  return lines;
}

const plain = (line: string): string => line.replace(/\r?\n$/, "");

/** Marks that have no end are taken for text. */
export function parseMarked(text: string): Part[] {
  const lines = split(text);
  const parts: Part[] = [];
  let agreed = "";
  let at = 0;
  while (at < lines.length) {
    const found = mark("<", plain(lines[at] ?? "")) ? disputed(lines, at) : null;
    if (!found) {
      agreed += lines[at];
      at += 1;
      continue;
    }
    if (agreed) parts.push({ kind: "agreed", text: agreed });
    agreed = "";
    parts.push(found.part);
    at = found.behind;
  }
  if (agreed) parts.push({ kind: "agreed", text: agreed });
  return parts;
}

function disputed(lines: string[], from: number): { part: Disputed; behind: number } | null {
  const sides = { ours: "", base: null as string | null, theirs: "" };
  let side: "ours" | "base" | "theirs" = "ours";
  for (let at = from + 1; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const shown = plain(line);
    if (mark("<", shown)) return null;
    if (side === "ours" && mark("|", shown)) [side, sides.base] = ["base", ""];
    else if (side !== "theirs" && mark("=", shown)) side = "theirs";
    else if (side === "theirs" && mark(">", shown)) return { part: { kind: "disputed", ...sides }, behind: at + 1 };
    else if (side === "base") sides.base += line;
    else sides[side] += line;
  }
  return null;
}

export type Choice = { take: "ours" | "theirs" | "both" | "base" } | { take: "own"; text: string };

const whole = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);

export function chosen(part: Disputed, choice: Choice, base: string | null = part.base): string {
  switch (choice.take) {
    case "ours":
      return part.ours;
    case "theirs":
      return part.theirs;
    case "both":
      return whole(part.ours) + part.theirs;
    case "base":
      return base ?? "";
    case "own":
      return choice.text;
  }
}

/** The file as it is to be; null while something is not decided. */
export function putTogether(parts: Part[], choices: (Choice | undefined)[]): string | null {
  let text = "";
  let at = 0;
  for (const part of parts) {
    if (part.kind === "agreed") {
      text += part.text;
      continue;
    }
    const choice = choices[at];
    at += 1;
    if (!choice) return null;
    text += chosen(part, choice);
  }
  return text;
}

export const disputes = (parts: Part[]): Disputed[] => parts.filter((part) => part.kind === "disputed");

/** So many lines around a dispute are looked for in the file as it was. */
const ANCHOR = 3;

function found(lines: string[], wanted: string[], from: number): number | null {
  for (let at = from; at + wanted.length <= lines.length; at += 1) {
    if (wanted.every((line, offset) => lines[at + offset] === line)) return at;
  }
  return null;
}

/** What the file had in the place of each dispute before both sides changed it; null where that cannot be told. */
export function bases(parts: Part[], base: string): (string | null)[] {
  const lines = split(base);
  const told: (string | null)[] = [];
  let from: number | null = 0;
  parts.forEach((part, at) => {
    if (part.kind === "agreed") {
      const all = split(part.text);
      let next: number | null = null;
      for (let many = Math.min(ANCHOR, all.length); many > 0 && next === null && from !== null; many -= 1) {
        const place = found(lines, all.slice(-many), from);
        if (place !== null) next = place + many;
      }
      from = next;
      return;
    }
    const after = parts[at + 1];
    if (part.base !== null || from === null) {
      told.push(part.base);
      return;
    }
    let end: number | null = after ? null : lines.length;
    const following = after?.kind === "agreed" ? split(after.text) : [];
    for (let many = Math.min(ANCHOR, following.length); many > 0 && end === null; many -= 1)
      end = found(lines, following.slice(0, many), from);
    told.push(end === null ? null : lines.slice(from, end).join(""));
    if (end !== null) from = end;
  });
  return told;
}
