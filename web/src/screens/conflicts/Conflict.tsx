// A conflict, solved: both sides and what was before, the user's choice for each place, then the checks and the landing.

import { useState } from "react";
import { Link, useLocation, useParams } from "wouter";
import { get, Refusal, send } from "../../api/http";
import type { ConflictAnswer, LandingAnswer, RunTask } from "../../api/types";
import { Top } from "../../app";
import { fileName } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { say } from "../../lib/messages";
import { useLooked } from "../../live/query";
import { useRun } from "../../live/run";
import { Button } from "../../parts/Button";
import { confirmed } from "../../parts/Dialog";
import { Refused } from "../../parts/Messages";
import { State } from "../../parts/State";
import { type StateName, words } from "../../words";
import { conflictWords as text } from "../../words/conflict";
import * as inbox from "../inbox/acts";
import { taskPath, taskRoute, useNeed } from "../task/data";
import { Solving } from "./Solving";

export default function Conflict() {
  const { run: asked = "", task: id = "" } = useParams<{ run: string; task: string }>();
  const live = useRun(asked);
  const run = live.status?.run ?? asked;
  const task = live.byId.get(id);
  const source = live.status ? fileName(live.status.source) : asked;
  return (
    <>
      <Top crumbs={[[words.nav.runs, "/runs"], [source, `/runs/${asked}`], [id, taskPath(asked, id)], [text.title]]} />
      {!task && (
        <div className="page">
          <Refused error={live.refusal} />
        </div>
      )}
      {task && <Known run={run} task={task} />}
    </>
  );
}

function Known({ run, task }: { run: string; task: RunTask }) {
  const [, go] = useLocation();
  const need = useNeed(run, task.id);
  const forbidden = useForbidden(need?.project);
  const [wrong, setWrong] = useState<{ title: string; evidence: string } | null>(null);
  const isOne = task.state === "conflict";
  const laid = useLooked<ConflictAnswer | null>(
    isOne ? `conflict-${run}-${task.id}` : null,
    async (signal) => {
      try {
        return await get<"GET /api/runs/{run}/tasks/{task}/conflict">(
          "/api/runs/{run}/tasks/{task}/conflict",
          { run, task: task.id },
          signal,
        );
      } catch (error) {
        // It is not laid out yet.
        if (error instanceof Refusal && error.status === 409) return null;
        throw error;
      }
    },
    (ring) => ring.run === run,
  );
  const resolve = (how: Record<string, unknown> = {}) =>
    send<LandingAnswer & Record<string, unknown>>("POST", taskRoute(run, task.id, "conflict/resolve"), how);
  const land = async (how: Record<string, unknown>) => {
    setWrong(null);
    const came = await resolve(how);
    if (came.outcome === "landed") {
      say(text.landedAs((came.commit ?? "").slice(0, 10)));
      go(taskPath(run, task.id));
    } else if (came.outcome === "checks_failed") setWrong({ title: text.checksFailed, evidence: came.evidence ?? "" });
    else if (came.outcome === "conflict") setWrong({ title: text.conflictAgain, evidence: came.evidence ?? "" });
    laid.again();
  };
  const everywhere = async (how: "ours" | "theirs") => {
    const question = how === "ours" ? text.askLanded(task.id) : text.askWork(task.id);
    if (await confirmed(question, text.askOk)) await land({ [how]: true });
  };
  const begin = async () => {
    await resolve();
    laid.again();
  };
  const abort = async () => {
    if (!(await confirmed(text.askAbort, text.abortOk))) return;
    await resolve({ abort: true });
    say(text.aborted);
    laid.again();
  };
  return (
    <>
      <header className="task-head">
        <div className="row wrap">
          <h1>{task.id}</h1>
          <State state={task.state as StateName} filled />
          <span className="dim cut">{need?.words ?? task.words}</span>
        </div>
        {need && (
          <p className="otherwise">
            {text.otherwise} <b>{need.otherwise}.</b>
          </p>
        )}
      </header>
      <div className="page stack">
        {!isOne && (
          <section className="empty">
            <h2>{text.notOne(task.id)}</h2>
            <Link className="link" href={taskPath(run, task.id)}>
              {words.inbox.openTask}
            </Link>
          </section>
        )}
        <Refused error={laid.refusal} />
        {wrong && (
          <div className="refusal" role="alert">
            <b>{wrong.title}</b>
            <pre>{wrong.evidence}</pre>
          </div>
        )}
        {isOne && laid.value === null && !laid.refusal && (
          <article className="card" data-state="conflict">
            <div className="body">
              {need?.evidence && (
                <pre className="code" tabIndex={0} role="region" aria-label={text.title}>
                  {need.evidence}
                </pre>
              )}
              <p className="dim">{text.beginHelp}</p>
            </div>
            <footer>
              <Button kind="primary" forbidden={forbidden} act={begin}>
                {text.begin}
              </Button>
              <Button forbidden={forbidden} act={() => everywhere("ours")}>
                {text.allLanded}
              </Button>
              <Button forbidden={forbidden} act={() => everywhere("theirs")}>
                {text.allWork}
              </Button>
              {need && (
                <Button kind="quiet" forbidden={forbidden} act={() => inbox.retry([need])}>
                  {text.giveBack}
                </Button>
              )}
            </footer>
          </article>
        )}
        {isOne && laid.value && (
          <Solving
            run={run}
            task={task.id}
            laid={laid.value}
            again={laid.again}
            forbidden={forbidden}
            land={() => land({ continue: true })}
            abort={abort}
          />
        )}
      </div>
    </>
  );
}
