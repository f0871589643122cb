// One turn of a conversation.

import { useState } from "react";
import { at, count, duration, exactly } from "../../lib/format";
import { tellsOfError } from "../../lib/lines";
import { Icon } from "../../parts/Icon";
import { Words } from "../../parts/Words";
import { taskWords } from "../../words/task";
import type { Row, ShownText, Turn } from "./conversation";

const text = taskWords.conversation;

interface Props {
  row: Row;
  agent: string | null;
  attempt: number;
  folded: boolean;
  found: boolean;
  /** The attempt is at work: what has no result yet may still get one. */
  atWork: boolean;
}

export function ConversationRow({ row, agent, attempt, folded, found, atWork }: Props) {
  const { turn } = row;
  return (
    <div className="turn" data-found={found || undefined} data-sub={turn.parent ? true : undefined}>
      <div className="speaker">
        {row.named && <b>{speaker(turn, agent)}</b>}
        {row.named && turn.at_ms ? <Clock ms={turn.at_ms} /> : null}
      </div>
      <Said row={row} attempt={attempt} folded={folded} atWork={atWork} />
    </div>
  );
}

function Clock({ ms }: { ms: number }) {
  const time = new Date(ms).toISOString();
  return (
    <time className="small faint" dateTime={time} title={exactly(time)}>
      {at(time)}
    </time>
  );
}

function speaker(turn: Turn, agent: string | null): string {
  if (turn.kind === "question") return text.asks;
  if (turn.who === "user") return text.you;
  if (turn.who === "conductor") return text.conductor;
  return turn.agent ?? agent ?? text.agent;
}

function Said({ row, attempt, folded, atWork }: Omit<Props, "agent" | "found">) {
  const { turn } = row;
  if (turn.kind === "tool" && turn.tool) return <Tool row={row} folded={folded} atWork={atWork} />;
  if (turn.who === "conductor" && turn.kind === "text")
    return <Folded title={text.prompt(attempt)} more={text.promptMore} body={turn.text} />;
  if (turn.kind === "thinking")
    return <Folded title={text.thinking} more={turn.text.split("\n")[0] ?? ""} body={turn.text} />;
  if (turn.kind === "text" || turn.kind === "result") {
    return (
      <div className={turn.failed ? "said wrong" : "said"}>
        {turn.kind === "result" && <span className="small faint">{text.result}</span>}
        <Words text={turn.text} />
      </div>
    );
  }
  const word =
    turn.kind === "denied"
      ? text.denied
      : turn.kind === "retry"
        ? text.retry
        : turn.kind === "question"
          ? text.asks
          : text.note;
  return (
    <p
      className="said small"
      data-state={turn.kind === "denied" ? "failed" : turn.kind === "note" ? undefined : "needs"}
    >
      <b>{word}</b> <span className="dim">{turn.text}</span>
    </p>
  );
}

function Folded({ title, more, body }: { title: string; more: string; body: string }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="tools-box">
      <button type="button" className="tool" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} />
        <b>{title}</b>
        <span className="cut dim">{more}</span>
        <span className="grow" />
        <span className="small faint nowrap">{text.lines(body.split("\n").length)}</span>
      </button>
      {open && <pre className="tool-output">{body}</pre>}
    </div>
  );
}

function outcome(turn: Turn, atWork: boolean): { words: string; wrong: boolean } {
  const tool = turn.tool;
  if (!tool) return { words: "", wrong: false };
  if (tool.denied) return { words: text.denied, wrong: true };
  if (tool.exit_code) return { words: text.exit(tool.exit_code), wrong: true };
  if (turn.failed) return { words: text.failed, wrong: true };
  if (!tool.result) return { words: atWork ? text.underWay : "", wrong: false };
  const lines = tool.result.text ? tool.result.text.trimEnd().split("\n").length : 0;
  return { words: lines > 1 ? text.lines(lines) : "", wrong: false };
}

function Tool({ row, folded, atWork }: Pick<Props, "row" | "folded" | "atWork">) {
  const { turn } = row;
  const [chosen, setChosen] = useState<boolean | null>(null);
  const tool = turn.tool;
  if (!tool) return null;
  const open = chosen ?? (!folded || !!turn.failed);
  const { words, wrong } = outcome(turn, atWork);
  return (
    <div className="tools-box" data-opens={row.opens} data-closes={row.closes}>
      <button type="button" className="tool" aria-expanded={open} onClick={() => setChosen(!open)}>
        <Icon name={open ? "down" : "right"} />
        <b>{tool.name}</b>
        <code className="cut" title={turn.text}>
          {turn.text}
        </code>
        <span className="grow" />
        <span className={wrong ? "small minus nowrap" : "small faint nowrap"}>{words}</span>
        <span className="small faint nowrap tool-time">
          {tool.duration_ms == null ? "" : duration(tool.duration_ms)}
        </span>
      </button>
      {open && (
        <div className="tool-output">
          {tool.input && tool.input.text !== JSON.stringify(turn.text) && (
            <Shown label={text.input} shown={tool.input} wrong={false} />
          )}
          {tool.result && <Shown label={text.output} shown={tool.result} wrong={wrong} />}
        </div>
      )}
    </div>
  );
}

/** Input is JSON where nothing of it is left out: then it is shown by its fields. */
function fields(shown: ShownText): [string, string][] | null {
  try {
    const value = JSON.parse(shown.text) as unknown;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    return Object.entries(value).map(([name, one]) => [name, typeof one === "string" ? one : JSON.stringify(one)]);
  } catch {
    return null;
  }
}

function Shown({ label, shown, wrong }: { label: string; shown: ShownText; wrong: boolean }) {
  const known = label === text.input ? fields(shown) : null;
  return (
    <>
      {known ? (
        known.map(([name, value]) => (
          <pre key={name}>
            <span className="faint">{name}: </span>
            {value}
          </pre>
        ))
      ) : (
        <Output text={shown.text} tinted={wrong} />
      )}
      {shown.left_out ? <p className="small faint">{text.leftOut(count(shown.left_out))}</p> : null}
    </>
  );
}

function Output({ text: said, tinted }: { text: string; tinted: boolean }) {
  if (!tinted) return <pre>{said}</pre>;
  return (
    <pre>
      {said.split("\n").map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and do not move
        <span key={at} className={tellsOfError(line) ? "line wrong" : "line"}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}
