import { Link } from "wouter";
import type { RunTask } from "../../api/types";
import { count, duration, exactly, tokens } from "../../lib/format";
import { Glyph } from "../../parts/State";
import { taskWords } from "../../words/runTasks";
import { verdictState, verdictWords } from "../task/checking";
import { type Known, workedOf } from "./activity";
import { costOf } from "./cost";
import { useChanged, useDetailChecks, useExplanation, useTail } from "./details";
import { taskScreen } from "./Panel";
import { PrioritySelect } from "./PrioritySelect";

const text = taskWords.panel;
const NAMED = 4;

interface Of {
  run: string;
  task: RunTask;
}

interface FactsProps extends Of {
  forbidden: string | null;
  known: Known;
  behind: { direct: string[]; all: number };
  select: (id: string) => void;
}

export function Facts({ run, task, forbidden, known, behind, select }: FactsProps) {
  const why = useExplanation(run, task);
  const last = why?.decisions.at(-1);
  const worked = workedOf(task, known);
  const facts: [string, React.ReactNode][] = [
    [
      text.agent,
      task.agent ? (
        <>
          {[task.agent, task.model].filter(Boolean).join(", ")}
          {why?.specialist && <span className="faint"> · {why.specialist.name}</span>}
        </>
      ) : (
        taskWords.command
      ),
    ],
    [text.tool, known.atWork.get(task.id)?.last_tool && <code>{known.atWork.get(task.id)?.last_tool}</code>],
    [text.priority, <PrioritySelect key="priority" run={run} task={task} forbidden={forbidden} />],
    [text.attempt, task.attempts > 0 && task.attempts],
    [
      text.time,
      worked > 0 && <span title={task.started_at ? exactly(task.started_at) : undefined}>{duration(worked)}</span>,
    ],
    [text.cost, costOf(task) && `${costOf(task)}${task.tokens > 0 ? ` · ${text.tokens(tokens(task.tokens))}` : ""}`],
    [text.why, task.state !== "needs" && why?.waits?.map((wait) => wait.words).join("; ")],
    [text.whyAgent, task.attempts > 0 && why?.model?.why],
    [text.decision, last && `${last.strategy.replaceAll("_", " ")}: ${last.reason}`],
    [text.after, task.dependencies.length > 0 && <Names names={task.dependencies} select={select} />],
    [text.before, behind.direct.length > 0 && <Names names={behind.direct} select={select} />],
    [text.files, why && why.files.declared.length > 0 && <span className="mono">{why.files.declared.join(", ")}</span>],
    [text.commit, task.commit && <span className="mono">{task.commit.slice(0, 12)}</span>],
  ];
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

function Names({ names, select }: { names: string[]; select: (id: string) => void }) {
  return (
    <>
      {names.slice(0, NAMED).map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <button type="button" className="link" onClick={() => select(name)}>
            {name}
          </button>
        </span>
      ))}
      {names.length > NAMED && ` ${text.moreDependents(names.length - NAMED)}`}
    </>
  );
}

/** How each check of its newest attempt went. */
export function Checks({ run, task }: Of) {
  const checks = useDetailChecks(run, task);
  if (checks.length === 0) return null;
  return (
    <section className="stack" style={{ gap: 6 }}>
      <h3>{text.checks}</h3>
      <ul className="checks">
        {checks.map((check) => (
          <li key={check.command} className="row" data-state={verdictState[check.now]}>
            <span style={{ color: "var(--c)" }}>
              <Glyph state={verdictState[check.now]} />
            </span>
            <code className="cut grow" title={check.why ?? check.command}>
              {check.command}
            </code>
            <span className="small faint nowrap">
              {verdictWords[check.now]}
              {check.took !== null && ` · ${duration(check.took)}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const FILES = 5;

export function Changes({ run, task }: Of) {
  const changed = useChanged(run, task);
  if (!changed || changed.files.length === 0) return null;
  const more = changed.files.length - FILES;
  const hasLanded = task.state === "landed" || task.state === "completed";
  return (
    <section className="stack" style={{ gap: 6 }}>
      <h3>
        {hasLanded ? text.changes : text.changesSoFar} <span className="plus">+{count(changed.added)}</span>{" "}
        <span className="minus">−{count(changed.removed)}</span>
      </h3>
      <ul className="changed">
        {changed.files.slice(0, FILES).map((file) => (
          <li key={file.name} className="row mono">
            <span className="cut grow" title={file.name}>
              {file.name}
            </span>
            <span className="num faint">{file.lines}</span>
          </li>
        ))}
        {more > 0 && (
          <li>
            <Link className="link small" href={`${taskScreen(run, task.id)}/diff`}>
              {text.moreFiles(more)}
            </Link>
          </li>
        )}
      </ul>
    </section>
  );
}

const LINES = 14;
const WRONG = /\b(error|failed|failure|panic|fatal|exception)\b/i;

export function Tail({ run, task }: Of) {
  const tail = useTail(run, task);
  if (task.attempts === 0 || tail === null) return null;
  const lines = tail.replace(/\n+$/, "").split("\n").slice(-LINES);
  return (
    <section className="stack" style={{ gap: 6 }}>
      <h3>{text.log}</h3>
      {tail === "" ? (
        <p className="small faint">{text.noLog}</p>
      ) : (
        <div className="log" role="region" aria-label={text.log} tabIndex={0}>
          {lines.map((line, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name than their place
            <div key={place} className={WRONG.test(line) ? "line wrong" : "line"}>
              {line || " "}
            </div>
          ))}
        </div>
      )}
    </section>
  );
}
