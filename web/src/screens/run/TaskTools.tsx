import { useEffect, useRef } from "react";
import type { Shown } from "../../api/types";
import { count } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { compact } from "../../lib/settings";
import { useStore } from "../../lib/store";
import { Icon } from "../../parts/Icon";
import { Glyph } from "../../parts/State";
import { words } from "../../words";
import { runWords } from "../../words/run";
import { taskWords } from "../../words/runTasks";
import { COLUMNS, type ColumnName, chosenColumns, FIXED, switchColumn } from "./columns";
import { CHIPS, type Chip, type GroupBy } from "./layout";

interface Props {
  total: number;
  shown: Shown;
  query: string;
  setQuery: (query: string | null) => void;
  chip: string;
  setChip: (chip: string | null) => void;
  by: GroupBy;
  setBy: (by: string | null) => void;
  moved: number;
  settle: () => void;
}

const KEYS: Partial<Record<Chip, string>> = { needs: "n", failed: "f", running: "r" };

export function TaskTools(props: Props) {
  const { total, shown, query, setQuery, chip, setChip, by, setBy, moved, settle } = props;
  const input = useRef<HTMLInputElement>(null);
  const toggle = (name: Chip) => setChip(chip === name ? null : name);
  useKeys([
    { keys: "/", label: words.keys.filter, act: () => input.current?.focus() },
    { keys: "n", label: runWords.keys.needs, act: () => toggle("needs") },
    { keys: "f", label: runWords.keys.failed, act: () => toggle("failed") },
    { keys: "r", label: runWords.keys.running, act: () => toggle("running") },
  ]);
  return (
    <div className="tools">
      <label className="search">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          aria-label={taskWords.filter}
          title={taskWords.filterHelp}
          placeholder={taskWords.filter}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape" && event.key !== "Enter") return;
            if (event.key === "Escape") setQuery(null);
            input.current?.blur();
          }}
        />
        <kbd>/</kbd>
      </label>
      <button type="button" className="chip" aria-pressed={!(chip in CHIPS)} onClick={() => setChip(null)}>
        {taskWords.all} {count(total)}
      </button>
      {(Object.keys(CHIPS) as Chip[]).map((name) => {
        const state = CHIPS[name][0];
        const n = CHIPS[name].reduce((sum, one) => sum + shown[one], 0);
        if (!state || (n === 0 && chip !== name && !KEYS[name])) return null;
        return (
          <button
            key={name}
            type="button"
            className="chip"
            data-state={state}
            aria-pressed={chip === name}
            onClick={() => toggle(name)}
          >
            <Glyph state={state} />
            {taskWords.chips[name]} {count(n)} {KEYS[name] && <kbd>{KEYS[name]}</kbd>}
          </button>
        );
      })}
      {moved > 0 && (
        <button type="button" className="chip" title={taskWords.movedTip} onClick={settle}>
          {taskWords.moved(moved)}
        </button>
      )}
      <span className="grow" />
      <View by={by} setBy={setBy} />
    </div>
  );
}

function View({ by, setBy }: Pick<Props, "by" | "setBy">) {
  const chosen = useStore(chosenColumns);
  const isCompact = useStore(compact);
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const isAway =
        event instanceof KeyboardEvent ? event.key === "Escape" : !menu.current?.contains(event.target as Node);
      if (isAway && menu.current) menu.current.open = false;
    };
    window.addEventListener("pointerdown", close);
    window.addEventListener("keydown", close);
    return () => {
      window.removeEventListener("pointerdown", close);
      window.removeEventListener("keydown", close);
    };
  }, []);
  return (
    <details className="menu" ref={menu}>
      <summary className="chip square">{taskWords.view}</summary>
      <div className="menu-box">
        <label className="field">
          {taskWords.groupBy}
          <select className="input" value={by} onChange={(event) => setBy(event.target.value)}>
            {(Object.keys(taskWords.groups) as GroupBy[]).map((name) => (
              <option key={name} value={name}>
                {taskWords.groups[name]}
              </option>
            ))}
          </select>
        </label>
        <label className="row wide-only">
          <input type="checkbox" checked={isCompact} onChange={() => compact.set(!isCompact)} /> {taskWords.compact}
        </label>
        <fieldset className="wide-only stack" style={{ gap: 6 }}>
          <legend className="small faint">{taskWords.columns}</legend>
          {(Object.keys(COLUMNS) as ColumnName[])
            .filter((name) => !FIXED.includes(name))
            .map((name) => (
              <label key={name} className="row">
                <input type="checkbox" checked={chosen.includes(name)} onChange={() => switchColumn(name)} />
                {name === "attempts" ? taskWords.attempts : taskWords.head[name]}
              </label>
            ))}
        </fieldset>
      </div>
    </details>
  );
}
