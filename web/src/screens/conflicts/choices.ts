// What was decided for the places of each file; kept in this browser until the file is written.

import { useMemo, useState } from "react";
import type { ConflictFile } from "../../api/types";
import { bases, type Choice, disputes, type Part, parseMarked, putTogether } from "../../lib/merging";

export interface Opened {
  file: ConflictFile;
  parts: Part[];
  /** What was there before, for each dispute. */
  before: (string | null)[];
  /** How many places are to be decided; 0 where none is left. */
  open: number;
  /** It is no text that could be decided place by place. */
  whole: boolean;
}

const hasText = (file: ConflictFile): boolean => file.now.kind === "text";

export function opened(file: ConflictFile): Opened {
  const parts = hasText(file) ? parseMarked(file.now.text ?? "") : [];
  const open = disputes(parts).length;
  const sidesAreText = [file.ours, file.theirs].every((side) => side.kind === "text");
  return {
    file,
    parts,
    before: file.base.kind === "text" ? bases(parts, file.base.text ?? "") : disputes(parts).map(() => null),
    open,
    whole: open === 0 && !sidesAreText,
  };
}

export interface Choices {
  of: (path: string) => (Choice | undefined)[];
  set: (path: string, at: number, choice: Choice | undefined) => void;
  forget: (path: string) => void;
  /** The file as it is to be, where all of it is decided. */
  result: (file: Opened) => string | null;
}

export function useChoices(): Choices {
  const [held, setHeld] = useState<Record<string, (Choice | undefined)[]>>({});
  return useMemo(
    () => ({
      of: (path) => held[path] ?? [],
      set: (path, at, choice) =>
        setHeld((before) => {
          const own = [...(before[path] ?? [])];
          own[at] = choice;
          return { ...before, [path]: own };
        }),
      forget: (path) => setHeld((before) => ({ ...before, [path]: [] })),
      result: (file) => (file.open === 0 ? null : putTogether(file.parts, held[file.file.path] ?? [])),
    }),
    [held],
  );
}
