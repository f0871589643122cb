// A project's tasks in columns: what is to be done, what is done, what needs the user.

import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import { useParams } from "wouter";
import { Refusal } from "../../api/http";
import { Top } from "../../app";
import { fileName } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useForbidden } from "../../lib/me";
import { refuse, say } from "../../lib/messages";
import { usePlace } from "../../lib/place";
import { useRun } from "../../live/run";
import { Refused } from "../../parts/Messages";
import { useOffered } from "../../parts/Palette";
import { words } from "../../words";
import { board } from "../../words/board";
import { changeTask, type MoveTo, moveTask } from "./acts";
import { BoardTools } from "./BoardTools";
import { Columns } from "./Columns";
import { COLUMNS, type FileTasks, type Placed, type ProjectWithError, placed, useFileTasks, useProject } from "./data";
import { formOf } from "./form";
import { RunForm } from "./RunForm";
import { TaskEditor } from "./TaskEditor";

export function Board() {
  const { project = "" } = useParams<{ project: string }>();
  const looked = useProject(project);
  const file = useFileTasks(project);
  const again = () => {
    looked.again();
    file.again();
  };
  const title = looked.value?.name ?? project;
  const run = looked.value?.latest_run?.run;
  return (
    <>
      <Top crumbs={[[board.projects, "/projects"], [title]]} />
      {looked.refusal && !looked.value && (
        <div className="page">
          <Refused error={looked.refusal} />
        </div>
      )}
      {file.refusal && !file.value && looked.value && (
        <div className="page stack">
          <h1>{title}</h1>
          <Refused error={file.refusal} />
        </div>
      )}
      {file.refusal && file.value && (
        <div className="page">
          <Refused error={file.refusal} />
        </div>
      )}
      {file.value && looked.value && (
        <Shown
          key={project}
          project={looked.value}
          file={file.value}
          wrong={file.refusal instanceof Refusal ? Math.max(1, file.refusal.errors.length) : 0}
          run={run ?? null}
          again={again}
        />
      )}
    </>
  );
}

interface ShownProps {
  project: ProjectWithError;
  file: FileTasks;
  /** How many mistakes the file has since it could be read last. */
  wrong: number;
  run: string | null;
  again: () => void;
}

function Shown(props: ShownProps) {
  return props.run ? (
    <WithRun {...props} run={props.run} />
  ) : (
    <Tasks {...props} all={placed(props.file.tasks, new Map(), false)} isLive={false} />
  );
}

function WithRun(props: ShownProps & { run: string }) {
  const live = useRun(props.run);
  const isLive = live.status?.live ?? false;
  const all = useMemo(() => placed(props.file.tasks, live.byId, isLive), [props.file.tasks, live.byId, isLive]);
  return <Tasks {...props} all={all} isLive={isLive} />;
}

