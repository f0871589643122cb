// Each check with its result, before and now, and what it printed.

import { useMemo } from "react";
import { get } from "../../api/http";
import type { Finding } from "../../api/types";
import { duration } from "../../lib/format";
import { tellsOfError } from "../../lib/lines";
import { useLooked } from "../../live/query";
import { State } from "../../parts/State";
import type { StateName } from "../../words";
import { taskWords } from "../../words/task";
import { type Check, checksOf, endOf, verdictState } from "./checking";
import type { Change } from "./events";
import type { TaskPart } from "./Task";

const text = taskWords.checked;

/** The checks of an attempt: the newest has them with it. */
export function useChecks({ run, task, attempt, detail, events }: TaskPart): Check[] {
  const isNewest = attempt === task.attempts;
  const earlier = useLooked(isNewest || attempt === null ? null : `checks-${run}-${task.id}-${attempt}`, (signal) =>
    get<"GET /api/runs/{run}/tasks/{task}/checks">(
      "/api/runs/{run}/tasks/{task}/checks",
      { run, task: task.id, attempt: attempt ?? 1 },
      signal,
    ),
  );
  const runs = isNewest ? detail?.checks : earlier.value?.checks;
  return useMemo(
    () => (attempt === null ? [] : checksOf(detail?.verify ?? [], runs ?? [], endOf(events, attempt))),
    [detail, runs, events, attempt],
  );
}

export function ChecksTab(part: TaskPart) {
  const checks = useChecks(part);
  const { attempt, events, detail } = part;
  if (!detail) return null;
  const end = attempt === null ? undefined : endOf(events, attempt);
  const change = end?.change;
  return (
    <section className="stack" aria-label={taskWords.checks}>
      {detail.verify.length === 0 && <p className="dim">{taskWords.noChecks}</p>}
      {checks.map((check) => (
        <article key={check.command} className="card checked">
          <header>
            <State state={verdictState[check.now]} word={text[check.now]} filled />
            <code className="cut" title={check.command}>
              {check.command}
            </code>
            <span className="grow" />
            <span className="small faint nowrap">
              {check.before !== "unknown" && `${text.before} ${text[check.before]}`}
              {check.took !== null && ` · ${duration(check.took)}`}
              {check.why && ` · ${check.why}`}
            </span>
          </header>
          {check.output !== null && (
            <pre className="check-output" tabIndex={0} role="region" aria-label={`${text.output}: ${check.command}`}>
              {check.output === "" ? (
                <span className="faint">{text.noOutput}</span>
              ) : (
                <Lines output={check.output} failed={check.now === "failed"} />
              )}
            </pre>
          )}
        </article>
      ))}
      <Found findings={detail.findings} />
      {end?.phases?.verifying !== undefined && detail.verify.length > 0 && (
        <p className="small faint">
          {text.took(duration(end.phases.verifying))} {attempt}.
        </p>
      )}
      {detail.verify.length > 0 && <Measured change={change} />}
    </section>
  );
}

const levelState: Record<string, StateName> = { error: "failed", warning: "needs", note: "pending" };

/** What verifiers found, each with its place. */
function Found({ findings }: { findings: Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <section className="stack" aria-label={text.findings}>
      <h3>{text.findings}</h3>
      <ul className="checks">
        {findings.map((finding, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: findings have no other name, and do not move
          <li key={at} className="row">
            <State state={levelState[finding.level] ?? "failed"} word={finding.level} />
            {finding.file && (
              <code className="nowrap">
                {[finding.file, finding.line, finding.column]
                  .filter((part) => part !== undefined && part !== null)
                  .join(":")}
              </code>
            )}
            <span className="grow">{finding.message}</span>
            <span className="small faint nowrap">{[finding.by, finding.code].filter(Boolean).join(" ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Lines({ output, failed }: { output: string; failed: boolean }) {
  return output.split("\n").map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and do not move
    <span key={at} className={failed && tellsOfError(line) ? "line wrong" : "line"}>
      {`${line}\n`}
    </span>
  ));
}

/** What reviewers and tools told of the work, where they were asked. */
export function Measured({ change }: { change: Change | undefined | null }) {
  if (!change?.reviewed && !change?.measured) return null;
  const { reviewed, measured } = change;
  const percent = (value: unknown) => (typeof value === "number" ? `${value} %` : taskWords.checked.unknown);
  const lint = (value: Record<string, unknown> | undefined) =>
    typeof value?.findings === "number" ? String(value.findings) : text.unknown;
  return (
    <dl className="facts">
      {reviewed && (
        <>
          <dt>{text.reviewer}</dt>
          <dd>
            {reviewed.by}
            {reviewed.score !== undefined && `, ${text.score(reviewed.score)}`}
            {(reviewed.findings ?? []).map((finding) => (
              <p key={finding}>{finding}</p>
            ))}
          </dd>
        </>
      )}
      {measured?.coverage && (
        <>
          <dt>{text.coverage}</dt>
          <dd>
            {percent(measured.coverage.before)} → {percent(measured.coverage.after)}
          </dd>
        </>
      )}
      {measured?.lint && (
        <>
          <dt>{text.lint}</dt>
          <dd>
            {lint(measured.lint.before)} → {lint(measured.lint.after)}
          </dd>
        </>
      )}
    </dl>
  );
}
