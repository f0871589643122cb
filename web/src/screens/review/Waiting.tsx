// Work that waits for the user's word: the diff with what is said about it, and the verdicts.

import { useRef, useState } from "react";
import type { Need, RunTask } from "../../api/types";
import { dollars, duration } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useForbidden } from "../../lib/me";
import { refuse } from "../../lib/messages";
import { totals } from "../../lib/patch";
import { remember, remembered } from "../../lib/settings";
import type { LiveRun } from "../../live/run";
import { Button } from "../../parts/Button";
import { Diff, type DiffPlace } from "../../parts/diff/Diff";
import { ViewSwitch } from "../../parts/diff/ViewSwitch";
import { Refused } from "../../parts/Messages";
import { useOffered } from "../../parts/Palette";
import { State } from "../../parts/State";
import { words } from "../../words";
import { diffWords } from "../../words/diff";
import { reviewWords as text } from "../../words/review";
import { dependents, useDetail, useDiff, useNeed } from "../task/data";
import type { TaskEvent } from "../task/events";
import * as acts from "./acts";
import { useComments } from "./comments";
import { EditCard, ReviewFacts } from "./ReviewFacts";
import { Train } from "./Train";

interface WaitingProps {
  run: string;
  live: LiveRun;
  task: RunTask;
  events: TaskEvent[];
}

export function Waiting({ run, live, task, events }: WaitingProps) {
  const need = useNeed(run, task.id);
  const detail = useDetail(run, task.id).value;
  const diff = useDiff(run, task);
  const speaking = useComments(run, task.id);
  const [split, setSplit] = useState(remembered("diff", "") === "split");
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const [file, setFile] = useState<string | null>(null);
  const [folder, setFolder] = useState(remembered(acts.editName(run, task.id), ""));
  const place = useRef<DiffPlace>(null);
  const files = diff.value?.files ?? [];
  const forbidden = useForbidden(need?.project);
  const commit = diff.value?.answer.to ?? null;
  const may = {
    approve: forbidden ?? (commit ? null : text.notWaiting(task.id)),
    back: forbidden ?? (detail && detail.kind !== "prompt" ? text.isCommand : null),
  };
  const approve = async () => {
    if (commit) await acts.approve(run, task.id, commit);
  };
  const sendBack = async () => {
    if (await acts.sendBack(run, task.id, speaking.comments)) speaking.clear();
  };
  const edit = async () => setFolder(await acts.edit(run, task.id));
  const choose = (path: string) => {
    setFile(path);
    place.current?.showFile(path);
  };
  const toggle = (path: string) => {
    const next = new Set(seen);
    if (!next.delete(path)) next.add(path);
    setSeen(next);
  };
  const step = (by: number) => {
    const at = files.findIndex((one) => one.path === file);
    const next = files[Math.max(0, Math.min(files.length - 1, at + by))];
    if (next) choose(next.path);
  };
  const doing = (why: string | null, act: () => Promise<void>) => (why ? refuse(why) : act().catch(refuse));
  useKeys([
    { keys: "a", label: text.approve, act: () => doing(may.approve, approve) },
    { keys: "s", label: text.sendBack, act: () => doing(may.back, sendBack) },
    { keys: "j", label: diffWords.nextLine, act: () => place.current?.step(1) },
    { keys: "k", label: diffWords.previousLine, act: () => place.current?.step(-1) },
    { keys: "c", label: diffWords.commentHere, act: () => place.current?.speak() },
    { keys: "]", label: diffWords.nextFile, act: () => step(1) },
    { keys: "[", label: diffWords.previousFile, act: () => step(-1) },
    { keys: "v", label: diffWords.markSeen, act: () => file && toggle(file) },
  ]);
  useOffered([
    {
      icon: "inbox",
      text: `${text.approve}: ${task.id}`,
      kind: words.palette.do,
      act: () => doing(may.approve, approve),
    },
    {
      icon: "inbox",
      text: `${text.sendBack} ${task.id}`,
      kind: words.palette.do,
      act: () => doing(may.back, sendBack),
    },
  ]);
  const said = speaking.comments.length;
  return (
    <>
      <header className="task-head">
        <div className="row wrap">
          <h1>{task.id}</h1>
          <State state="needs" word={words.kinds.review} filled />
          <Summary task={task} files={files} />
          <span className="grow" />
          <div className="actions">
            <Button kind="danger" forbidden={forbidden} act={() => acts.drop(run, task.id)}>
              {text.drop}
            </Button>
            <Button forbidden={forbidden} act={edit}>
              {text.edit}
            </Button>
            <Button hint="s" forbidden={may.back} act={sendBack}>
              {said > 0 ? text.sendBackWith(said) : text.sendBack}
            </Button>
            <Button kind="primary" hint="a" forbidden={may.approve} act={approve}>
              {text.approve}
            </Button>
          </div>
        </div>
        <Otherwise need={need} held={dependents(live, task.id).map((one) => one.id)} />
      </header>
      <div className="review-body">
        <Train run={run} live={live} events={events} chosen={task.id} />
        <div className="stack">
          {folder && (
            <EditCard run={run} task={task.id} folder={folder} forbidden={forbidden} done={() => setFolder("")} />
          )}
          <div className="row wrap">
            <ViewSwitch
              split={split}
              set={(now) => {
                setSplit(now);
                remember("diff", now ? "split" : "");
              }}
            />
            <span className="grow" />
            <span className="small faint keys">
              <kbd>j</kbd> {diffWords.nextLine} <kbd>c</kbd> {diffWords.comment} <kbd>]</kbd> {diffWords.nextFile}{" "}
              <kbd>v</kbd> {diffWords.seen}
            </span>
          </div>
          <Refused error={diff.refusal} />
          {files.length > 0 && (
            <Diff
              files={files}
              split={split}
              speaking={speaking}
              seen={{ files: seen, toggle }}
              place={place}
              onFile={setFile}
            />
          )}
        </div>
        <ReviewFacts
          live={live}
          task={task}
          detail={detail}
          events={events}
          commit={commit}
          files={files}
          seen={seen}
          comments={speaking.comments}
          chosen={file}
          choose={choose}
        />
      </div>
    </>
  );
}

function Summary({ task, files }: { task: RunTask; files: Parameters<typeof totals>[0] }) {
  const { added, removed } = totals(files);
  const parts = [
    task.name !== task.id ? task.name : null,
    [task.agent, task.model].filter(Boolean).join(", "),
    duration(task.worked_ms),
    dollars(task.cost_usd),
  ];
  return (
    <span className="dim">
      {parts.filter(Boolean).join(" · ")}{" "}
      {files.length > 0 && (
        <>
          · <span className="plus">+{added}</span> <span className="minus">−{removed}</span>
        </>
      )}
    </span>
  );
}

function Otherwise({ need, held }: { need: Need | null; held: string[] }) {
  return (
    <p className="otherwise">
      {need && (
        <>
          {text.otherwise} <b>{need.otherwise}.</b>{" "}
        </>
      )}
      {text.ifApproved(held.length > 0 ? text.thenGoOn(held.slice(0, 4).join(", ")) : "")}
    </p>
  );
}
