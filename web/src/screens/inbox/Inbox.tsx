// What needs me now, and what happens if I do nothing?

import { useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { get } from "../../api/http";
import type { Listed, StatusAnswer } from "../../api/types";
import { Top } from "../../app";
import { at, count, dollars, duration, fileName } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { refuse, say } from "../../lib/messages";
import { useStore } from "../../lib/store";
import { needs as allNeeds, askToNotify, isUrgent, notifying } from "../../live/needs";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { RunState } from "../../parts/RunState";
import { Bar, State } from "../../parts/State";
import { words } from "../../words";
import { spendOf } from "../runs/spend";
import * as acts from "./acts";
import { type Card, cards } from "./alike";
import { domId, NeedCard, stateOf } from "./NeedCard";
import { taskAddress } from "./places";

const text = words.inbox;

/** A coordinator is there for a moment after the last event of its run: its end is none. */
const SLOWLY = 5000;

export function Inbox() {
  const needs = useStore(allNeeds);
  const shown = useMemo(() => cards(needs), [needs]);
  const [chosen, setChosen] = useState<string | null>(null);
  const place = Math.max(
    0,
    shown.findIndex((card) => card.key === chosen),
  );
  const card = shown[place];
  useInboxKeys(shown, place, card, setChosen);
  const urgent = needs.filter(isUrgent);
  const held = urgent.reduce((sum, need) => sum + need.held, 0);
  const due = urgent
    .map((need) => need.due)
    .filter((time) => time != null)
    .sort()[0];
  return (
    <>
      <Top crumbs={[[text.title]]} />
      <div className="page">
        <div className="inbox">
          <div className="stack">
            {shown.length === 0 ? (
              <Nothing />
            ) : (
              <>
                <div className="row wrap">
                  <h1>{text.needYou(urgent.length)}</h1>
                  <span className="dim">
                    {held > 0 && text.held(held)} {due && text.deadline} {due && <b>{at(due)}</b>}
                  </span>
                </div>
                <nav className="row wrap" aria-label={text.jump}>
                  {shown.map((card) => (
                    <a
                      key={card.key}
                      className="chip"
                      data-state={stateOf[card.needs[0]?.kind ?? ""]}
                      href={`#${domId(card)}`}
                      onClick={() => setChosen(card.key)}
                    >
                      <State
                        state={stateOf[card.needs[0]?.kind ?? ""] ?? "needs"}
                        word={card.needs[0]?.task ?? fileName(card.needs[0]?.source ?? "")}
                      />
                      <span className="faint">{words.kinds[card.needs[0]?.kind ?? ""]}</span>
                    </a>
                  ))}
                </nav>
                {shown.map((card, at) => (
                  <NeedCard key={card.key} card={card} selected={at === place} select={() => setChosen(card.key)} />
                ))}
              </>
            )}
          </div>
          <Aside />
        </div>
      </div>
    </>
  );
}

function useInboxKeys(shown: Card[], place: number, card: Card | undefined, choose: (key: string) => void) {
  const [, go] = useLocation();
  const move = (by: number) => {
    const next = shown[Math.max(0, Math.min(shown.length - 1, place + by))];
    if (!next) return;
    choose(next.key);
    document.getElementById(domId(next))?.scrollIntoView({ block: "nearest" });
  };
  const need = card?.needs[0];
  const doing = (act: () => Promise<void>) => act().catch(refuse);
  const asks = need && ["permission", "follow_up", "recovery"].includes(need.kind);
  useKeys([
    { keys: "j", label: words.keys.next, act: () => move(1) },
    { keys: "k", label: words.keys.previous, act: () => move(-1) },
    {
      keys: "Enter",
      label: words.keys.open,
      act: () =>
        need &&
        go(
          need.kind === "conflict"
            ? `/runs/${need.run}/conflicts/${encodeURIComponent(need.task ?? "")}`
            : taskAddress(need),
        ),
    },
    {
      keys: "a",
      label: words.keys.allow,
      act: () =>
        need && doing(async () => (asks ? acts.allow(need) : need.kind === "review" ? acts.approve(need) : undefined)),
    },
    {
      keys: "D",
      label: words.keys.deny,
      act: () => need && (asks || need.kind === "question") && doing(() => acts.deny(need)),
    },
    {
      keys: "s",
      label: words.keys.send,
      act: () =>
        need &&
        doing(async () =>
          need.kind === "review"
            ? acts.sendBack(need)
            : ["permission", "question"].includes(need.kind)
              ? acts.answer(need)
              : undefined,
        ),
    },
    {
      keys: "R",
      label: words.keys.retry,
      act: () =>
        card &&
        need &&
        doing(async () =>
          need.kind === "left"
            ? acts.resume(need)
            : ["failed", "conflict", "login"].includes(need.kind)
              ? acts.retry(card.needs)
              : undefined,
        ),
    },
    {
      keys: "S",
      label: words.keys.skip,
      act: () => need && ["permission", "question"].includes(need.kind) && doing(() => acts.skip(need)),
    },
    {
      keys: "d",
      label: words.keys.diff,
      act: () => need?.kind === "review" && go(`/runs/${need.run}/review/${encodeURIComponent(need.task ?? "")}`),
    },
  ]);
}

function useRuns() {
  return useLooked(
    "runs-with-figures",
    async (signal) => (await get<"GET /api/runs">("/api/runs", { figures: true, limit: 20 }, signal)).runs,
    () => true,
    SLOWLY,
  );
}

function Nothing() {
  const runs = useRuns();
  const running = (runs.value ?? []).reduce((sum, run) => sum + (run.figures?.shown.running ?? 0), 0);
  return (
    <section className="empty">
      <h1>{text.empty}</h1>
      <p className="dim">{text.emptyRunning(running)}</p>
      <pre className="code">{text.emptyCommand}</pre>
      <p className="small faint">{text.emptyHelp}</p>
    </section>
  );
}

function Aside() {
  const runs = useRuns();
  const asks = useStore(notifying);
  const live = (runs.value ?? []).filter((run) => run.live);
  const ended = (runs.value ?? []).filter((run) => !run.live && run.figures?.ended_at).slice(0, 5);
  return (
    <aside className="stack" style={{ gap: 20 }}>
      {live.length === 0 && runs.value !== null && (
        <section>
          <div className="section">
            <h2>{text.running}</h2>
          </div>
          <p className="small faint">{text.nothingRuns}</p>
        </section>
      )}
      {live.map((run) => (
        <LiveRunAside key={run.run} run={run} />
      ))}
      {ended.length > 0 && (
        <section>
          <div className="section">
            <h2>{text.ended}</h2>
          </div>
          <div className="rows">
            {ended.map((run) => (
              <Link key={run.run} href={`/runs/${run.run}`}>
                <RunState state={run.state} />
                <span className="grow cut">{nameOf(run)}</span>
                <span className="small faint nowrap">
                  {run.figures
                    ? `${count(run.figures.shown.landed + run.figures.shown.completed)} ${words.of} ${count(run.tasks)}`
                    : ""}{" "}
                  {spendOf(run) && `· ${spendOf(run)}`}
                </span>
              </Link>
            ))}
          </div>
        </section>
      )}
      <div>
        {!asks && (
          <Button kind="quiet" act={async () => say((await askToNotify()) ? text.notifyOn : text.notifyNo)}>
            {text.notify}
          </Button>
        )}
      </div>
    </aside>
  );
}

/** Files of several projects have the same name. */
const nameOf = (run: Listed): string => [run.project, fileName(run.source)].filter(Boolean).join(" · ");

function LiveRunAside({ run }: { run: Listed }) {
  const looked = useLooked(
    `aside-${run.run}`,
    (signal) => get<"GET /api/runs/{run}">("/api/runs/{run}", { run: run.run }, signal),
    (ring) => ring.run === run.run,
  );
  const status: StatusAnswer | null = looked.value;
  if (!status) return null;
  return (
    <section>
      <div className="section">
        <h2 className="cut">
          <Link href={`/runs/${run.run}`}>{nameOf(run)}</Link>
        </h2>
        <span className="small faint nowrap">{text.slots(status.running.length, status.slots)}</span>
      </div>
      <Bar shown={status.shown} thin />
      <div className="stack" style={{ gap: 0, marginTop: 6 }}>
        {status.running.slice(0, 8).map((task) => (
          <Link
            key={task.task}
            className="row at-work"
            href={`/runs/${run.run}/tasks/${encodeURIComponent(task.task)}`}
          >
            <State state="running" word={<b>{task.task}</b>} phase={task.phase} />
            <span className="grow" />
            <span className="small faint nowrap">
              {duration(task.for_ms)}
              {task.cost_usd !== 0 && ` · ${dollars(task.cost_usd)}`}
            </span>
          </Link>
        ))}
      </div>
      {status.next.length > 0 && (
        <>
          <div className="section" style={{ marginTop: 12 }}>
            <h3>{text.next}</h3>
          </div>
          <div className="rows">
            {status.next.slice(0, 4).map((task) => (
              <Link key={task.task} href={`/runs/${run.run}/tasks/${encodeURIComponent(task.task)}`}>
                <State state="pending" word={task.task} />
                <span className="grow cut small faint">{task.why[0]?.words}</span>
              </Link>
            ))}
          </div>
        </>
      )}
    </section>
  );
}
