// Everything that happened in a run, newest first.

import { type CSSProperties, useEffect, useMemo, useState } from "react";
import { Link, useParams } from "wouter";
import { useInAddress } from "../../lib/address";
import { count, exactly } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useHasPanel, useNarrow } from "../../lib/media";
import { useRun } from "../../live/run";
import { useWindowRows } from "../../parts/rows";
import { words } from "../../words";
import { eventTypes, eventWords, type RunEvent, told, typeName } from "../../words/runEvents";
import { useEventLog } from "./eventLog";
import { RunFrame } from "./RunFrame";

const text = eventWords;
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export function RunEvents() {
  const { run = "" } = useParams<{ run: string }>();
  return (
    <RunFrame run={run} tab="events">
      <Events key={run} run={run} />
    </RunFrame>
  );
}

function Events({ run }: { run: string }) {
  const { status } = useRun(run);
  const hasPanel = useHasPanel();
  const [type, setType] = useInAddress("type");
  const [task, setTask] = useInAddress("about");
  const [chosen, setChosen] = useInAddress("event");
  const [follow, setFollow] = useInAddress("follow", "on");
  const { events, hasOlder, older } = useEventLog(run, status?.seq ?? 0);
  const [until, setUntil] = useState<number | null>(null);
  const isHeld = follow !== "on";
  const newest = events[0]?.seq ?? 0;
  // What is new waits while it is not followed.
  useEffect(() => setUntil(isHeld ? (before) => before ?? newest : null), [isHeld, newest]);
  const fitting = useMemo(
    () => events.filter((event) => (!type || event.type === type) && (!task || isAbout(event, task))),
    [events, type, task],
  );
  const shown = useMemo(
    () => (until === null ? fitting : fitting.filter((event) => event.seq <= until)),
    [fitting, until],
  );
  const fresh = fitting.length - shown.length;
  const event = events.find((one) => String(one.seq) === chosen);
  return (
    <div className="with-panel">
      <div style={{ minWidth: 0 }}>
        <div className="tools">
          <select
            className="input"
            aria-label={text.type}
            value={type}
            onChange={(change) => setType(change.target.value)}
          >
            <option value="">{text.allTypes}</option>
            {eventTypes.map((name) => (
              <option key={name} value={name}>
                {typeName(name)}
              </option>
            ))}
          </select>
          <input
            className="input"
            type="search"
            aria-label={text.taskFilter}
            placeholder={text.taskFilter}
            value={task}
            onChange={(change) => setTask(change.target.value)}
          />
          <label className="chip square" title={text.followTip}>
            <input type="checkbox" checked={!isHeld} onChange={() => setFollow(isHeld ? "on" : "off")} /> {text.follow}
          </label>
          {fresh > 0 && (
            <button type="button" className="chip" aria-live="polite" onClick={() => setUntil(newest)}>
              {text.fresh(fresh)}
            </button>
          )}
        </div>
        <List run={run} events={shown} hasOlder={hasOlder} older={older} chosen={chosen} choose={setChosen} />
      </div>
      {hasPanel && (
        <aside className="panel" aria-label={text.json}>
          {event ? <Json run={run} event={event} /> : <p className="small faint">{text.pick}</p>}
        </aside>
      )}
    </div>
  );
}

const isAbout = (event: RunEvent, task: string): boolean =>
  event.task?.includes(task) || (Array.isArray(event.tasks) && event.tasks.some((one) => String(one).includes(task)));

function Json({ run, event }: { run: string; event: RunEvent }) {
  return (
    <>
      <div className="stack" style={{ gap: 4 }}>
        <h2>
          {count(event.seq)} · {typeName(event.type)}
        </h2>
        <time className="small faint" dateTime={event.at}>
          {exactly(event.at)}
        </time>
        {event.task && (
          <Link className="link small" href={`/runs/${run}?task=${encodeURIComponent(event.task)}`}>
            {event.task}
          </Link>
        )}
      </div>
      <pre className="code" tabIndex={0} role="region" aria-label={text.json}>
        {JSON.stringify(event, null, 2)}
      </pre>
    </>
  );
}

interface ListProps {
  run: string;
  events: RunEvent[];
  hasOlder: boolean;
  older: () => void;
  chosen: string;
  choose: (seq: string | null) => void;
}

function List({ run, events, hasOlder, older, chosen, choose }: ListProps) {
  const narrow = useNarrow();
  const hasPanel = useHasPanel();
  const { list, rows, place, height } = useWindowRows({ count: events.length, size: narrow ? 56 : 32, above: 86 });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (hasOlder && last >= events.length - 20) older();
  }, [hasOlder, last, events.length, older]);
  const at = events.findIndex((event) => String(event.seq) === chosen);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(events.length - 1, at + by));
    if (!events[next]) return;
    choose(String(events[next].seq));
    rows.scrollToIndex(next, { align: "auto" });
  };
  useKeys([
    { keys: "j", label: words.keys.next, act: () => move(1) },
    { keys: "k", label: words.keys.previous, act: () => move(-1) },
    { keys: "Escape", label: words.dialog.close, act: () => choose(null) },
  ]);
  const picked = !hasPanel && events[at];
  return (
    <div className="table-box">
      {picked && (
        <div className="card" style={{ padding: 12, margin: 8 }}>
          <Json run={run} event={picked} />
        </div>
      )}
      {!narrow && (
        <div className="table sticky" style={{ "--columns": COLUMNS } as CSSProperties} aria-hidden="true">
          <div className="table-head">
            <span className="num">{text.number}</span>
            <span>{text.time}</span>
            <span>{text.type}</span>
            <span>{text.task}</span>
            <span>{text.what}</span>
          </div>
        </div>
      )}
      <div
        ref={list}
        role="group"
        aria-label={text.list}
        style={{ position: "relative", height, "--columns": COLUMNS } as CSSProperties}
      >
        {items.map((row) => {
          const event = events[row.index];
          return event ? (
            <button
              key={event.seq}
              type="button"
              className={narrow ? "events-row two-lines" : "events-row"}
              aria-pressed={String(event.seq) === chosen}
              style={place(row.start)}
              onClick={() => choose(String(event.seq) === chosen ? null : String(event.seq))}
            >
              <span className="num faint e-seq">{count(event.seq)}</span>
              <time className="faint e-time" dateTime={event.at} title={exactly(event.at)}>
                {clock.format(new Date(event.at))}
              </time>
              <span className="dim e-type">{typeName(event.type)}</span>
              <b className="e-task">{event.task}</b>
              <span className="e-told" title={told(event)}>
                {told(event)}
              </span>
            </button>
          ) : null;
        })}
      </div>
      {events.length === 0 && !hasOlder && <p className="nothing">{text.nothing}</p>}
      {hasOlder && <p className="small faint foot">{text.older}</p>}
    </div>
  );
}

const COLUMNS = "56px 72px 148px minmax(90px, 160px) minmax(0, 1fr)";
