// A file with marks: what both agree on is folded, what they do not is decided place by place.

import { useState } from "react";
import { useKeys } from "../../lib/keys";
import { type Choice, chosen, type Disputed } from "../../lib/merging";
import { Button } from "../../parts/Button";
import { conflictWords as text } from "../../words/conflict";
import type { Choices, Opened } from "./choices";

/** So many lines of what both agree on stay beside a place. */
const CONTEXT = 3;

interface Props {
  task: string;
  opened: Opened;
  choices: Choices;
  forbidden: string | null;
  write: (path: string, content: string) => Promise<void>;
}

export function FileParts({ task, opened, choices, forbidden, write }: Props) {
  const { parts, file } = opened;
  const own = choices.of(file.path);
  const [at, setAt] = useState(0);
  const [editing, setEditing] = useState<number | null>(null);
  const result = choices.result(opened);
  const take = (place: number, choice: Choice | undefined) => choices.set(file.path, place, choice);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(opened.open - 1, at + by));
    setAt(next);
    document.getElementById(`dispute-${next}`)?.scrollIntoView({ block: "center" });
  };
  useKeys([
    { keys: "l", label: text.keys.landed, act: () => take(at, { take: "ours" }) },
    { keys: "t", label: text.keys.work, act: () => take(at, { take: "theirs" }) },
    { keys: "b", label: text.keys.both, act: () => take(at, { take: "both" }) },
    { keys: "e", label: text.keys.edit, act: () => setEditing(at) },
    { keys: "j", label: text.keys.next, act: () => move(1) },
    { keys: "k", label: text.keys.previous, act: () => move(-1) },
  ]);
  let place = -1;
  return (
    <section className="card merge" aria-label={file.path}>
      <header>
        <code className="cut">{file.path}</code>
        <span className="grow" />
        <Button
          forbidden={forbidden ?? (result === null ? text.undecided : null)}
          act={() => write(file.path, result ?? "")}
        >
          {text.save}
        </Button>
      </header>
      {parts.map((part, index) => {
        if (part.kind === "agreed") {
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name, and do not move
          return <Agreed key={index} text={part.text} first={index === 0} last={index === parts.length - 1} />;
        }
        place += 1;
        const mine = place;
        return (
          <Dispute
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            key={index}
            task={task}
            part={part}
            base={opened.before[mine] ?? null}
            at={mine}
            all={opened.open}
            here={mine === at}
            come={() => setAt(mine)}
            choice={own[mine]}
            editing={editing === mine}
            take={(choice) => {
              setEditing(null);
              take(mine, choice);
            }}
            edit={() => setEditing(mine)}
          />
        );
      })}
    </section>
  );
}

function Agreed({ text: agreed, first, last }: { text: string; first: boolean; last: boolean }) {
  const lines = agreed.replace(/\n$/, "").split("\n");
  const head = first ? [] : lines.slice(0, CONTEXT);
  const tail = last ? [] : lines.slice(Math.max(head.length, lines.length - CONTEXT));
  const hidden = lines.length - head.length - tail.length;
  return (
    <div className="agreed">
      {head.length > 0 && <pre>{head.join("\n")}</pre>}
      {hidden > 0 && <p className="small faint">⋯ {text.more(hidden)}</p>}
      {tail.length > 0 && <pre>{tail.join("\n")}</pre>}
    </div>
  );
}

interface DisputeProps {
  task: string;
  part: Disputed;
  base: string | null;
  at: number;
  all: number;
  here: boolean;
  come: () => void;
  choice: Choice | undefined;
  editing: boolean;
  take: (choice: Choice) => void;
  edit: () => void;
}

function Dispute({ task, part, base, at, all, here, come, choice, editing, take, edit }: DisputeProps) {
  const hint = (key: string) => (here ? key : undefined);
  const pressed = (name: Choice["take"]) => choice?.take === name;
  return (
    <section
      className="dispute"
      id={`dispute-${at}`}
      aria-label={text.hunk(at + 1, all)}
      data-here={here}
      data-state="conflict"
      onFocus={come}
    >
      <div className="row wrap dispute-head">
        <b>{text.hunk(at + 1, all)}</b>
        <span className="grow" />
        <Button local hint={hint("l")} pressed={pressed("ours")} act={() => take({ take: "ours" })}>
          {text.takeLanded}
        </Button>
        <Button local hint={hint("t")} pressed={pressed("theirs")} act={() => take({ take: "theirs" })}>
          {text.takeWork}
        </Button>
        <Button local hint={hint("b")} pressed={pressed("both")} act={() => take({ take: "both" })}>
          {text.takeBoth}
        </Button>
        <Button local hint={hint("e")} pressed={pressed("own")} act={edit}>
          {text.takeEdit}
        </Button>
      </div>
      <div className="panes">
        <Pane
          title={text.landed}
          more={text.landedMore}
          content={part.ours}
          taken={pressed("ours") || pressed("both")}
        />
        <Pane title={text.base} more={text.baseMore} content={base} taken={false} />
        <Pane
          title={text.work(task)}
          more={text.workMore}
          content={part.theirs}
          taken={pressed("theirs") || pressed("both")}
        />
      </div>
      {editing ? (
        <Editor
          value={choice ? chosen(part, choice) : `${part.ours}${part.theirs}`}
          done={(own) => take({ take: "own", text: own })}
        />
      ) : (
        <Pane
          title={text.result}
          more={choice ? "" : text.undecided}
          content={choice ? chosen(part, choice) : ""}
          taken={choice !== undefined}
          result
        />
      )}
    </section>
  );
}

function Pane({
  title,
  more,
  content,
  taken,
  result,
}: {
  title: string;
  more: string;
  content: string | null;
  taken: boolean;
  result?: boolean;
}) {
  return (
    <div className={result ? "pane result" : "pane"} data-taken={taken}>
      <div className="small">
        <b>{title}</b> <span className="faint">{more}</span>
      </div>
      <pre tabIndex={0} role="region" aria-label={title}>
        {content === null ? (
          <span className="faint">{text.unknownBase}</span>
        ) : content === "" && !result ? (
          <span className="faint">{text.nothingThere}</span>
        ) : (
          content
        )}
      </pre>
    </div>
  );
}

function Editor({ value, done }: { value: string; done: (text: string) => void }) {
  const [written, setWritten] = useState(value);
  return (
    <div className="pane result">
      <textarea
        className="input mono"
        rows={Math.min(20, written.split("\n").length + 2)}
        aria-label={text.result}
        value={written}
        onChange={(event) => setWritten(event.target.value)}
        onKeyDown={(event) => (event.metaKey || event.ctrlKey) && event.key === "Enter" && done(written)}
      />
      <div className="actions">
        <Button
          kind="primary"
          local
          act={() => done(written === "" || written.endsWith("\n") ? written : `${written}\n`)}
        >
          {text.takeEdit}
        </Button>
      </div>
    </div>
  );
}
