import { useState } from "react";
import { at, exactly } from "../../lib/format";
import { Glyph } from "../../parts/State";
import { taskWords } from "../../words/task";
import { type Told, told } from "./events";
import type { TaskPart } from "./Task";

const text = taskWords.history;

export function HistoryTab({ events }: TaskPart) {
  const [all, setAll] = useState(false);
  const shown = told(events).filter((one) => all || !one.minor);
  return (
    <section className="stack" aria-label={text.label}>
      <label className="row small">
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
        {text.showAll}
      </label>
      {shown.length === 0 ? <p className="dim">{text.nothing}</p> : <Happenings shown={shown} />}
    </section>
  );
}

export function Happenings({ shown }: { shown: Told[] }) {
  return (
    <ol className="history">
      {shown.map((one) => (
        <li key={`${one.seq}-${one.words}`}>
          <time className="small faint nowrap" dateTime={one.at} title={exactly(one.at)}>
            {at(one.at)}
          </time>
          <span className="mark" data-state={one.state ?? undefined}>
            {one.state && <Glyph state={one.state} />}
          </span>
          <div>
            <span className={one.minor ? "dim" : undefined}>{one.words}</span>
            {one.more.map((more) => (
              <p key={more} className="small dim">
                {more}
              </p>
            ))}
          </div>
        </li>
      ))}
    </ol>
  );
}
