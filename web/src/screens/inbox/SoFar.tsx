// What an agent that asks has changed so far: read when it is opened, and in part.

import { useState } from "react";
import { Link } from "wouter";
import { address, ask, Refusal } from "../../api/http";
import type { DiffAnswer, Need } from "../../api/types";
import { refuse } from "../../lib/messages";
import { words } from "../../words";
import { taskAddress } from "./places";

const text = words.inbox;
const MOST_LINES = 200;

async function read(need: Need): Promise<string[]> {
  const path = address("/api/runs/{run}/tasks/{task}/diff", { run: need.run, task: need.task ?? "" });
  try {
    const answer = (await (await ask(path)).json()) as DiffAnswer;
    return (answer.patch ?? "").split("\n").filter((line) => !/^(index|new file mode|deleted file mode) /.test(line));
  } catch (error) {
    // There is nothing: it has changed no file, or works where changes are not recorded.
    if (error instanceof Refusal && error.status < 500) return [];
    throw error;
  }
}

const kindOf = (line: string): string | undefined =>
  /^(\+\+\+|---|diff )/.test(line)
    ? "faint"
    : line.startsWith("+")
      ? "plus"
      : line.startsWith("-")
        ? "minus"
        : undefined;

export function SoFar({ need }: { need: Need }) {
  const [lines, setLines] = useState<string[] | null>(null);
  const open = async (isOpen: boolean) => {
    if (!isOpen) return;
    try {
      setLines(await read(need));
    } catch (error) {
      refuse(error);
    }
  };
  return (
    <details className="so-far" onToggle={(event) => open(event.currentTarget.open)}>
      <summary>{text.diffSoFar}</summary>
      {lines?.every((line) => line === "") && <p className="small dim">{text.diffNone}</p>}
      {lines?.some((line) => line !== "") && (
        <pre className="code" tabIndex={0} role="region" aria-label={text.diffSoFar}>
          {lines.slice(0, MOST_LINES).map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text have no other name
            <span key={at} className={kindOf(line)}>
              {`${line}\n`}
            </span>
          ))}
        </pre>
      )}
      {lines && lines.length > MOST_LINES && (
        <Link className="link small" href={taskAddress(need, "/diff")}>
          {text.diffAll(lines.length - MOST_LINES)}
        </Link>
      )}
    </details>
  );
}
