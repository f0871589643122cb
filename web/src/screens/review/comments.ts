// What the user says about lines, kept in this browser until it is sent.

import { useState } from "react";
import { remember, remembered } from "../../lib/settings";
import type { Speaking } from "../../parts/diff/Diff";
import type { LineComment } from "../../parts/diff/rows";
import { reviewWords } from "../../words/review";

const name = (run: string, task: string): string => `comments.${run}.${task}`;

function kept(run: string, task: string): LineComment[] {
  try {
    return JSON.parse(remembered(name(run, task), "[]")) as LineComment[];
  } catch {
    return [];
  }
}

export function useComments(run: string, task: string): Speaking & { clear: () => void } {
  const [comments, setComments] = useState(() => kept(run, task));
  const set = (next: LineComment[]) => {
    setComments(next);
    remember(name(run, task), JSON.stringify(next));
  };
  const isAt = (one: LineComment, other: LineComment) => one.path === other.path && one.line === other.line;
  return {
    comments,
    say: (comment) => set([...comments.filter((one) => !isAt(one, comment)), comment]),
    remove: (comment) => set(comments.filter((one) => !isAt(one, comment))),
    clear: () => set([]),
  };
}

/** One line of text, as the server takes it. */
const inOneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

const LONGEST_QUOTE = 200;

/** `FILE:LINE: words`, with the line that is meant: the agent may have moved it meanwhile. */
export function asMessages(comments: LineComment[]): string[] {
  return comments.map(({ path, line, words, quoted }) => {
    const quote = inOneLine(quoted).slice(0, LONGEST_QUOTE);
    return `${path}:${line}: ${inOneLine(words)}${quote ? ` ${reviewWords.quoted(quote)}` : ""}`;
  });
}

/** What is said of the whole work, one comment a line. */
export const asLines = (words: string): string[] => words.split("\n").map(inOneLine).filter(Boolean);
