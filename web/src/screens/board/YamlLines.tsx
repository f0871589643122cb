// A task's lines in its file, with their numbers.

import type { ReactNode } from "react";
import { State } from "../../parts/State";
import { board } from "../../words/board";
import { blockOf } from "./yaml";

const text = board.edit;

function Line({ line }: { line: string }): ReactNode {
  if (line.trimStart().startsWith("#")) return <span className="faint">{line}</span>;
  const found = /^(\s*(?:- )?)([\w.-]+:)(\s.*|)$/.exec(line);
  if (!found) return line || " ";
  return (
    <>
      {found[1]}
      <span className="key">{found[2]}</span>
      {found[3]}
    </>
  );
}

interface YamlProps {
  file: string;
  source: string;
  task: string | null;
  /** The file before the last change that was made here. */
  before: string | null;
  wrong: number;
}

export function YamlLines({ file, source, task, before, wrong }: YamlProps) {
  const block = task ? blockOf(source, task) : null;
  const lines = block?.lines ?? source.trimEnd().split("\n");
  const first = block?.first ?? 0;
  const old = before && task ? new Set((blockOf(before, task)?.lines ?? []).map((line) => line.trimEnd())) : null;
  const isNew = (line: string): boolean => old !== null && line.trim() !== "" && !old.has(line.trimEnd());
  const changed = lines.filter(isNew).length;
  const where = text.lines(first + 1, first + lines.length);
  return (
    <section className="yaml" aria-label={file}>
      <header className="row">
        <h2>{file}</h2>
        <span className="small faint grow">
          {where}
          {changed > 0 && ` · ${text.changed(changed)}`}
        </span>
        <State state={wrong === 0 ? "completed" : "failed"} word={wrong === 0 ? text.valid : text.invalid(wrong)} />
      </header>
      {task && !block && <p className="small faint">{text.notFound}</p>}
      {!task && <p className="small faint">{text.newNote}</p>}
      <pre className="yaml-lines" tabIndex={0} role="region" aria-label={`${file}, ${where}`}>
        {lines.map((line, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is what is at its place
          <div key={place} data-changed={isNew(line) || undefined}>
            <i>{first + place + 1}</i>
            <code>
              <Line line={line} />
            </code>
          </div>
        ))}
      </pre>
    </section>
  );
}
