import type { RefObject } from "react";
import { Link } from "wouter";
import { fileName } from "../../lib/format";
import { usePlace } from "../../lib/place";
import { Button } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { board } from "../../words/board";
import { expertise } from "../../words/expertise";
import type { ProjectWithError } from "./data";

interface ToolsProps {
  project: ProjectWithError;
  tasks: number;
  run: string | null;
  epics: string[];
  selected: number;
  clear: () => void;
  filterBox: RefObject<HTMLInputElement | null>;
  mayEdit: string | null;
  mayRun: string | null;
  add: () => void;
  start: () => void;
}

/** The line over the columns: what is looked at, and what can be done with it. */
export function BoardTools(props: ToolsProps) {
  const { project, epics, selected } = props;
  const [read, write] = usePlace();
  return (
    <div className="tools">
      <h1>{project.name}</h1>
      <span className="small faint grow">
        {fileName(project.file)} · {board.tasks(props.tasks)}
        {epics.length > 0 && ` · ${board.epics(epics.length)}`}
      </span>
      <Link className="link small" href={`/projects/${encodeURIComponent(project.id)}/expertise`}>
        {expertise.open}
      </Link>
      {props.run && (
        <Link className="link small" href={`/runs/${props.run}`}>
          {board.openRun}
        </Link>
      )}
      <label className="search">
        <Icon name="search" />
        <input
          ref={props.filterBox}
          aria-label={board.filter}
          placeholder={board.filter}
          value={read("filter")}
          onChange={(event) => write({ filter: event.target.value })}
        />
        <kbd>/</kbd>
      </label>
      {epics.length > 0 && (
        <select
          className="input fit"
          aria-label={board.edit.epic}
          value={read("epic")}
          onChange={(event) => write({ epic: event.target.value })}
        >
          <option value="">{board.allEpics}</option>
          {epics.map((one) => (
            <option key={one} value={one}>
              {board.epic(one)}
            </option>
          ))}
        </select>
      )}
      {selected > 0 && (
        <button type="button" className="chip" onClick={props.clear} title={board.clear}>
          {board.selected(selected)} <Icon name="close" />
        </button>
      )}
      <Button hint="n" forbidden={props.mayEdit} act={props.add}>
        {board.addTask}
      </Button>
      <Button kind="primary" hint="r" forbidden={props.mayRun} act={props.start}>
        {selected > 0 ? board.runSelected(selected) : board.runAll}
      </Button>
    </div>
  );
}
