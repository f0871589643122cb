// The chart, the lines by what was asked for, the caps, and what is not known.

import { Link } from "wouter";
import type { CostLine, Listed } from "../../api/types";
import { useNow } from "../../lib/clock";
import { count, dollars, fileName, tokens } from "../../lib/format";
import { Segments } from "../../parts/Fields";
import { words } from "../../words";
import { costs as text } from "../../words/costs";
import { DayChart } from "./DayChart";
import { BYS, type By, type Range, type Spent } from "./data";

const HOUR = 60 * 60 * 1000;

/** What is known, and that there is more. */
export function costOf(line: CostLine): string {
  if (line.cost_usd != null)
    return line.untold_attempts === line.attempts && line.attempts > 0 ? words.unknown : dollars(line.cost_usd);
  return line.known_cost_usd > 0 ? `${dollars(line.known_cost_usd)} ${text.plusUnknown}` : words.unknown;
}

export function Spending({ spent, by, range, setBy }: { spent: Spent; by: By; range: Range; setBy: (by: By) => void }) {
  const now = useNow();
  // The chart changes with the day, not with the second.
  const hour = Math.floor(now / HOUR) * HOUR;
  const several = spent.days.filter((one) => one.lines.length > 0).length > 1;
  return (
    <div className="cost-grid">
      <div className="stack">
        <section className="card">
          <header>
            <h2 className="grow">{text.byDay}</h2>
            {several && (
              <span className="legend">
                {spent.days.map((one, place) => (
                  <span key={one.project} className="row">
                    <i className={`swatch share-${Math.min(place, 3) + 1}`} />
                    {one.project}
                  </span>
                ))}
              </span>
            )}
            <span className="small faint">{text.daysUtc}</span>
          </header>
          <div className="body scroller" tabIndex={0} role="region" aria-label={text.byDay}>
            <DayChart days={spent.days} range={range} now={hour} />
          </div>
        </section>
        <section className="card" aria-label={text.bys[by]}>
          <header className="wrap">
            <Segments
              label={text.by}
              value={by}
              set={setBy}
              options={BYS.map((one) => [one, text.bys[one]] as const)}
            />
            <span className="grow" />
            {range !== "all" && <span className="small faint">{text.runsNote}</span>}
          </header>
          <Lines spent={spent} by={by} />
        </section>
      </div>
      <aside className="stack">
        <Caps runs={spent.runs} />
        <section className="card">
          <header>
            <h2>{text.unknown}</h2>
          </header>
          <div className="body small dim">
            {spent.total.untold_attempts > 0 && <p>{text.untold(spent.total.untold_attempts)}</p>}
            {spent.total.unpriced_tokens > 0 && <p>{text.unpriced(tokens(spent.total.unpriced_tokens))}</p>}
            {spent.total.untold_attempts === 0 && spent.total.unpriced_tokens === 0 && <p>{text.allKnown}</p>}
          </div>
        </section>
      </aside>
    </div>
  );
}

function Lines({ spent, by }: { spent: Spent; by: By }) {
  const most = Math.max(...spent.lines.map((line) => line.known_cost_usd), 0.000001);
  return (
    <table className="cost-lines">
      <thead>
        <tr>
          <th>{text.keys[by]}</th>
          <th className="wide-only">{text.share}</th>
          <th className="num">{text.cost}</th>
          <th className="num">{text.attempt}</th>
          <th className="num">{text.tokens}</th>
        </tr>
      </thead>
      <tbody>
        {spent.lines.slice(0, 500).map((line, place) => (
          <tr key={`${line.kind} ${line.key}`}>
            <td className="cut">
              <i className={`swatch share-${Math.min(place, 3) + 1}`} aria-hidden="true" /> <Key line={line} by={by} />
            </td>
            <td className="wide-only">
              <div className="share" aria-hidden="true">
                <i
                  className={`share-${Math.min(place, 3) + 1}`}
                  style={{ width: `${(line.known_cost_usd / most) * 100}%` }}
                />
              </div>
            </td>
            <td className="num">{costOf(line)}</td>
            <td className="num">{count(line.attempts)}</td>
            <td className="num" title={count(line.tokens)}>
              {line.untold_attempts === line.attempts && line.attempts > 0 ? words.unknown : tokens(line.tokens)}
            </td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th>{text.total}</th>
          <td className="wide-only" />
          <td className="num">{costOf(spent.total)}</td>
          <td className="num">{count(spent.total.attempts)}</td>
          <td className="num">{tokens(spent.total.tokens)}</td>
        </tr>
      </tfoot>
    </table>
  );
}

function Key({ line, by }: { line: CostLine; by: By }) {
  const key = !line.key || line.key === "-" ? text.none : line.key;
  const planning = line.kind === "planning" ? <span className="faint"> {text.planning}</span> : null;
  const to = by === "run" ? `/runs/${key}` : by === "project" ? `/projects/${encodeURIComponent(key)}` : null;
  return (
    <>
      {to ? <Link href={to}>{key}</Link> : key}
      {planning}
    </>
  );
}

function Caps({ runs }: { runs: Listed[] }) {
  const capped = runs.filter((run) => run.figures?.max_cost_usd != null).slice(0, 8);
  return (
    <section className="card">
      <header>
        <h2>{text.caps}</h2>
      </header>
      <div className="body">
        {capped.length === 0 && <p className="small dim">{text.noCaps}</p>}
        {capped.map((run) => {
          const [spent, cap] = [run.figures?.known_cost_usd ?? 0, run.figures?.max_cost_usd ?? 0];
          return (
            <div key={run.run} className="cap">
              <div className="row">
                <Link className="cut grow" href={`/runs/${run.run}`}>
                  <b>{fileName(run.source)}</b> <span className="faint">{run.run}</span>
                </Link>
                <span className="nowrap">{text.capOf(dollars(spent), dollars(cap))}</span>
              </div>
              <div className="meter">
                <i style={{ width: `${Math.min(100, (spent / cap) * 100)}%` }} />
              </div>
              <p className="small dim">
                {spent >= cap ? text.capReached : text.capLeft(dollars(cap - spent))}{" "}
                {run.figures?.cost_usd == null && text.capUnknown}
              </p>
            </div>
          );
        })}
      </div>
    </section>
  );
}
