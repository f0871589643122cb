// A diff as rows of one list, so that only those in sight are drawn.

import { type PatchFile, type PatchLine, paired } from "../../lib/patch";

export interface LineComment {
  path: string;
  line: number;
  quoted: string;
  words: string;
}

export type DiffRow =
  | { kind: "file"; file: PatchFile; at: number }
  | { kind: "hunk"; head: string }
  | { kind: "line"; file: PatchFile; line: PatchLine; other: PatchLine | null }
  | { kind: "pair"; file: PatchFile; left: PatchLine | null; right: PatchLine | null }
  | { kind: "note"; words: "binary" | "empty" }
  | { kind: "comment"; comment: LineComment }
  | { kind: "writing"; path: string; line: PatchLine }
  | { kind: "gap" };

export interface Asked {
  files: PatchFile[];
  split: boolean;
  folded: ReadonlySet<string>;
  comments: LineComment[];
  writing: { path: string; line: number } | null;
}

/** The line's number by which it is spoken of: as it is now, or as it was where it is gone. */
export const numberOf = (line: PatchLine): number => line.new ?? line.old ?? 0;

/** In a hunk, each line that is gone with the one that came in its place. */
function partners(pairs: [PatchLine | null, PatchLine | null][]): Map<PatchLine, PatchLine> {
  const found = new Map<PatchLine, PatchLine>();
  for (const [left, right] of pairs) {
    if (left && right && left !== right) {
      found.set(left, right);
      found.set(right, left);
    }
  }
  return found;
}

export function diffRows({ files, split, folded, comments, writing }: Asked): DiffRow[] {
  const rows: DiffRow[] = [];
  files.forEach((file, at) => {
    if (at > 0) rows.push({ kind: "gap" });
    rows.push({ kind: "file", file, at });
    if (folded.has(file.path)) return;
    if (file.binary) rows.push({ kind: "note", words: "binary" });
    else if (file.hunks.length === 0) rows.push({ kind: "note", words: "empty" });
    const said = comments.filter((comment) => comment.path === file.path);
    const below = (line: PatchLine | null) => {
      if (!line || line.kind === "-") return;
      for (const comment of said) if (comment.line === line.new) rows.push({ kind: "comment", comment });
      if (writing?.path === file.path && writing.line === line.new)
        rows.push({ kind: "writing", path: file.path, line });
    };
    for (const hunk of file.hunks) {
      rows.push({ kind: "hunk", head: hunk.head });
      const pairs = paired(hunk.lines);
      if (split) {
        for (const [left, right] of pairs) {
          rows.push({ kind: "pair", file, left, right });
          below(right);
        }
      } else {
        const other = partners(pairs);
        for (const line of hunk.lines) {
          rows.push({ kind: "line", file, line, other: other.get(line) ?? null });
          below(line);
        }
      }
    }
  });
  return rows;
}

/** The longest line, for the width of the list. */
export function widest(files: PatchFile[]): number {
  let most = 0;
  for (const file of files)
    for (const hunk of file.hunks) for (const line of hunk.lines) most = Math.max(most, line.text.length);
  return Math.min(most, 2000);
}
