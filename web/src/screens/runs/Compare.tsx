// Two runs side by side: what came of each task, how often it was tried, how long it took and what it cost.

import { type CSSProperties, useMemo } from "react";
import { Link, useParams } from "wouter";
import type { RunTask, StatusAnswer } from "../../api/types";
import { Top } from "../../app";
import { useInAddress } from "../../lib/address";
import { count, duration, fileName } from "../../lib/format";
import { useNarrow } from "../../lib/media";
import { type LiveRun, useRun } from "../../live/run";
import { Refused } from "../../parts/Messages";
import { RunState } from "../../parts/RunState";
import { useWindowRows } from "../../parts/rows";
import { Bar, State } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { type StateName, words } from "../../words";
import { runsWords } from "../../words/runs";
import { costOf, sumOf, sumWords } from "../run/cost";

const text = runsWords.comparing;

interface Pair {
  id: string;
  a: RunTask | undefined;
  b: RunTask | undefined;
  differs: boolean;
}

function pairsOf(a: LiveRun, b: LiveRun): Pair[] {
  const ids = new Set([...a.tasks, ...b.tasks].map((task) => task.id));
  return [...ids].map((id) => {
    const [one, other] = [a.byId.get(id), b.byId.get(id)];
    return { id, a: one, b: other, differs: one?.state !== other?.state };
  });
}

export function Compare() {
  const { a = "", b = "" } = useParams<{ a: string; b: string }>();
  const [one, other] = [useRun(a), useRun(b)];
  const [only, setOnly] = useInAddress("only");
  const pairs = useMemo(() => pairsOf(one, other), [one.tasks, other.tasks, one.byId, other.byId, one, other]);
  const differing = pairs.filter((pair) => pair.differs).length;
  const shown = only ? pairs.filter((pair) => pair.differs) : pairs;
  return (
    <>
      <Top crumbs={[[runsWords.title, "/runs"], [text.title]]} />
      <div className="page stack">
        <div className="row wrap">
          <h1>{text.title}</h1>
          <span className="dim">{differing === 0 ? text.same : text.differ(differing, pairs.length)}</span>
          <span className="grow" />
          <label className="chip square">
            <input type="checkbox" checked={only !== ""} onChange={() => setOnly(only ? null : "yes")} /> {text.only}
          </label>
          <Link className="button" href={`/runs/compare/${b}/${a}`}>
            {text.swap}
          </Link>
        </div>
        <Refused error={one.refusal ?? other.refusal} />
        <div className="compare-heads">
          {one.status && <Head name={text.a} status={one.status} tasks={one.tasks} than={null} />}
          {other.status && <Head name={text.b} status={other.status} tasks={other.tasks} than={one.status} />}
        </div>
        <Table a={a} b={b} pairs={shown} />
      </div>
    </>
  );
}

interface HeadProps {
  name: string;
  status: StatusAnswer;
  tasks: RunTask[];
  /** The run that it is compared with. */
  than: StatusAnswer | null;
}

function Head({ name, status, tasks, than }: HeadProps) {
  const more = than ? status.elapsed_ms - than.elapsed_ms : 0;
  const cost = sumWords(sumOf(tasks), runsWords.atLeast) || words.none;
  return (
    <section className="card stack" aria-label={`${name}: ${status.run}`}>
      <div className="row wrap">
        <b>{name}</b>
        <Link className="link" href={`/runs/${status.run}`}>
          {fileName(status.source)} <span className="mono">{status.run}</span>
        </Link>
        <RunState state={status.state} />
        <span className="grow" />
        <span className="small faint">
          <Ago time={status.created_at} />
        </span>
      </div>
      <Bar shown={status.shown} />
      <dl className="facts">
        <dt>{text.landed}</dt>
        <dd>
          {count(status.shown.landed + status.shown.completed)} {words.of} {count(status.total)}
        </dd>
        <dt>{text.worked}</dt>
        <dd>
          {duration(status.elapsed_ms)}
          {than && Math.abs(more) >= 1000 && (
            <b> · {more < 0 ? text.faster(duration(-more)) : text.slower(duration(more))}</b>
          )}
        </dd>
        <dt>{text.spend}</dt>
        <dd>{cost}</dd>
      </dl>
    </section>
  );
}

const SIDE = "minmax(96px, 1fr) 36px 72px 72px";
const COLUMNS = `minmax(120px, 1.4fr) ${SIDE} ${SIDE}`;

function Table({ a, b, pairs }: { a: string; b: string; pairs: Pair[] }) {
  const narrow = useNarrow();
  const size = narrow ? 64 : 32;
  const { list, rows, place, height } = useWindowRows({ count: pairs.length, size, above: 86 });
  return (
    <div
      className="table sticky compare"
      role="table"
      aria-label={text.table}
      aria-rowcount={pairs.length + 1}
      style={{ "--columns": COLUMNS } as CSSProperties}
    >
      <div className="table-head" role="row">
        <span role="columnheader">{text.task}</span>
        {[text.a, text.b].map((side) =>
          [text.state, text.attempts, text.time, text.cost].map((name, column) => (
            <span key={side + name} role="columnheader" className={column === 0 ? "edge" : "num"}>
              {column === 0 ? `${side} · ${name}` : name}
            </span>
          )),
        )}
      </div>
      <div ref={list} role="rowgroup" style={{ position: "relative", height }}>
        {rows.getVirtualItems().map((row) => {
          const pair = pairs[row.index];
          return pair ? (
            <div
              key={pair.id}
              className={narrow ? "table-row compare-row three-lines" : "table-row compare-row"}
              role="row"
              data-differs={pair.differs}
              style={place(row.start)}
            >
              <span role="cell" className={pair.differs ? "differs" : undefined} title={pair.a?.name ?? pair.b?.name}>
                {pair.differs && <span aria-hidden="true">≠ </span>}
                {pair.id}
              </span>
              <Side run={a} task={pair.a} than={pair.b} narrow={narrow} />
              <Side run={b} task={pair.b} than={pair.a} narrow={narrow} />
            </div>
          ) : null;
        })}
      </div>
    </div>
  );
}

interface SideProps {
  run: string;
  task: RunTask | undefined;
  than: RunTask | undefined;
  narrow: boolean;
}

function Side({ run, task, than, narrow }: SideProps) {
  const to = task && `/runs/${run}?task=${encodeURIComponent(task.id)}`;
  const state = (
    <span role="cell" className="edge">
      {task && to ? (
        <Link href={to}>
          <State state={task.state as StateName} />
        </Link>
      ) : (
        <span className="faint">{text.absent}</span>
      )}
    </span>
  );
  if (narrow) return state;
  const differs = (of: (task: RunTask) => unknown) => (task && than && of(task) !== of(than) ? "num differs" : "num");
  return (
    <>
      {state}
      <span role="cell" className={differs((one) => one.attempts)}>
        {task?.attempts || ""}
      </span>
      <span role="cell" className="num">
        {task && task.worked_ms > 0 ? duration(task.worked_ms) : ""}
      </span>
      <span role="cell" className="num faint">
        {task ? costOf(task) : ""}
      </span>
    </>
  );
}
