import { type CSSProperties, memo } from "react";
import { Link } from "wouter";
import type { Listed } from "../../api/types";
import { count, dollars, duration, fileName } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { Button } from "../../parts/Button";
import { RunState } from "../../parts/RunState";
import { Bar, State } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { words } from "../../words";
import { runsWords } from "../../words/runs";
import { branchOf, resumeRun } from "../run/Steering";
import { spendOf } from "./spend";

const text = runsWords;

interface Props {
  run: Listed;
  index: number;
  narrow: boolean;
  isAt: boolean;
  picked: boolean;
  pick: (run: string) => void;
  top: string;
  size: number;
}

export const COLUMNS =
  "20px minmax(130px, 160px) minmax(130px, 1.2fr) minmax(140px, 1.3fr) minmax(64px, 0.6fr) minmax(48px, 0.5fr) 84px 60px minmax(112px, 0.8fr) 134px 64px";

export const RunRow = memo(function RunRow({ run, index, narrow, isAt, picked, pick, top, size }: Props) {
  const style: CSSProperties = { position: "absolute", insetInline: 0, top: 0, height: size, transform: top };
  const shown = run.figures?.shown;
  const done = shown ? shown.landed + shown.completed : 0;
  const spend = spendOf(run);
  const cap = run.figures?.max_cost_usd;
  return (
    <div
      className={narrow ? "table-row two-lines" : "table-row"}
      role="row"
      id={`run-${run.run}`}
      aria-rowindex={index + 2}
      aria-selected={isAt}
      style={style}
    >
      {!narrow && (
        <span role="gridcell">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={text.select(run.run)}
            checked={picked}
            onChange={() => pick(run.run)}
          />
        </span>
      )}
      <span role="gridcell" className="cell-state">
        <RunState state={run.state} needs={shown?.needs} />
      </span>
      <span role="gridcell" className="cell-file" title={run.source}>
        <Link href={`/runs/${run.run}`} tabIndex={-1}>
          <b>{fileName(run.source)}</b> <span className="mono faint">{run.run}</span>
        </Link>
      </span>
      <span role="gridcell" className="cell-progress">
        {shown && <Bar shown={shown} thin />}
        <span className="num">{text.doneOf(count(done), count(run.tasks))}</span>
      </span>
      {!narrow && (
        <>
          <span role="gridcell">{run.project ?? <span className="faint">{words.none}</span>}</span>
          <span role="gridcell" className="cut" title={run.figures?.by}>
            {run.figures?.by ?? <span className="faint">{words.unknown}</span>}
          </span>
          <span role="gridcell">
            <Ago time={run.created_at} />
          </span>
          <span role="gridcell" className="num">
            {duration(run.figures?.elapsed_ms)}
          </span>
        </>
      )}
      <span role="gridcell" className="num cell-spend">
        {spend.includes("$") ? spend : <span className="faint">{spend}</span>}{" "}
        {cap != null && <span className="faint">{`${words.of} ${dollars(cap)}`}</span>}
      </span>
      {!narrow && (
        <>
          <span role="gridcell" className="mono" title={branchOf(run.run)}>
            {branchOf(run.run)}
          </span>
          <span role="gridcell">
            {run.live ? <State state="running" word={text.live} /> : run.can_be_resumed ? <Resume run={run} /> : null}
          </span>
        </>
      )}
    </div>
  );
});

function Resume({ run }: { run: Listed }) {
  const forbidden = useForbidden(run.project);
  return (
    <Button kind="quiet" forbidden={forbidden} act={() => resumeRun(run.run)}>
      {text.resume}
    </Button>
  );
}
