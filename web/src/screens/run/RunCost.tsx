// What a run has used, by task, epic, model or agent.

import type { CSSProperties } from "react";
import { Link, useParams } from "wouter";
import { get } from "../../api/http";
import type { CostLine } from "../../api/types";
import { useInAddress } from "../../lib/address";
import { count, dollars, tokens } from "../../lib/format";
import { useLooked } from "../../live/query";
import { useRun } from "../../live/run";
import { Refused } from "../../parts/Messages";
import { words } from "../../words";
import { costWords } from "../../words/runCost";
import { RunFrame } from "./RunFrame";

const text = costWords;
type By = keyof typeof text.by;

export function RunCost() {
  const { run = "" } = useParams<{ run: string }>();
  return (
    <RunFrame run={run} tab="cost">
      <Cost run={run} />
    </RunFrame>
  );
}

interface Lines {
  by: By;
  lines: CostLine[];
  total: CostLine;
}

function useCosts(run: string, by: By) {
  return useLooked(
    `costs-${run}-${by}`,
    async (signal) => {
      const found = await get<"GET /api/runs/{run}/costs">("/api/runs/{run}/costs", { run, by }, signal);
      return found as unknown as Lines;
    },
    (ring) => ring.run === run,
  );
}

/** Nothing told is not nothing. */
function said(line: CostLine): string {
  const isPartly = line.cost_usd == null || line.unpriced_tokens > 0 || line.untold_attempts > 0;
  if (isPartly && line.known_cost_usd === 0) return words.unknown;
  return isPartly ? `${text.atLeast} ${dollars(line.known_cost_usd)}` : dollars(line.known_cost_usd);
}

function Cost({ run }: { run: string }) {
  const { status } = useRun(run);
  const [chosen, setBy] = useInAddress("by", "task");
  const by = (chosen in text.by ? chosen : "task") as By;
  const costs = useCosts(run, by);
  const found = costs.value;
  return (
    <div className="run-costs">
      <fieldset className="segments" aria-label={text.label}>
        {(Object.keys(text.by) as By[]).map((name) => (
          <button key={name} type="button" aria-pressed={name === by} onClick={() => setBy(name)}>
            {text.by[name]}
          </button>
        ))}
      </fieldset>
      <Refused error={costs.refusal} />
      {found && <Table run={run} found={found} by={by} />}
      {found && (
        <div className="stack small dim" style={{ gap: 4 }}>
          {status && <p>{status.max_cost_usd == null ? text.noCap : text.cap(dollars(status.max_cost_usd))}</p>}
          {found.total.unpriced_tokens > 0 && <p>{text.unpriced(tokens(found.total.unpriced_tokens))}</p>}
          {found.total.untold_attempts > 0 && <p>{text.untold(found.total.untold_attempts)}</p>}
        </div>
      )}
    </div>
  );
}

const COLUMNS = "minmax(140px, 1.2fr) minmax(80px, 1.6fr) 112px 72px 64px 80px";
const STEPS = 4;

function Table({ run, found, by }: { run: string; found: Lines; by: By }) {
  const lines = found.lines
    .filter((line) => line.attempts > 0 || line.tokens > 0 || line.known_cost_usd > 0)
    .sort((a, b) => b.known_cost_usd - a.known_cost_usd || b.tokens - a.tokens);
  const most = Math.max(...lines.map((line) => line.known_cost_usd), 0);
  if (lines.length === 0) return <p className="empty">{text.empty}</p>;
  return (
    <div className="table" role="table" aria-label={text.table} style={{ "--columns": COLUMNS } as CSSProperties}>
      <div className="table-head" role="row">
        <span role="columnheader">{text.by[by]}</span>
        <span role="columnheader">{text.share}</span>
        {[text.cost, text.attempts, text.turns, text.tokens].map((name) => (
          <span key={name} role="columnheader" className="num">
            {name}
          </span>
        ))}
      </div>
      {lines.map((line, place) => (
        <Line key={`${line.kind}\n${line.key}`} {...{ run, line, by, place, most }} />
      ))}
      <div className="table-row total" role="row">
        <span role="cell">{text.total}</span>
        <span role="cell" />
        <Numbers line={found.total} />
      </div>
    </div>
  );
}

interface LineProps {
  run: string;
  line: CostLine;
  by: By;
  place: number;
  most: number;
}

function Line({ run, line, by, place, most }: LineProps) {
  const name = line.kind === "planning" ? text.planning : (line.key ?? text.none[by]);
  const part = most > 0 ? (line.known_cost_usd / most) * 100 : 0;
  return (
    <div className="table-row" role="row">
      <span role="cell" title={name}>
        {by === "task" && line.key && line.kind !== "planning" ? (
          <Link href={`/runs/${run}?task=${encodeURIComponent(line.key)}`}>
            <b>{name}</b>
          </Link>
        ) : (
          name
        )}
      </span>
      <span role="cell">
        <span className="share" style={{ display: "block" }}>
          <i
            style={{ width: `${part}%`, background: `var(--share-${Math.min(STEPS, by === "task" ? 2 : place + 1)})` }}
          />
        </span>
      </span>
      <Numbers line={line} />
    </div>
  );
}

function Numbers({ line }: { line: CostLine }) {
  const cost = said(line);
  return (
    <>
      <span role="cell" className={cost.includes("$") ? "num" : "num faint"}>
        {cost}
      </span>
      <span role="cell" className="num">
        {count(line.attempts)}
      </span>
      <span role="cell" className="num">
        {line.turns > 0 ? count(line.turns) : ""}
      </span>
      <span role="cell" className="num">
        {line.tokens > 0 ? tokens(line.tokens) : <span className="faint">{words.unknown}</span>}
      </span>
    </>
  );
}
