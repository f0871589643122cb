// What stands in the header of a run: how far, how long, how much.

import { Link } from "wouter";
import type { RunTask, StatusAnswer } from "../../api/types";
import { useNow } from "../../lib/clock";
import { at, count, dollars, duration, exactly } from "../../lib/format";
import { State } from "../../parts/State";
import { type StateName, words } from "../../words";
import { runWords } from "../../words/run";
import { CapButton } from "./CapButton";
import { isUntold, sumOf } from "./cost";
import { isOpen, type Rest } from "./estimate";
import { Slots } from "./Slots";

const text = runWords.figures;

interface Props {
  status: StatusAnswer;
  tasks: RunTask[];
  byId: Map<string, RunTask>;
  rest: Rest;
  forbidden: string | null;
}

export function Figures({ status, tasks, byId, rest, forbidden }: Props) {
  return (
    <div className="figures">
      <Landed status={status} />
      <DoneBy status={status} rest={rest} />
      <Spend status={status} tasks={tasks} forbidden={forbidden} />
      <Slots status={status} forbidden={forbidden} />
      <CriticalPath status={status} rest={rest} byId={byId} />
    </div>
  );
}

function Landed({ status }: { status: StatusAnswer }) {
  const { landed, completed, needs } = status.shown;
  return (
    <div>
      <span className="label">{landed > 0 || completed === 0 ? text.landed : text.done}</span>
      <span className="value">
        {count(landed + completed)} <small>{`${words.of} ${count(status.total)}`}</small>
      </span>
      {needs > 0 && (
        <Link className="small" href={`/runs/${status.run}?state=needs`}>
          <State state="needs" word={text.needsPerson(needs)} />
        </Link>
      )}
    </div>
  );
}

const minutes = (ms: number): string => duration(ms < 60_000 ? ms : Math.round(ms / 60_000) * 60_000);

/** "6–8 min", "50 min – 1 h 10 min". */
function range(from: number, to: number): string {
  const [a, b] = [minutes(from), minutes(to)];
  if (a === b) return a;
  const unit = / (s|min|h)$/.exec(a)?.[0];
  const isShort = unit && b.endsWith(unit) && !a.includes(" h ") && !b.includes(" h ");
  return isShort ? `${a.slice(0, -unit.length)}–${b}` : `${a} – ${b}`;
}

function DoneBy({ status, rest }: { status: StatusAnswer; rest: Rest }) {
  const now = useNow();
  if (status.ended_at || !status.live) {
    return (
      <div>
        <span className="label">{status.ended_at ? text.took : text.worked}</span>
        <span className="value">{duration(status.elapsed_ms)}</span>
        {status.ended_at && (
          <time className="small faint" dateTime={status.ended_at} title={exactly(status.ended_at)}>
            {text.endedAt(at(status.ended_at))}
          </time>
        )}
      </div>
    );
  }
  if (rest.shortest === null || rest.longest === null) {
    return (
      <div title={text.estimateLater}>
        <span className="label">
          {text.doneIn} <span>{words.estimate}</span>
        </span>
        <span className="value faint">{words.unknown}</span>
      </div>
    );
  }
  return (
    <div title={text.estimateTip(rest.ended, rest.tasks)}>
      <span className="label">
        {text.doneIn} <span>{words.estimate}</span>
      </span>
      <span className="value">{range(rest.shortest, rest.longest)}</span>
      <span className="small faint">{text.by(at(new Date(now + rest.longest).toISOString()))}</span>
    </div>
  );
}

const ENOUGH = 3;

/** What the agents' tasks that ended cost on average, for each that is left. */
function forecast(status: StatusAnswer, tasks: RunTask[]): { words: string; from: number } | null {
  if (!status.live) return null;
  const done = tasks.filter((task) => task.agent && !isOpen(task) && task.attempts > 0);
  const told = done.filter((task) => !isUntold(task));
  if (told.length < ENOUGH || told.length < done.length) return null;
  const each = told.reduce((sum, task) => sum + (task.cost_usd ?? 0), 0) / told.length;
  const left = tasks.filter((task) => task.agent && isOpen(task));
  const extra = left.reduce((sum, task) => sum + Math.max(0, each - (task.cost_usd ?? 0)), 0);
  return left.length > 0 ? { words: dollars(status.known_cost_usd + extra), from: told.length } : null;
}

function Spend({ status, tasks, forbidden }: { status: StatusAnswer; tasks: RunTask[]; forbidden: string | null }) {
  const sum = sumOf(tasks);
  const isPartly = status.cost_usd == null || sum.untold > 0;
  const isUnknown = isPartly && status.known_cost_usd === 0;
  const ahead = forecast(status, tasks);
  const cap = status.max_cost_usd;
  return (
    <div title={isPartly ? text.unpriced : undefined}>
      <span className="label">
        {text.spend}{" "}
        {ahead && (
          <span title={text.forecastTip(ahead.from)}>{`${text.forecast(ahead.words)}, ${words.estimate}`}</span>
        )}
        <CapButton status={status} forbidden={forbidden} />
      </span>
      <span className={isUnknown ? "value faint" : "value"}>
        {isPartly && !isUnknown && <small>{text.atLeast} </small>}
        {isUnknown ? words.unknown : dollars(status.known_cost_usd)}{" "}
        <small>{cap == null ? text.noCap : `${words.of} ${dollars(cap)}`}</small>
      </span>
      {cap != null && cap > 0 && (
        <div
          className="meter"
          role="meter"
          aria-label={text.spend}
          aria-valuemin={0}
          aria-valuemax={cap}
          aria-valuenow={Math.min(cap, status.known_cost_usd)}
          aria-valuetext={`${dollars(status.known_cost_usd)} ${words.of} ${dollars(cap)}`}
        >
          <i style={{ width: `${Math.min(100, (status.known_cost_usd / cap) * 100)}%` }} />
        </div>
      )}
    </div>
  );
}

const NAMED = 4;

function CriticalPath({ status, rest, byId }: { status: StatusAnswer; rest: Rest; byId: Map<string, RunTask> }) {
  const shown = rest.path.slice(0, NAMED);
  const more = rest.path.length - shown.length;
  return (
    <div title={text.criticalTip}>
      <span className="label">
        {text.critical}{" "}
        {rest.path.length > 0 && (
          <span>{rest.pathLeft === null ? text.criticalUnknown : text.criticalLeft(minutes(rest.pathLeft))}</span>
        )}
      </span>
      {rest.path.length === 0 ? (
        <span className="small faint">{text.criticalNone}</span>
      ) : (
        <span className="chain">
          {shown.map(({ id, left }, place) => (
            <span key={id}>
              {place > 0 && (
                <span className="faint" aria-hidden="true">
                  →{" "}
                </span>
              )}
              <Link href={`/runs/${status.run}?task=${encodeURIComponent(id)}`} title={byId.get(id)?.name}>
                <State
                  state={(byId.get(id)?.state ?? "pending") as StateName}
                  word={<b className="critical">{id}</b>}
                />
              </Link>{" "}
              {rest.pathLeft !== null && <span className="faint">{minutes(left)}</span>}{" "}
            </span>
          ))}
          {more > 0 && <span className="faint">→ {text.criticalMore(more)}</span>}
        </span>
      )}
    </div>
  );
}
