// A conversation as GET /api/runs/{run}/tasks/{task}/conversation tells it (conductor.conversation/1), and how its turns are
// laid out. The route is described by hand here until the API's document has it.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Away, address, ask, Refusal } from "../../api/http";
import { type Pace, paced } from "../../lib/pace";
import { onRing } from "../../live/hub";
import { useOutput } from "../../live/output";

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

/** Turns that came or changed take their places. */
function joined(before: Turn[], news: Turn[]): Turn[] {
  if (news.length === 0) return before;
  const last = before.at(-1)?.number ?? 0;
  if (news.every((turn) => turn.number > last)) return [...before, ...news];
  const byNumber = new Map(before.map((turn) => [turn.number, turn]));
  for (const turn of news) byNumber.set(turn.number, turn);
  return [...byNumber.values()].sort((a, b) => a.number - b.number);
}

/**
 * Only what is new is asked for: at the start all of it, then whenever something happens in the run or the agent says
 * something. `seq` is the number of an event of the run that is known.
 */
export function useConversation(
  run: string,
  task: string,
  attempt: number | null,
  atWork: boolean,
  seq: number,
): Listening {
  const key = `${run}\n${task}\n${attempt}`;
  const [held, setHeld] = useState<Listening & { key: string }>({ key, value: null, absent: false, refusal: null });
  const pace = useRef<Pace | null>(null);
  useEffect(() => {
    if (attempt === null) return;
    let since = 0;
    const stop = new AbortController();
    const look = async (): Promise<void> => {
      try {
        const path = address("/api/runs/{run}/tasks/{task}/conversation", { run, task, attempt, since });
        const answer = (await (await ask(path, { signal: stop.signal })).json()) as ConversationAnswer;
        const isFirst = since === 0;
        since = answer.next_since;
        setHeld((before) => heardOf(key, before.key === key && !isFirst ? before.value : null, answer));
        if (answer.more) mine.ring();
      } catch (error) {
        if (stop.signal.aborted) return;
        const absent = error instanceof Refusal && error.status === 404;
        setHeld((before) => ({
          key,
          value: before.key === key ? before.value : null,
          absent,
          refusal: absent ? null : (error as Refusal | Away),
        }));
      }
    };
    const mine = paced(look);
    pace.current = mine;
    mine.ring();
    const off = onRing((ring) => (ring === null || ring.run.startsWith(run)) && mine.ring());
    return () => {
      mine.stop();
      stop.abort();
      off();
    };
  }, [key, run, task, attempt]);
  const ring = useCallback(() => pace.current?.ring(), []);
  useOutput(run, task, atWork && attempt !== null, seq, ring);
  return held.key === key ? held : { value: null, absent: false, refusal: null };
}

function heardOf(key: string, known: Conversation | null, answer: ConversationAnswer): Listening & { key: string } {
  const value = {
    agent: answer.agent,
    atWork: answer.at_work,
    prompt: answer.prompt ?? known?.prompt ?? null,
    turns: joined(known?.turns ?? [], answer.turns),
    skipped: answer.skipped_lines,
    leftOut: answer.turns_left_out,
  };
  return { key, value, absent: false, refusal: null };
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
