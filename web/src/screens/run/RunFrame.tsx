// The header and the tabs of a run, the same on every tab.

import { type ReactNode, useMemo } from "react";
import { Link, useLocation } from "wouter";
import { get } from "../../api/http";
import { Top } from "../../app";
import { count, fileName } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useLooked } from "../../live/query";
import { type LiveRun, useRun } from "../../live/run";
import { Refused } from "../../parts/Messages";
import { RunState } from "../../parts/RunState";
import { Bar, Legend } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { runWords } from "../../words/run";
import { type GraphTask, type Rest, restOf } from "./estimate";
import { Figures } from "./Figures";
import { useMaySteer, useProjectOf } from "./project";
import { branchOf, Steering } from "./Steering";

export type RunTab = keyof typeof runWords.tabs;

const TABS: RunTab[] = ["tasks", "graph", "timeline", "board", "cost", "events"];

export const tabAddress = (run: string, tab: RunTab, task?: string | null): string =>
  `/runs/${run}${tab === "tasks" ? "" : `/${tab}`}${task ? `?task=${encodeURIComponent(task)}` : ""}`;

/** The tasks that are left, how long they take, and which of them are on the critical path. */
export function useRest(run: string, live: LiveRun): Rest {
  const graph = useLooked(
    // Tasks that join the run are in the graph of then.
    live.tasks.length > 0 ? `graph-${run}-${live.tasks.length}` : null,
    async (signal) =>
      (await get<"GET /api/runs/{run}/graph">("/api/runs/{run}/graph", { run }, signal))
        .tasks as unknown as GraphTask[],
  );
  return useMemo(() => restOf(live.tasks, live.status, graph.value ?? []), [live.tasks, live.status, graph.value]);
}

export function RunFrame({ run, tab, children }: { run: string; tab: RunTab; children: ReactNode }) {
  const live = useRun(run);
  const rest = useRest(run, live);
  const { status } = live;
  const project = useProjectOf(status?.directory);
  const forbidden = useMaySteer(status?.directory);
  if (!status) {
    return (
      <>
        <Top crumbs={[[runWords.runs, "/runs"], [run]]} />
        {live.refusal && (
          <div className="page">
            <Refused error={live.refusal} />
          </div>
        )}
      </>
    );
  }
  const crumbs: [string, string?][] = [[runWords.runs, "/runs"], [fileName(status.source)]];
  if (project) crumbs.unshift([project.name, `/projects/${encodeURIComponent(project.id)}`]);
  return (
    <>
      <Top crumbs={crumbs} />
      <header className="run-head">
        <div className="row wrap">
          <h1 className="cut">{fileName(status.source)}</h1>
          <RunState state={status.state} filled />
          <span className="small faint cut grow about">
            {runWords.run} <span className="mono">{status.run}</span> · {runWords.on}{" "}
            <span className="mono">{branchOf(status.run)}</span> · {runWords.started} <Ago time={status.created_at} />
          </span>
          <Steering status={status} tasks={live.tasks} forbidden={forbidden} />
        </div>
        {status.why && !status.live && <p className="small dim">{runWords.why[status.why] ?? status.why}</p>}
        <div className="stack" style={{ gap: 8 }}>
          <Bar shown={status.shown} />
          <Legend shown={status.shown} />
        </div>
        <Figures status={status} tasks={live.tasks} byId={live.byId} rest={rest} forbidden={forbidden} />
      </header>
      <Tabs run={run} tab={tab} tasks={status.total} events={status.seq} />
      {children}
    </>
  );
}

function Tabs({ run, tab, tasks, events }: { run: string; tab: RunTab; tasks: number; events: number }) {
  const [, go] = useLocation();
  useKeys(
    TABS.map((name, place) => ({
      keys: String(place + 1),
      label: runWords.keys.tab(runWords.tabs[name]),
      act: () => go(tabAddress(run, name)),
    })),
  );
  return (
    <nav className="tabs" aria-label={runWords.views}>
      {TABS.map((name) => (
        <Link key={name} href={tabAddress(run, name)} aria-current={name === tab ? "page" : undefined}>
          {runWords.tabs[name]}
          {name === "tasks" && <span className="small faint">{count(tasks)}</span>}
          {name === "events" && <span className="small faint">{count(events)}</span>}
        </Link>
      ))}
    </nav>
  );
}
