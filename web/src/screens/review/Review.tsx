// Review and landing: what waits for the user's word, what lands when, and the work itself.

import { useEffect } from "react";
import { Link, useLocation, useParams } from "wouter";
import type { RunTask } from "../../api/types";
import { Top } from "../../app";
import { fileName } from "../../lib/format";
import { useRun } from "../../live/run";
import { Refused } from "../../parts/Messages";
import { State } from "../../parts/State";
import { words } from "../../words";
import { reviewWords as text } from "../../words/review";
import { taskPath } from "../task/data";
import { useWorkEvents } from "./events";
import { Train } from "./Train";
import { Waiting } from "./Waiting";

export default function Review() {
  const { run: asked = "", task: id } = useParams<{ run: string; task?: string }>();
  const live = useRun(asked);
  const run = live.status?.run ?? asked;
  const [, go] = useLocation();
  const waiting = live.tasks.filter((task) => task.phase === "review");
  const first = waiting[0]?.id;
  useEffect(() => {
    if (!id && first) go(`/runs/${run}/review/${encodeURIComponent(first)}`, { replace: true });
  }, [id, first, run, go]);
  const events = useWorkEvents(asked);
  const task = id ? live.byId.get(id) : undefined;
  const source = live.status ? fileName(live.status.source) : asked;
  return (
    <>
      <Top
        crumbs={[
          [words.nav.runs, "/runs"],
          [source, `/runs/${asked}`],
          [text.title, id ? `/runs/${asked}/review` : undefined],
          ...(id ? [[id] as [string]] : []),
        ]}
      />
      {task && task.phase === "review" ? (
        <Waiting key={task.id} run={run} live={live} task={task} events={events} />
      ) : (
        <div className="page review-page">
          <Refused error={live.refusal} />
          {live.status && <Nothing run={run} task={task} waiting={waiting} />}
          {live.status && <Train run={run} live={live} events={events} chosen={id ?? null} />}
        </div>
      )}
    </>
  );
}

function Nothing({ run, task, waiting }: { run: string; task: RunTask | undefined; waiting: RunTask[] }) {
  return (
    <section className="empty">
      <h1>{task ? text.notWaiting(task.id) : text.nothing}</h1>
      {task ? (
        <p>
          <State state={task.state as never} />{" "}
          <Link className="link" href={taskPath(run, task.id)}>
            {text.openTask}
          </Link>
        </p>
      ) : (
        waiting.length === 0 && (
          <>
            <p className="dim">{text.nothingHelp}</p>
            <pre className="code">{text.nothingCommand}</pre>
          </>
        )
      )}
    </section>
  );
}
