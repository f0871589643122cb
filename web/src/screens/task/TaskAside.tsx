// Beside every part of a task: why it stands as it does, its checks and files, what comes before and after it.

import type { ReactNode } from "react";
import { Link } from "wouter";
import type { RunTask } from "../../api/types";
import { duration } from "../../lib/format";
import { say } from "../../lib/messages";
import { Counts } from "../../parts/diff/DiffFiles";
import { Glyph, State } from "../../parts/State";
import type { StateName } from "../../words";
import { taskWords as text } from "../../words/task";
import { useChecks } from "./ChecksTab";
import { verdictState } from "./checking";
import { dependents, taskPath, useExplanation } from "./data";
import { told } from "./events";
import { Happenings } from "./HistoryTab";
import type { TaskPart } from "./Task";

/** So much of what happened is told here; the history has all. */
const LAST = 6;
const FILES = 12;

function Section({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  return (
    <section>
      <div className="section">
        <h2>{title}</h2>
        {more && <span className="small faint">{more}</span>}
      </div>
      {children}
    </section>
  );
}

export function TaskAside({ part }: { part: TaskPart }) {
  return (
    <aside className="task-aside">
      <Why part={part} />
      <Checks part={part} />
      <Files part={part} />
      <Around part={part} />
      <ByHand part={part} />
    </aside>
  );
}

function Why({ part }: { part: TaskPart }) {
  const { run, task, events } = part;
  const explained = useExplanation(run, task.id, `${task.state}-${task.phase}-${task.attempts}`);
  const happened = told(events).filter((one) => !one.minor);
  // What it needs of the user is said above already.
  const waits = task.state === "needs" ? [] : (explained.value?.waits ?? []);
  return (
    <Section title={text.why}>
      {happened.length === 0 && waits.length === 0 && <p className="small dim">{text.whyNothing}</p>}
      <Happenings shown={happened.slice(-LAST)} />
      {waits.map((wait) => (
        <p key={wait.words} className="small">
          <State state="waiting" word={wait.words} />
        </p>
      ))}
    </Section>
  );
}

function Checks({ part }: { part: TaskPart }) {
  const checks = useChecks(part);
  if (!part.detail) return null;
  if (part.detail.verify.length === 0) {
    return (
      <Section title={text.checks}>
        <p className="small dim">{text.noChecks}</p>
      </Section>
    );
  }
  return (
    <Section title={text.checks} more={text.checksBy}>
      <div className="card aside-card">
        {checks.map((check) => (
          <div key={check.command} className="aside-check">
            <span className="state" data-state={verdictState[check.now]}>
              <Glyph state={verdictState[check.now]} />
            </span>
            <code className="cut" title={check.command}>
              {check.command}
            </code>
            <span className="small faint">
              {text.checked[check.now]}
              {check.took !== null && ` · ${duration(check.took)}`}
            </span>
          </div>
        ))}
        <Link className="link small" href={part.here({}, "checks")}>
          {text.checked.output}
        </Link>
      </div>
    </Section>
  );
}

function Files({ part }: { part: TaskPart }) {
  const files = part.diff.value?.files ?? [];
  const declared = part.detail?.files ?? [];
  return (
    <Section title={text.files} more={files.length > 0 ? text.filesCount(files.length) : undefined}>
      {files.length === 0 && <p className="small dim">{text.filesNone}</p>}
      {files.slice(0, FILES).map((file) => (
        <Link
          key={file.path}
          className="row aside-file"
          href={part.here({ file: file.path }, "diff")}
          title={file.path}
        >
          <code className="cut">{file.path}</code>
          <span className="grow" />
          <Counts file={file} />
        </Link>
      ))}
      {files.length > FILES && (
        <Link className="link small" href={part.here({}, "diff")}>
          {text.filesCount(files.length)}
        </Link>
      )}
      {declared.length > 0 && (
        <p className="small faint">
          {text.filesDeclared} <code>{declared.join(", ")}</code>
        </p>
      )}
    </Section>
  );
}

function Around({ part }: { part: TaskPart }) {
  const { live, task, run } = part;
  const before = task.dependencies.map((id) => live.byId.get(id)).filter((one): one is RunTask => one !== undefined);
  const after = dependents(live, task.id);
  const row = (one: RunTask, where: string) => (
    <Link key={`${where}-${one.id}`} href={taskPath(run, one.id)} title={one.name}>
      <State state={one.state as StateName} word={one.id} />
      <span className="grow" />
      <span className="small faint">{where}</span>
    </Link>
  );
  return (
    <Section title={text.around}>
      {before.length + after.length === 0 && <p className="small dim">{text.alone}</p>}
      <div className="rows">
        {before.map((one) => row(one, text.before))}
        {after.map((one) => row(one, text.after))}
      </div>
    </Section>
  );
}

function ByHand({ part }: { part: TaskPart }) {
  const run = part.status?.run ?? part.run;
  const commands = `cd "$(conductor worktree path --run ${run} ${part.task.id})"\nconductor logs -f --run ${run} ${part.task.id}`;
  return (
    <Section
      title={text.byHand}
      more={
        <button
          type="button"
          className="link"
          onClick={async () => {
            await navigator.clipboard?.writeText(commands);
            say(text.copied);
          }}
        >
          {text.copy}
        </button>
      }
    >
      <pre className="code" tabIndex={0} role="region" aria-label={text.byHand}>
        {commands}
      </pre>
    </Section>
  );
}
