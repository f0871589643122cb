// Lines of text, of which only those in sight are drawn, however many there are. The place is a line's number, not a height:
// browsers know no element that is high enough for some millions of them.

import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { type Lines, seeker, tellsOfError } from "../lib/lines";

const HEIGHT = 18;
const HIGHEST = 8_000_000;
/** Longer lines are cut: a browser takes long to lay them out. */
const LONGEST = 5000;

export interface LogPlace {
  /** Brings a line into sight. */
  show: (line: number, where?: "middle" | "end") => void;
}

interface Props {
  lines: Lines;
  version: number;
  wrap: boolean;
  sought: string;
  /** The match at which one is: its line, and where it begins in the text. */
  match: { line: number; at: number } | null;
  marked: number | null;
  place: RefObject<LogPlace | null>;
  label: string;
  onMove: (atEnd: boolean) => void;
}

export function LogLines({ lines, version, wrap, sought, match, marked, place, label, onMove }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  const total = lines.count;
  const height = Math.min(total * HEIGHT, HIGHEST);
  const seen = Math.ceil(room / HEIGHT);
  const last = Math.max(0, total - seen);
  const scale = useCallback(() => {
    const free = Math.max(1, height - room);
    return { free, perPixel: Math.max(0, total - room / HEIGHT) / free };
  }, [height, room, total]);
  const first = Math.min(Math.floor(top * scale().perPixel), Math.max(0, total - 1));
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => setRoom(element.clientHeight);
    look();
    const watch = new ResizeObserver(look);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    place.current = {
      show: (line, where = "middle") => {
        const element = box.current;
        if (!element) return;
        const wanted = where === "end" ? last : Math.max(0, Math.min(last, line - Math.floor(seen / 2)));
        element.scrollTop = where === "end" ? element.scrollHeight : Math.ceil(wanted / scale().perPixel || 0);
        setTop(element.scrollTop);
      },
    };
  }, [place, scale, last, seen]);
  const atEnd = top >= height - room - 2;
  const from = Math.max(0, (atEnd ? last : first) - 5);
  const to = Math.min(total, from + seen + 15);
  const shown = [];
  for (let at = from; at < to; at += 1) shown.push(at);
  const offset = wrap || height < total * HEIGHT ? top - Math.min(5, from === 0 ? first : 5) * HEIGHT : from * HEIGHT;
  return (
    <div
      ref={box}
      className="log log-box"
      data-wrap={wrap}
      data-version={version}
      style={{ height: `min(${total * HEIGHT + 20}px, max(280px, 100vh - 230px))` }}
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={(event) => {
        const element = event.currentTarget;
        setTop(element.scrollTop);
        onMove(element.scrollTop >= element.scrollHeight - element.clientHeight - 4);
      }}
    >
      <div className="log-space" style={{ height: Math.max(height, 1) }}>
        <div
          className="log-lines"
          style={atEnd && total > seen ? { bottom: 0 } : { transform: `translateY(${Math.max(0, offset)}px)` }}
        >
          {shown.map((at) => (
            <LogLine
              key={at}
              number={at}
              text={lines.line(at)}
              sought={sought}
              match={match?.line === at ? match.at - lines.start(at) : null}
              marked={marked === at}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  number: number;
  text: string;
  sought: string;
  match: number | null;
  marked: boolean;
}

function LogLine({ number, text, sought, match, marked }: LineProps) {
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text;
  const wrong = tellsOfError(shown.slice(0, 1000));
  return (
    <div className={wrong ? "line wrong" : "line"} data-marked={marked || undefined}>
      <span className="number" aria-hidden="true">
        {number + 1}
      </span>
      <span>{sought ? <Marked text={shown} sought={sought} match={match} /> : shown || " "}</span>
    </div>
  );
}

function Marked({ text, sought, match }: { text: string; sought: string; match: number | null }) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(seeker(sought))) {
    if (found.index > at) parts.push(text.slice(at, found.index));
    parts.push(
      <mark key={found.index} data-here={found.index === match || undefined}>
        {found[0]}
      </mark>,
    );
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  return <>{parts}</>;
}