function Tasks({ project, file, wrong, run, again, all, isLive }: ShownProps & { all: Placed[]; isLive: boolean }) {
  const [read, write] = usePlace();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [running, setRunning] = useState<string[] | null>(null);
  const filterBox = useRef<HTMLInputElement>(null);
  const mayRun = useForbidden(project.id);
  const mayEdit = useForbidden(project.id, "admin");
  const name = fileName(project.file);
  const [filter, epic, chosen] = [read("filter"), read("epic"), read("task")];
  const isNew = read("new") !== "";
  const epics = [...new Set(all.map((one) => one.task.epic_id).filter((one) => one != null))];
  const shown = all.filter(({ task }) => {
    const fits = `${task.id} ${task.name} ${task.agent ?? ""}`.toLowerCase().includes(filter.toLowerCase());
    return fits && (!epic || task.epic_id === epic);
  });
  const choose = (task: string | null) => write({ task, new: null });
  const toggle = (id: string) =>
    setSelected((before) => {
      const now = new Set(before);
      if (!now.delete(id)) now.add(id);
      return now;
    });
  const ids = all.map((one) => one.task.id).filter((id) => selected.has(id));
  const forbidden = mayRun ?? (isLive ? board.runUnderway : null);
  const runThem = (which: string[]) => (forbidden ? refuse(forbidden) : setRunning(which));
  const addTask = () => write({ task: null, new: "yes" });

  const edit = async (doing: () => Promise<unknown>, told: string) => {
    if (mayEdit) return refuse(mayEdit);
    try {
      await doing();
      say(told);
    } catch (error) {
      refuse(error);
    }
    again();
  };
  const move = (id: string, to: MoveTo, told: string) => edit(() => moveTask(project.id, id, to, file.version), told);
  const drop = (moved: string, onto: string) => {
    if (moved && moved !== onto) move(moved, { before: onto }, board.movedBefore(moved, onto, name));
  };
  const prioritise = (one: Placed, by: number) => {
    const now = formOf(one.task, file.text).priority || "medium";
    const place = board.priorities.indexOf(now as (typeof board.priorities)[number]) + by;
    const priority = board.priorities[place];
    if (!priority) return;
    const told = board.priorityNow(one.task.id, priority, name);
    edit(() => changeTask(project.id, one.task.id, { priority }, null, file.version), told);
  };

  const onKey = (event: KeyboardEvent, one: Placed) => {
    const inColumn = shown.filter((other) => other.column === one.column);
    const at = inColumn.indexOf(one);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const side = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = inColumn[at + step]?.task.id;
    if (event.altKey && step && next) {
      const told = step > 0 ? board.movedDown(one.task.id, name) : board.movedUp(one.task.id, name);
      move(one.task.id, step > 0 ? { after: next } : { before: next }, told);
    } else if (event.altKey && side) prioritise(one, side);
    else if (step && next) document.getElementById(`card-${next}`)?.focus();
    else if (side) beside(shown, one, side);
    else if (event.key === " ") toggle(one.task.id);
    else if (!step && !side) return;
    event.preventDefault();
  };

  useKeys([
    { keys: "/", label: words.keys.filter, act: () => filterBox.current?.focus() },
    { keys: "n", label: board.keys.add, act: addTask },
    { keys: "r", label: board.keys.run, act: () => runThem(ids) },
  ]);
  useOffered([
    { icon: "plus", text: board.addTask, kind: words.palette.do, act: addTask },
    {
      icon: "runs",
      text: ids.length > 0 ? board.runSelected(ids.length) : board.runAll,
      kind: words.palette.do,
      act: () => runThem(ids),
    },
    ...all.slice(0, 500).map(({ task }) => ({
      icon: "board" as const,
      text: `${task.id} ${task.name}`,
      kind: words.palette.task,
      act: () => choose(task.id),
    })),
  ]);
  const open = all.find((one) => one.task.id === chosen) ?? null;
  return (
    <div className="board-screen" data-open={open || isNew ? "true" : undefined}>
      <BoardTools
        project={project}
        tasks={file.tasks.length}
        run={run}
        epics={epics}
        selected={ids.length}
        clear={() => setSelected(new Set())}
        filterBox={filterBox}
        mayEdit={mayEdit}
        mayRun={forbidden}
        add={addTask}
        start={() => runThem(ids)}
      />
      <Columns
        shown={shown}
        chosen={chosen}
        selected={selected}
        open={choose}
        toggle={toggle}
        onKey={onKey}
        drop={drop}
        mayMove={!mayEdit}
      />
      {shown.length === 0 && <p className="page dim">{words.table.nothing}</p>}
      {(open || isNew) && (
        <TaskEditor
          key={isNew ? " new" : open?.task.id}
          project={project.id}
          placed={isNew ? null : open}
          file={file}
          fileName={name}
          wrong={wrong}
          choose={choose}
          again={again}
        />
      )}
      {!open && !isNew && <p className="board-hint small faint keys">{board.hint}</p>}
      {running && (
        <RunForm
          project={project.id}
          tasks={running}
          close={() => setRunning(null)}
          started={() => {
            setSelected(new Set());
            again();
          }}
        />
      )}
    </div>
  );
}

/** To the next column that has cards, at about the same height. */
function beside(shown: Placed[], one: Placed, side: number): void {
  const filled = COLUMNS.filter((name) => shown.some((other) => other.column === name));
  const column = filled[filled.indexOf(one.column) + side];
  const own = shown.filter((other) => other.column === one.column).indexOf(one);
  const theirs = shown.filter((other) => other.column === column);
  const next = theirs[Math.min(own, theirs.length - 1)];
  if (next) document.getElementById(`card-${next.task.id}`)?.focus();
}
