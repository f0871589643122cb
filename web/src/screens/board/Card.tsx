import { type DragEvent, type KeyboardEvent, memo } from "react";
import { dollars } from "../../lib/format";
import { State } from "../../parts/State";
import { Ago } from "../../parts/Time";
import type { StateName } from "../../words";
import { board } from "../../words/board";
import { filesOf, type Placed } from "./data";

interface CardProps {
  placed: Placed;
  chosen: boolean;
  selected: boolean;
  open: (id: string) => void;
  toggle: (id: string) => void;
  onKey: (event: KeyboardEvent, placed: Placed) => void;
  drop: (moved: string, onto: string) => void;
  mayMove: boolean;
}

const KIND = "application/x-conductor-task";

/** One task: what it is, with which agent, what it has cost and how long ago. */
export const Card = memo(function Card(props: CardProps) {
  const { placed, chosen, selected } = props;
  const { task } = placed;
  const over = (event: DragEvent) => {
    if (event.dataTransfer.types.includes(KIND)) event.preventDefault();
  };
  return (
    <li
      className="board-card"
      data-selected={chosen || undefined}
      draggable={props.mayMove}
      onDragStart={(event) => event.dataTransfer.setData(KIND, task.id)}
      onDragOver={over}
      onDrop={(event) => {
        event.preventDefault();
        props.drop(event.dataTransfer.getData(KIND), task.id);
      }}
    >
      <button
        type="button"
        id={`card-${task.id}`}
        className="board-open"
        aria-current={chosen || undefined}
        onClick={() => props.open(task.id)}
        onKeyDown={(event) => props.onKey(event, placed)}
      >
        <b className="cut">{task.id}</b>
        <span className="cut dim">{task.name}</span>
        <span className="row small faint">
          <span className="cut grow">{left(placed)}</span>
          <span className="nowrap">{right(placed)}</span>
        </span>
      </button>
      <input
        type="checkbox"
        aria-label={board.select(task.id)}
        checked={selected}
        onChange={() => props.toggle(task.id)}
        tabIndex={-1}
      />
    </li>
  );
});

/** On the left what it is at. */
function left({ task, live, column, missing }: Placed) {
  const agent = live?.agent ?? task.agent ?? (task.kind === "run" ? board.shell : board.anyAgent);
  if (column === "backlog") return board.waitsFor(missing.join(", "));
  if (column === "needs" && live) return <State state={live.state as StateName} word={live.phase ?? undefined} />;
  if (column === "running") return live?.phase ? `${agent} · ${live.phase}` : agent;
  if (live?.state === "skipped") return board.skipped;
  if (column === "failed" && live)
    return live.attempts > 1
      ? `${agent}, ${board.attempts(live.attempts)}`
      : `${agent}${live.words ? `: ${live.words}` : ""}`;
  const model = live?.model ?? task.model;
  return model && column !== "landed" ? `${agent} ${model}` : agent;
}

/** On the right its cost, its age or its files. */
function right({ task, live, column }: Placed) {
  if (column === "running" && live)
    return live.cost_usd === 0 && live.tokens === 0 ? <Ago time={live.started_at} /> : dollars(live.cost_usd);
  if ((column === "needs" || column === "review") && live) return <Ago time={live.started_at} />;
  if (column === "landed" || column === "failed") {
    if (live && live.tokens > 0) return dollars(live.cost_usd);
    return <Ago time={live?.ended_at ?? task.done_by?.at} />;
  }
  const files = filesOf(task).length;
  return files > 0 ? board.files(files) : null;
}
