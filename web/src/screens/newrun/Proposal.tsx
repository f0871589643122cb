// What the planner proposes: chosen, changed, and put into the file.

import { useState } from "react";
import { fileName } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { say } from "../../lib/messages";
import { Button } from "../../parts/Button";
import { TextField, TextLines } from "../../parts/Fields";
import { newrun as text } from "../../words/newrun";
import { addTask } from "../board/acts";
import { fieldsOf, needed, type Proposed } from "./data";

interface ProposalProps {
  project: string;
  file: string;
  /** What the file has already. */
  known: ReadonlySet<string>;
  tasks: Proposed[];
  added: (ids: string[]) => void;
}

export function Proposal({ project, file, known, tasks: first, added }: ProposalProps) {
  const [tasks, setTasks] = useState(first);
  const [out, setOut] = useState<ReadonlySet<number>>(new Set());
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const forbidden = useForbidden(project, "admin");
  const name = fileName(file);
  const chosen = tasks.filter((_, place) => !out.has(place));
  const change = (place: number, changes: Partial<Proposed>) =>
    setTasks((all) => all.map((task, at) => (at === place ? { ...task, ...changes } : task)));
  const toggle = (place: number) =>
    setOut((before) => {
      const now = new Set(before);
      if (!now.delete(place)) now.add(place);
      return now;
    });
  // One after the other; those that are in the file already are not put there again after a refusal.
  const addAll = async () => {
    const there = new Set([...known, ...done]);
    for (const task of inOrder(chosen)) {
      if (done.has(task.id)) continue;
      await addTask(project, fieldsOf(task, there));
      there.add(task.id);
      setDone((before) => new Set(before).add(task.id));
    }
    say(text.added(chosen.length, name));
    added(chosen.map((task) => task.id));
  };
  return (
    <>
      <ol className="plan-list">
        {tasks.map((task, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an id may be changed while it is typed
          <li key={place} data-out={out.has(place) || undefined}>
            <input
              type="checkbox"
              aria-label={text.include(task.id)}
              checked={!out.has(place)}
              onChange={() => toggle(place)}
            />
            <Task task={task} change={(changes) => change(place, changes)} />
          </li>
        ))}
      </ol>
      <div className="actions">
        <Button kind="primary" forbidden={forbidden ?? (chosen.length === 0 ? text.choose : null)} act={addAll}>
          {text.addTo(chosen.length, name)}
        </Button>
      </div>
      <p className="small faint">{text.addNote(name)}</p>
    </>
  );
}

/** What comes first is added first: the file would not load otherwise. */
function inOrder(tasks: Proposed[]): Proposed[] {
  const left = [...tasks];
  const ordered: Proposed[] = [];
  while (left.length > 0) {
    const waiting = new Set(left.map((task) => task.id));
    const at = left.findIndex((task) => needed(task).every((id) => !waiting.has(id) || id === task.id));
    ordered.push(...left.splice(Math.max(0, at), 1));
  }
  return ordered;
}

function Task({ task, change }: { task: Proposed; change: (changes: Partial<Proposed>) => void }) {
  const after = needed(task);
  return (
    <details className="grow">
      <summary>
        <span className="cut">
          <b>{task.id}</b> <span className="dim">{task.name}</span>
        </span>
        <span className="small faint cut">
          {[task.agent, task.model].filter(Boolean).join(" ")}
          {after.length > 0 && ` · ${text.after(after.join(", "))}`}
        </span>
      </summary>
      <div className="form-grid">
        <TextField label={text.fields.id} value={task.id} set={(id) => change({ id })} mono />
        <TextField label={text.fields.name} value={task.name ?? ""} set={(name) => change({ name })} />
        <TextField label={text.fields.agent} value={task.agent ?? ""} set={(agent) => change({ agent })} />
        <TextField label={text.fields.model} value={task.model ?? ""} set={(model) => change({ model })} />
        <TextField
          label={text.fields.after}
          value={after.join(", ")}
          set={(value) => change({ dependencies: value.split(/[,\s]+/).filter(Boolean) })}
          mono
          wide
        />
        <TextLines
          label={text.fields.prompt}
          value={task.prompt ?? task.description ?? ""}
          set={(prompt) => change({ prompt })}
          rows={4}
          wide
        />
      </div>
    </details>
  );
}
