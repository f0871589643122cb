// The landing order, and the forecast beside it.

import { Link } from "wouter";
import { count } from "../../lib/format";
import type { LiveRun } from "../../live/run";
import { Glyph, State } from "../../parts/State";
import type { StateName } from "../../words";
import { reviewWords as text } from "../../words/review";
import { taskPath } from "../task/data";
import type { TaskEvent } from "../task/events";
import { type Car, common, filesByTask, foreseen, train } from "./train";

const LANDED = 3;
const MOST = 8;

export function Train({
  run,
  live,
  events,
  chosen,
}: {
  run: string;
  live: LiveRun;
  events: TaskEvent[];
  chosen: string | null;
}) {
  const { landed, coming, out } = train(live.tasks, live.status);
  const files = filesByTask(events);
  const expected = foreseen(events);
  const matrix = [...coming, ...out].slice(0, MOST);
  return (
    <div className="stack" style={{ gap: 20 }}>
      <section className="card">
        <header>
          <h2>{text.train}</h2>
        </header>
        <ol className="train">
          {landed.length + coming.length + out.length === 0 && <li className="small dim">{text.trainEmpty}</li>}
          {landed.length > LANDED && <li className="small faint">{text.earlier(landed.length - LANDED)}</li>}
          {[...landed.slice(-LANDED), ...coming, ...out].map((car) => (
            <TrainCar
              key={car.task.id}
              run={run}
              car={car}
              chosen={car.task.id === chosen}
              more={overlap(car, coming, files)}
            />
          ))}
        </ol>
      </section>
      <section className="card">
        <header>
          <h2>{text.forecast}</h2>
          <span className="small faint">{text.forecastOf}</span>
        </header>
        <div className="body">
          {matrix.length < 2 ? (
            <p className="small dim">{text.forecastNone}</p>
          ) : (
            <Matrix cars={matrix} files={files} expected={expected} chosen={chosen} />
          )}
          {(live.status?.conflicts_ahead ?? []).map((one) => (
            <p key={`${one.task}-${one.words}`} className="small">
              <State state="conflict" word={one.task} /> <span className="dim">{one.words}</span>
            </p>
          ))}
        </div>
      </section>
    </div>
  );
}

/** With the first before it that touches the same files. */
function overlap(car: Car, coming: Car[], files: Map<string, Set<string>>): string | null {
  for (const other of coming) {
    if (other.task.id === car.task.id) return null;
    const both = common(files, car.task.id, other.task.id);
    if (both && both.length > 0) return text.shares(both.length, other.task.id);
  }
  return null;
}

function TrainCar({ run, car, chosen, more }: { run: string; car: Car; chosen: boolean; more: string | null }) {
  const { task } = car;
  const to =
    task.phase === "review"
      ? `/runs/${run}/review/${encodeURIComponent(task.id)}`
      : task.state === "conflict"
        ? `/runs/${run}/conflicts/${encodeURIComponent(task.id)}`
        : taskPath(run, task.id);
  return (
    <li>
      <Link href={to} aria-current={chosen ? "true" : undefined} title={task.name}>
        <span className="small faint place">{car.place === null ? "" : count(car.place)}</span>
        <span className="state" data-state={task.state}>
          <Glyph state={task.state as StateName} />
        </span>
        <span className="grow">
          <b>{task.id}</b>
          <span className="small dim">{[car.words, more].filter(Boolean).join(" · ")}</span>
        </span>
      </Link>
    </li>
  );
}

interface MatrixProps {
  cars: Car[];
  files: Map<string, Set<string>>;
  expected: Map<string, string[]>;
  chosen: string | null;
}

function Matrix({ cars, files, expected, chosen }: MatrixProps) {
  return (
    <>
      <table className="matrix">
        <thead>
          <tr>
            <td />
            {cars.map((car, at) => (
              <th key={car.task.id} scope="col" title={car.task.id}>
                <span aria-hidden="true">{at + 1}</span>
                <span className="sr">{car.task.id}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cars.map((row, at) => (
            <tr key={row.task.id}>
              <th scope="row" className={row.task.id === chosen ? "here cut" : "cut"}>
                {at + 1} {row.task.id}
              </th>
              {cars.map((column, other) => (
                <Cell
                  key={column.task.id}
                  row={row}
                  column={column}
                  hidden={other > at}
                  same={other === at}
                  files={files}
                  expected={expected}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="small faint legend">
        <span>· {text.legendNone}</span>
        <span>1 {text.legendCount}</span>
        <span>? {text.legendUnknown}</span>
        <State state="conflict" word={text.legendConflict} />
      </p>
    </>
  );
}

function Cell({
  row,
  column,
  hidden,
  same,
  files,
  expected,
}: { row: Car; column: Car; hidden: boolean; same: boolean } & Pick<MatrixProps, "files" | "expected">) {
  if (hidden) return <td />;
  if (same) return <td className="faint">–</td>;
  const [one, other] = [row.task.id, column.task.id];
  const conflict = expected.get(`${one}\n${other}`);
  const both = common(files, one, other);
  const told = conflict ?? both;
  const words = text.cell(
    one,
    other,
    told === null ? text.unknownFiles : told.length === 0 ? text.none : told.join(", "),
  );
  const clash = conflict !== undefined || (row.task.state === "conflict" && both !== null && both.length > 0);
  return (
    <td className="cell" data-state={clash ? "conflict" : undefined} title={words}>
      <span aria-hidden="true">
        {clash ? <Glyph state="conflict" /> : both === null ? "?" : both.length === 0 ? "·" : <b>{both.length}</b>}
      </span>
      <span className="sr">{words}</span>
    </td>
  );
}
