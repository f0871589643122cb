import { type KeyboardEvent, useState } from "react";
import { count } from "../../lib/format";
import { Glyph } from "../../parts/State";
import type { StateName } from "../../words";
import { board } from "../../words/board";
import { Card } from "./Card";
import { COLUMNS, type ColumnName, type Placed } from "./data";

const stateOf: Record<ColumnName, StateName> = {
  backlog: "waiting",
  ready: "pending",
  running: "running",
  needs: "needs",
  review: "needs",
  landed: "landed",
  failed: "failed",
};

/** So many cards of a column are drawn before one asks for more. */
const FIRST = 60;

interface ColumnsProps {
  shown: Placed[];
  chosen: string;
  selected: ReadonlySet<string>;
  open: (id: string) => void;
  toggle: (id: string) => void;
  onKey: (event: KeyboardEvent, placed: Placed) => void;
  drop: (moved: string, onto: string) => void;
  mayMove: boolean;
}

export function Columns(props: ColumnsProps) {
  return (
    <div className="board">
      {COLUMNS.map((name) => (
        <Column key={name} name={name} {...props} shown={props.shown.filter((one) => one.column === name)} />
      ))}
    </div>
  );
}

function Column({ name, shown, chosen, selected, ...acts }: ColumnsProps & { name: ColumnName }) {
  const [most, setMost] = useState(FIRST);
  return (
    <section className="column" data-state={stateOf[name]} data-empty={shown.length === 0 || undefined}>
      <header>
        <Glyph state={stateOf[name]} />
        <h2 id={`column-${name}`}>{board.columns[name]}</h2>
        <span className="faint">{count(shown.length)}</span>
      </header>
      <ul aria-labelledby={`column-${name}`}>
        {shown.slice(0, most).map((one) => (
          <Card
            key={one.task.id}
            placed={one}
            chosen={one.task.id === chosen}
            selected={selected.has(one.task.id)}
            {...acts}
          />
        ))}
      </ul>
      {shown.length > most && (
        <button type="button" className="link small" onClick={() => setMost(most + FIRST * 4)}>
          {board.more(shown.length - most)}
        </button>
      )}
    </section>
  );
}
