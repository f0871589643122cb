// The selected task beside the table, without leaving it.

import { useMemo } from "react";
import { useLocation } from "wouter";
import type { Need, RunTask } from "../../api/types";
import { at } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { refuse } from "../../lib/messages";
import { useStore } from "../../lib/store";
import { needs as allNeeds } from "../../live/needs";
import type { LiveRun } from "../../live/run";
import { Button } from "../../parts/Button";
import { State } from "../../parts/State";
import { Until } from "../../parts/Time";
import { type StateName, words } from "../../words";
import { runWords } from "../../words/run";
import { taskWords } from "../../words/runTasks";
import * as acts from "../inbox/acts";
import { NeedActions } from "../inbox/NeedActions";
import { knownOf, phaseOf } from "./activity";
import { Changes, Checks, Facts, Tail } from "./PanelParts";
import { useMaySteer } from "./project";
import { cancelTask, dependentsOf, mayNot, retryTask, sendWords, skipTask } from "./taskActs";

const text = taskWords.panel;

export const taskScreen = (run: string, task: string): string => `/runs/${run}/tasks/${encodeURIComponent(task)}`;

interface Props {
  run: string;
  live: LiveRun;
  task: RunTask;
  select: (id: string) => void;
}

export function Panel({ run, live, task, select }: Props) {
  const [, go] = useLocation();
  const known = useMemo(() => knownOf(live.status), [live.status]);
  const behind = useMemo(() => dependentsOf(task.id, live.tasks), [task.id, live.tasks]);
  const need = useStore(allNeeds).find((one) => one.run === run && one.task === task.id);
  const forbidden = useMaySteer(live.status?.directory);
  const open = () => go(taskScreen(run, task.id));
  useNeedKeys(need);
  return (
    <aside className="panel" aria-label={text.label} tabIndex={-1}>
      <div className="stack" style={{ gap: 6 }}>
        <div className="row">
          <State state={task.state as StateName} phase={phaseOf(task, known)} filled />
          <span className="grow" />
          <Button kind="quiet" local hint="↵" act={open}>
            {text.open}
          </Button>
        </div>
        <h2 className="title">{task.id}</h2>
        {task.name !== task.id && <p className="dim">{task.name}</p>}
      </div>
      {need ? (
        <NeedBox need={need} />
      ) : (
        task.words && (
          <pre className="code" data-state={task.state}>
            {task.words}
          </pre>
        )
      )}
      <Acts run={run} live={live} task={task} held={behind.all} need={need} />
      <Facts run={run} task={task} forbidden={forbidden} known={known} behind={behind} select={select} />
      <Checks run={run} task={task} />
      <Changes run={run} task={task} />
      <Tail run={run} task={task} />
    </aside>
  );
}

/** What is asked, with the answer at hand and what happens without one. */
function NeedBox({ need }: { need: Need }) {
  return (
    <div
      className="card need"
      data-state={need.kind === "conflict" ? "conflict" : need.kind === "failed" ? "failed" : "needs"}
    >
      <div className="body">
        <p>{need.words}</p>
        {need.evidence && (
          <pre className="code" tabIndex={0} role="region" aria-label={words.kinds[need.kind]}>
            {need.evidence}
          </pre>
        )}
        <NeedActions card={{ key: "", needs: [need] }} need={need} keys />
        <p className="otherwise">
          {words.inbox.otherwise}{" "}
          {need.due && (
            <b>
              {words.inbox.atTime(at(need.due))}
              <Until time={need.due} />
              {", "}
            </b>
          )}
          {need.otherwise}.
        </p>
      </div>
    </div>
  );
}

function useNeedKeys(need: Need | undefined): void {
  const [, go] = useLocation();
  const doing = (act: () => Promise<void>) => act().catch(refuse);
  const asks = need && ["permission", "follow_up", "recovery"].includes(need.kind);
  useKeys([
    {
      keys: "a",
      label: words.keys.allow,
      act: () =>
        need && (asks ? doing(() => acts.allow(need)) : need.kind === "review" && doing(() => acts.approve(need))),
    },
    {
      keys: "D",
      label: words.keys.deny,
      act: () => need && (asks || need.kind === "question") && doing(() => acts.deny(need)),
    },
    {
      keys: "d",
      label: words.keys.diff,
      act: () => need?.kind === "review" && go(`/runs/${need.run}/review/${encodeURIComponent(need.task ?? "")}`),
    },
  ]);
}

interface ActsProps {
  run: string;
  live: LiveRun;
  task: RunTask;
  held: number;
  need: Need | undefined;
}

function Acts({ run, live, task, held, need }: ActsProps) {
  const forbidden = useMaySteer(live.status?.directory);
  const { status } = live;
  const isLive = status?.live ?? false;
  const answers = need && ["permission", "question"].includes(need.kind);
  const asked = {
    retry: { why: forbidden ?? mayNot.retry(task), act: () => retryTask(run, task) },
    skip: { why: forbidden ?? mayNot.skip(task), act: () => skipTask(run, task) },
    cancel: { why: forbidden ?? mayNot.cancel(task), act: () => cancelTask(run, task, held) },
    send: {
      why: forbidden ?? (answers || need?.kind === "review" ? null : mayNot.send(task, isLive)),
      act: () =>
        need && answers ? acts.answer(need) : need?.kind === "review" ? acts.sendBack(need) : sendWords(run, task),
    },
  };
  const by = (name: keyof typeof asked) => () => {
    const { why, act } = asked[name];
    if (why) refuse(why);
    else act().catch(refuse);
  };
  useKeys([
    { keys: "R", label: words.keys.retry, act: by("retry") },
    { keys: "S", label: words.keys.skip, act: by("skip") },
    { keys: "x", label: runWords.keys.cancelTask, act: by("cancel") },
    { keys: "s", label: answers ? runWords.keys.answer : runWords.keys.send, act: by("send") },
  ]);
  const isDone = task.state === "landed" || task.state === "completed";
  if (isDone) return null;
  const hasRetry = asked.retry.why === forbidden && need?.kind !== "failed" && need?.kind !== "conflict";
  return (
    <div className="actions">
      {hasRetry && (
        <Button hint="R" forbidden={asked.retry.why} act={asked.retry.act}>
          {taskWords.acts.retry}
        </Button>
      )}
      {mayNot.send(task, isLive) === null && !answers && need?.kind !== "review" && (
        <Button hint="s" forbidden={asked.send.why} act={asked.send.act}>
          {taskWords.acts.send}
        </Button>
      )}
      {mayNot.skip(task) === null && (
        <Button hint="S" forbidden={asked.skip.why} act={asked.skip.act}>
          {taskWords.acts.skip}
        </Button>
      )}
      {mayNot.cancel(task) === null && (
        <Button kind="danger" hint="x" forbidden={asked.cancel.why} act={asked.cancel.act}>
          {taskWords.acts.cancel}
        </Button>
      )}
    </div>
  );
}
