// A conversation as GET /api/runs/{run}/tasks/{task}/conversation tells it (conductor.conversation/1), and how its turns are
// laid out. The route is described by hand here until the API's document has it.

import { useEffect, useMemo, useRef, useState } from "react";
import { type Away, address, ask, Refusal } from "../../api/http";
import { onRing } from "../../live/hub";

export interface ShownText {
  text: string;
  left_out?: number;
}

export interface Turn {
  number: number;
  mark: number;
  who: "agent" | "conductor" | "user" | "tool";
  kind: "text" | "thinking" | "tool" | "question" | "retry" | "denied" | "note" | "result";
  text: string;
  at_ms?: number | null;
  parent?: string | null;
  agent?: string | null;
  failed?: boolean;
  tool?: {
    id?: string | null;
    name: string;
    input?: ShownText | null;
    result?: ShownText | null;
    exit_code?: number | null;
    duration_ms?: number | null;
    denied?: boolean;
  } | null;
}

interface ConversationAnswer {
  attempt: number;
  attempts: number;
  agent: string | null;
  model: string | null;
  at_work: boolean;
  prompt: string | null;
  turns: Turn[];
  next_since: number;
  more: boolean;
  skipped_lines: number;
  turns_left_out: number;
}

export interface Conversation {
  agent: string | null;
  atWork: boolean;
  prompt: string | null;
  turns: Turn[];
  skipped: number;
  leftOut: number;
}

export interface Listening {
  value: Conversation | null;
  /** The server has no such route: there is only the log. */
  absent: boolean;
  refusal: Refusal | Away | null;
}

const OFTEN = 1000;

/** Turns that came or changed take their places. */
function joined(before: Turn[], news: Turn[]): Turn[] {
  if (news.length === 0) return before;
  const last = before.at(-1)?.number ?? 0;
  if (news.every((turn) => turn.number > last)) return [...before, ...news];
  const byNumber = new Map(before.map((turn) => [turn.number, turn]));
  for (const turn of news) byNumber.set(turn.number, turn);
  return [...byNumber.values()].sort((a, b) => a.number - b.number);
}

/** Only what is new is asked for: at the start all of it, then after each ring, and every second while it is at work. */
export function useConversation(run: string, task: string, attempt: number | null): Listening {
  const key = `${run}\n${task}\n${attempt}`;
  const [held, setHeld] = useState<Listening & { key: string }>({ key, value: null, absent: false, refusal: null });
  const since = useRef(0);
  useEffect(() => {
    since.current = 0;
    if (attempt === null) return;
    let [over, asking, again] = [false, false, false];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      if (asking) {
        again = true;
        return;
      }
      [asking, again] = [true, false];
      clearTimeout(timer);
      try {
        const path = address("/api/runs/{run}/tasks/{task}/conversation", { run, task, attempt, since: since.current });
        const answer = (await (await ask(path, { signal: stop.signal })).json()) as ConversationAnswer;
        if (over) return;
        const fresh = since.current === 0;
        since.current = answer.next_since;
        setHeld((before) => {
          const known = before.key === key && !fresh ? before.value : null;
          const value = {
            agent: answer.agent,
            atWork: answer.at_work,
            prompt: answer.prompt ?? known?.prompt ?? null,
            turns: joined(known?.turns ?? [], answer.turns),
            skipped: answer.skipped_lines,
            leftOut: answer.turns_left_out,
          };
          return { key, value, absent: false, refusal: null };
        });
        again ||= answer.more;
        if (answer.at_work) timer = setTimeout(look, OFTEN);
      } catch (error) {
        if (over || stop.signal.aborted) return;
        const absent = error instanceof Refusal && error.status === 404;
        setHeld((before) => ({
          key,
          value: before.key === key ? before.value : null,
          absent,
          refusal: absent ? null : (error as Refusal | Away),
        }));
      }
      asking = false;
      if (again) look();
    };
    look();
    const off = onRing((ring) => (ring === null || ring.run.startsWith(run)) && look());
    return () => {
      over = true;
      clearTimeout(timer);
      stop.abort();
      off();
    };
  }, [key, run, task, attempt]);
  return held.key === key ? held : { value: null, absent: false, refusal: null };
}

/** A row of the conversation; tools that follow each other are joined into one box. */
export interface Row {
  turn: Turn;
  /** The first and the last of a box. */
  opens: boolean;
  closes: boolean;
  /** Who speaks is said where it changes. */
  named: boolean;
}

export const isWrong = (turn: Turn): boolean => !!turn.failed || turn.kind === "denied" || turn.kind === "retry";

export function rows(turns: Turn[]): Row[] {
  return turns.map((turn, at) => {
    const [before, after] = [turns[at - 1], turns[at + 1]];
    const speaker = (one: Turn | undefined) =>
      one && (one.kind === "tool" ? "tool" : `${one.who}-${one.agent ?? ""}-${one.kind === "question"}`);
    return {
      turn,
      opens: turn.kind === "tool" && before?.kind !== "tool",
      closes: turn.kind === "tool" && after?.kind !== "tool",
      named: turn.kind !== "tool" && speaker(before) !== speaker(turn),
    };
  });
}

export function useRows(turns: Turn[]): { all: Row[]; wrong: number[]; tools: number } {
  return useMemo(() => {
    const all = rows(turns);
    const wrong = all.flatMap((row, at) => (isWrong(row.turn) ? [at] : []));
    return { all, wrong, tools: turns.filter((turn) => turn.kind === "tool").length };
  }, [turns]);
}
