// All runs, one line each.

import { type CSSProperties, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { Listed } from "../../api/types";
import { Top } from "../../app";
import { useInAddress } from "../../lib/address";
import { useKeys } from "../../lib/keys";
import { useNarrow } from "../../lib/media";
import { refuse } from "../../lib/messages";
import { Button } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { Refused } from "../../parts/Messages";
import { useWindowRows } from "../../parts/rows";
import { Glyph } from "../../parts/State";
import { stopAll } from "../../parts/stopAll";
import { type StateName, words } from "../../words";
import { runsWords } from "../../words/runs";
import { resumeRun } from "../run/Steering";
import { type Chip, fitsChip, fitsQuery, useRuns } from "./list";
import { COLUMNS, RunRow } from "./RunRow";

const text = runsWords;
const CHIPS: Record<Chip, StateName> = {
  running: "running",
  needs: "needs",
  stopped: "needs",
  failed: "failed",
  completed: "completed",
};

export function Runs() {
  const { runs, isKnown, refusal, hasMore, more } = useRuns();
  const [query, setQuery] = useInAddress("filter");
  const [chip, setChip] = useInAddress("state");
  const [pair, setPair] = useInAddress("compare");
  const [, go] = useLocation();
  const input = useRef<HTMLInputElement>(null);
  const picked = useMemo(() => pair.split(",").filter(Boolean), [pair]);
  const pick = useCallback(
    (run: string) => {
      const others = picked.filter((one) => one !== run);
      setPair((others.length < picked.length ? others : [...others.slice(-1), run]).join(","));
    },
    [picked, setPair],
  );
  const compare = () => picked.length === 2 && go(`/runs/compare/${picked[0]}/${picked[1]}`);
  const shown = useMemo(
    () => runs.filter((run) => fitsChip(run, chip) && (!query || fitsQuery(run, query))),
    [runs, query, chip],
  );
  useKeys([
    { keys: "/", label: words.keys.filter, act: () => input.current?.focus() },
    { keys: "=", label: text.keys.compare, act: compare },
  ]);
  return (
    <>
      <Top crumbs={[[text.title]]} />
      <div className="tools">
        <h1>{text.title}</h1>
        <label className="search">
          <Icon name="search" />
          <input
            ref={input}
            type="search"
            aria-label={text.filter}
            title={text.filterHelp}
            placeholder={text.filter}
            value={query}
            onChange={(event) => setQuery(event.target.value)}
            onKeyDown={(event) => (event.key === "Escape" || event.key === "Enter") && input.current?.blur()}
          />
          <kbd>/</kbd>
        </label>
        <button type="button" className="chip" aria-pressed={!(chip in CHIPS)} onClick={() => setChip(null)}>
          {text.all}
        </button>
        {(Object.keys(CHIPS) as Chip[]).map((name) => (
          <button
            key={name}
            type="button"
            className="chip"
            data-state={CHIPS[name]}
            aria-pressed={chip === name}
            onClick={() => setChip(chip === name ? null : name)}
          >
            <Glyph state={CHIPS[name]} />
            {text.chips[name]}
          </button>
        ))}
        <span className="grow" />
        {runs.some((run) => run.live) && (
          <Button kind="danger" hint="!" act={stopAll}>
            {words.stopAll.button}
          </Button>
        )}
        <span className="wide-only row">
          {picked.length < 2 && runs.length > 1 && (
            <span className="small faint">{text.compareHelp(picked.length)}</span>
          )}
          {picked.length === 2 && (
            <Button kind="primary" local hint="=" act={compare}>
              {text.compare}
            </Button>
          )}
        </span>
      </div>
      <div className="table-box">
        <Refused error={refusal} />
        {isKnown && runs.length === 0 ? (
          <div className="empty">
            <h2>{text.empty}</h2>
            <p>{text.emptyHelp}</p>
            <pre className="code">{text.emptyCommand}</pre>
          </div>
        ) : (
          <Table runs={shown} picked={picked} pick={pick} hasMore={hasMore} more={more} />
        )}
        {isKnown && runs.length > 0 && shown.length === 0 && !hasMore && <p className="nothing">{text.nothing}</p>}
        {hasMore && <p className="small faint foot">{text.more}</p>}
      </div>
    </>
  );
}

interface TableProps {
  runs: Listed[];
  picked: string[];
  pick: (run: string) => void;
  hasMore: boolean;
  more: () => void;
}

function Table({ runs, picked, pick, hasMore, more }: TableProps) {
  const narrow = useNarrow();
  const [, go] = useLocation();
  const size = narrow ? 60 : 36;
  const { list, rows, place, height } = useWindowRows({ count: runs.length, size, above: 86 });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (hasMore && last >= runs.length - 10) more();
  }, [hasMore, last, runs.length, more]);
  const [cursor, setCursor] = useState<string | null>(null);
  const at = runs.findIndex((run) => run.run === cursor);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(runs.length - 1, at + by));
    if (!runs[next]) return;
    setCursor(runs[next].run);
    rows.scrollToIndex(next, { align: "auto" });
  };
  const current = runs[at];
  useKeys([
    { keys: "j", label: words.keys.next, act: () => move(1) },
    { keys: "k", label: words.keys.previous, act: () => move(-1) },
    { keys: "ArrowDown", label: words.keys.next, act: () => move(1) },
    { keys: "ArrowUp", label: words.keys.previous, act: () => move(-1) },
    { keys: "Enter", label: words.keys.open, act: () => current && go(`/runs/${current.run}`) },
    { keys: "x", label: text.keys.select, act: () => current && pick(current.run) },
    { keys: "R", label: text.resume, act: () => current?.can_be_resumed && resumeRun(current.run).catch(refuse) },
  ]);
  return (
    <div
      className="table sticky runs"
      role="grid"
      aria-label={text.list}
      aria-rowcount={runs.length + 1}
      tabIndex={0}
      aria-activedescendant={current ? `run-${current.run}` : undefined}
      style={{ "--columns": COLUMNS } as CSSProperties}
    >
      <div className="table-head" role="row" aria-rowindex={1}>
        <span role="columnheader">
          <span className="sr">{text.compare}</span>
        </span>
        {(Object.keys(text.head) as (keyof typeof text.head)[]).map((name) => (
          <span key={name} role="columnheader" className={name === "duration" || name === "spend" ? "num" : undefined}>
            {text.head[name] || <span className="sr">{text.resume}</span>}
          </span>
        ))}
      </div>
      <div ref={list} role="rowgroup" style={{ position: "relative", height }}>
        {items.map((row) => {
          const run = runs[row.index];
          return run ? (
            <RunRow
              key={run.run}
              run={run}
              index={row.index}
              narrow={narrow}
              isAt={row.index === at}
              picked={picked.includes(run.run)}
              pick={pick}
              top={String(place(row.start).transform)}
              size={size}
            />
          ) : null;
        })}
      </div>
    </div>
  );
}
