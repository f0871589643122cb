// What the agent or the command said, all of it.

import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { lastError, search } from "../../lib/lines";
import { remember, remembered } from "../../lib/settings";
import { Icon } from "../../parts/Icon";
import { LogLines, type LogPlace } from "../../parts/LogLines";
import { Refused } from "../../parts/Messages";
import { taskWords } from "../../words/task";
import { logAddress, useLog } from "./log";
import type { TaskPart } from "./Task";

const text = taskWords.log;

export function LogTab({ run, task, attempt, status }: TaskPart) {
  const atWork = task.state === "running" && attempt === task.attempts;
  const log = useLog(run, task.id, attempt, atWork, status?.seq ?? 0);
  const [written, setWritten] = useState("");
  const sought = useDeferredValue(written);
  const [at, setAt] = useState(-1);
  const [follow, setFollow] = useState(atWork);
  const [wrap, setWrap] = useState(remembered("wrap", "") === "yes");
  const place = useRef<LogPlace>(null);
  const field = useRef<HTMLInputElement>(null);
  const { lines, version } = log;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is another with each version
  const found = useMemo(() => search(lines.text, sought), [lines, version, sought]);
  const wrong = useOpening(lines, version, log.loaded && task.state === "failed", place);
  useEffect(() => {
    if (follow && version > 0) place.current?.show(0, "end");
  }, [follow, version]);
  const go = (step: number) => {
    if (found.length === 0) return;
    const next = at < 0 && step < 0 ? found.length - 1 : (at + step + found.length) % found.length;
    setAt(next);
    setFollow(false);
    place.current?.show(lines.lineAt(found[next] ?? 0));
  };
  // What is looked for has changed: the first match comes into sight.
  const first = found[0];
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when something else is looked for
  useEffect(() => {
    setAt(sought && first !== undefined ? 0 : -1);
    if (sought && first !== undefined) place.current?.show(lines.lineAt(first));
  }, [sought]);
  useKeys([
    { keys: "/", label: taskWords.keys.search, act: () => field.current?.focus() },
    { keys: "n", label: taskWords.keys.nextMatch, act: () => go(1) },
    { keys: "N", label: taskWords.keys.previousMatch, act: () => go(-1) },
    { keys: "e", label: taskWords.keys.nextError, act: () => wrong !== null && place.current?.show(wrong) },
  ]);
  const onMove = useCallback((atEnd: boolean) => !atEnd && setFollow(false), []);
  const position = found[at];
  const match = position === undefined ? null : { line: lines.lineAt(position), at: position };
  if (attempt === null) return <p className="dim">{text.notBegun}</p>;
  return (
    <section className="stack log-tab">
      <div className="row wrap small">
        <label className="search">
          <Icon name="search" />
          <input
            ref={field}
            aria-label={text.search}
            placeholder={text.search}
            value={written}
            onChange={(event) => setWritten(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
              else if (event.key === "Escape") field.current?.blur();
            }}
          />
          <kbd>/</kbd>
        </label>
        {sought && (
          <span className="nowrap" role="status" data-testid="matches">
            {found.length === 0 ? text.none : text.matches(count(at + 1), count(found.length))}
          </span>
        )}
        {found.length > 0 && (
          <>
            <button type="button" className="link" onClick={() => go(1)}>
              {text.next} <kbd>n</kbd>
            </button>
            <button type="button" className="link" onClick={() => go(-1)}>
              {text.previous} <kbd>N</kbd>
            </button>
          </>
        )}
        <span className="grow" />
        {wrong !== null && (
          <button type="button" className="link" onClick={() => place.current?.show(wrong)}>
            {text.lastError} <kbd>e</kbd>
          </button>
        )}
        {log.loaded && <span className="faint nowrap">{text.lines(count(lines.count))}</span>}
        <label className="row">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} />
          {text.follow}
        </label>
        <label className="row">
          <input
            type="checkbox"
            checked={wrap}
            onChange={(event) => {
              setWrap(event.target.checked);
              remember("wrap", event.target.checked ? "yes" : "");
            }}
          />
          {text.wrap}
        </label>
        <a className="link" href={logAddress(run, task.id, attempt)} download={`${task.id}-${attempt}.log`}>
          {text.download}
        </a>
      </div>
      <Refused error={log.refusal} />
      {log.loaded && lines.count === 0 && !log.refusal && <p className="dim">{text.empty}</p>}
      {lines.count > 0 && (
        <LogLines
          lines={lines}
          version={version}
          wrap={wrap}
          sought={sought}
          match={match}
          marked={wrong}
          place={place}
          label={text.label}
          onMove={onMove}
        />
      )}
    </section>
  );
}

/** The log of a task that failed opens at its last error; the line is known for the others, too. */
function useOpening(
  lines: Parameters<typeof lastError>[0],
  version: number,
  opens: boolean,
  place: { current: LogPlace | null },
) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is another with each version
  const wrong = useMemo(() => lastError(lines), [lines, version]);
  const opened = useRef(false);
  useEffect(() => {
    if (!opens || opened.current || lines.count === 0) return;
    opened.current = true;
    place.current?.show(wrong ?? 0, wrong === null ? "end" : "middle");
  }, [opens, lines.count, wrong, place]);
  return wrong;
}
