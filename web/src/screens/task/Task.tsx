// A task: what needs the user about it, then its conversation, log, diff, checks, prompt and history.

import { useMemo } from "react";
import { Link, useLocation, useParams, useSearch } from "wouter";
import { get } from "../../api/http";
import type { Attempt, RunTask, StatusAnswer, TaskDetail } from "../../api/types";
import { Top } from "../../app";
import { fileName } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { type Looked, useLooked } from "../../live/query";
import { type LiveRun, useRun } from "../../live/run";
import { Refused } from "../../parts/Messages";
import { taskWords } from "../../words/task";
import { ChecksTab } from "./ChecksTab";
import { ConversationTab } from "./ConversationTab";
import { DiffTab } from "./DiffTab";
import { type Diffed, taskPath, useDetail, useDiff, useEvents, useNeed } from "./data";
import type { TaskEvent } from "./events";
import { told } from "./events";
import { HistoryTab } from "./HistoryTab";
import { LogTab } from "./LogTab";
import { PromptTab } from "./PromptTab";
import { TaskAside } from "./TaskAside";
import { TaskHead } from "./TaskHead";
import { TaskNeed } from "./TaskNeed";

const TABS = ["conversation", "log", "diff", "checks", "prompt", "history"] as const;
type Tab = (typeof TABS)[number];
type Query = Record<string, string | number | undefined>;

/** What every part of the screen is given. */
export interface TaskPart {
  run: string;
  task: RunTask;
  live: LiveRun;
  status: StatusAnswer | null;
  /** The one that is looked at: the newest, if none is asked for. */
  attempt: number | null;
  detail: TaskDetail | null;
  events: TaskEvent[];
  diff: Looked<Diffed>;
  /** The address of this screen with something else in it. */
  here: (query: Query, tab?: Tab) => string;
  go: (query: Query) => void;
}

export default function Task() {
  const { run = "", task: id = "", tab } = useParams<{ run: string; task: string; tab?: string }>();
  const live = useRun(run);
  const task = live.byId.get(decodeURIComponent(id));
  const source = live.status ? fileName(live.status.source) : run;
  return (
    <>
      <Top crumbs={[[taskWords.runs, "/runs"], [source, `/runs/${run}`], [decodeURIComponent(id)]]} />
      {task ? (
        <Known
          key={task.id}
          run={live.status?.run ?? run}
          live={live}
          task={task}
          tab={TABS.find((known) => known === tab) ?? "conversation"}
        />
      ) : (
        <div className="page">
          {live.refusal ? (
            <Refused error={live.refusal} />
          ) : (
            live.status && <p>{taskWords.notHere(decodeURIComponent(id))}</p>
          )}
        </div>
      )}
    </>
  );
}

function useAttempts(run: string, task: RunTask): Attempt[] {
  const looked = useLooked(`attempts-${run}-${task.id}-${task.attempts}-${task.state}`, (signal) =>
    get<"GET /api/runs/{run}/tasks/{task}/attempts">(
      "/api/runs/{run}/tasks/{task}/attempts",
      { run, task: task.id },
      signal,
    ),
  );
  return useMemo(() => [...(looked.value?.attempts ?? [])].sort((a, b) => a.attempt - b.attempt), [looked.value]);
}

function Known({ run, live, task, tab }: { run: string; live: LiveRun; task: RunTask; tab: Tab }) {
  const [, go] = useLocation();
  const query = new URLSearchParams(useSearch());
  const attempts = useAttempts(run, task);
  const asked = Number(query.get("attempt")) || null;
  const attempt = task.attempts === 0 ? null : asked && asked <= task.attempts ? asked : task.attempts;
  const need = useNeed(run, task.id);
  const here = (more: Query, other: Tab = tab): string => {
    const next = new URLSearchParams();
    const kept: Query = { attempt: asked ?? undefined, ...more };
    for (const [name, value] of Object.entries(kept)) if (value !== undefined) next.set(name, String(value));
    const text = next.toString();
    return taskPath(run, task.id, `${other === "conversation" ? "" : `/${other}`}${text ? `?${text}` : ""}`);
  };
  const events = useEvents(run, task.id).value ?? [];
  const part: TaskPart = {
    run,
    task,
    live,
    status: live.status,
    attempt,
    detail: useDetail(run, task.id, task.state === "running").value,
    events,
    diff: useDiff(run, task),
    here,
    go: (more) => go(here(more), { replace: true }),
  };
  const step = (by: number) => {
    if (attempt === null) return;
    const next = Math.max(1, Math.min(task.attempts, attempt + by));
    go(here({ attempt: next === task.attempts ? undefined : next }));
  };
  useKeys([
    ...TABS.map((name, at) => ({ keys: String(at + 1), label: taskWords.tabs[name], act: () => go(here({}, name)) })),
    { keys: "ArrowLeft", label: taskWords.keys.olderAttempt, act: () => step(-1) },
    { keys: "ArrowRight", label: taskWords.keys.newerAttempt, act: () => step(1) },
  ]);
  return (
    <>
      <TaskHead part={part} attempts={attempts} need={need} project={need?.project ?? null} />
      <Tabs part={part} tab={tab} />
      <div className="task-body">
        <div className="stack">
          {need && <TaskNeed need={need} evident={tab !== "log"} />}
          <Shown part={part} tab={tab} />
        </div>
        <TaskAside part={part} />
      </div>
    </>
  );
}

function Tabs({ part, tab }: { part: TaskPart; tab: Tab }) {
  const figures: Partial<Record<Tab, number>> = {
    diff: part.diff.value?.files.length,
    checks: part.detail?.verify.length,
    history: told(part.events).filter((one) => !one.minor).length,
  };
  return (
    <nav className="tabs" aria-label={taskWords.tabs.label}>
      {TABS.map((name) => (
        <Link key={name} href={part.here({}, name)} aria-current={name === tab ? "page" : undefined}>
          {name === "conversation" && part.detail && part.detail.kind !== "prompt"
            ? taskWords.tabs.output
            : taskWords.tabs[name]}
          {figures[name] ? <span className="small faint">{figures[name]}</span> : null}
        </Link>
      ))}
    </nav>
  );
}

function Shown({ part, tab }: { part: TaskPart; tab: Tab }) {
  // Another attempt is another conversation and another log.
  const key = `${part.task.id}-${part.attempt}`;
  switch (tab) {
    case "log":
      return <LogTab key={key} {...part} />;
    case "diff":
      return <DiffTab {...part} />;
    case "checks":
      return <ChecksTab {...part} />;
    case "prompt":
      return <PromptTab {...part} />;
    case "history":
      return <HistoryTab {...part} />;
    default:
      return <ConversationTab key={key} {...part} />;
  }
}
