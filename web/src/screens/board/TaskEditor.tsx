// A task of the file in a form, with its lines beside it.

import { Link } from "wouter";
import { Refusal } from "../../api/http";
import { useKeys } from "../../lib/keys";
import { useForbidden } from "../../lib/me";
import { say } from "../../lib/messages";
import { Button } from "../../parts/Button";
import { confirmed } from "../../parts/Dialog";
import { State } from "../../parts/State";
import type { StateName } from "../../words";
import { board } from "../../words/board";
import { removeTask } from "./acts";
import type { FileTasks, Placed } from "./data";
import { differing, type Form } from "./form";
import { TaskFields } from "./TaskFields";
import { type Stale, useTaskForm } from "./useTaskForm";
import { YamlLines } from "./YamlLines";

const text = board.edit;

interface EditorProps {
  project: string;
  /** None: a new task. */
  placed: Placed | null;
  file: FileTasks;
  fileName: string;
  wrong: number;
  choose: (task: string | null) => void;
  again: () => void;
}

export function TaskEditor({ project, placed, file, fileName, wrong, choose, again }: EditorProps) {
  const task = placed?.task.id ?? null;
  const forbidden = useForbidden(project, "admin");
  const mine = useTaskForm(project, task, file, fileName, (id) => {
    again();
    choose(id);
  });
  useKeys([
    { keys: "mod+s", label: board.keys.save, act: () => !forbidden && mine.save() },
    { keys: "Escape", label: board.keys.close, act: () => choose(null) },
  ]);
  const remove = async () => {
    if (!task || !(await confirmed(text.askRemove(task, fileName), text.removeNow))) return;
    try {
      await removeTask(project, task, file.version);
    } catch (error) {
      if (error instanceof Refusal && error.status === 412) again();
      throw error;
    }
    say(text.removed(task, fileName));
    choose(null);
    again();
  };
  return (
    <section className="editor" aria-label={task ?? text.new}>
      <form
        className="editor-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!forbidden) mine.save();
        }}
      >
        <header className="row wrap">
          <h2>{task ?? text.new}</h2>
          {placed?.live && <State state={placed.live.state as StateName} phase={placed.live.phase} />}
          {placed?.live && placed.task.run && (
            <Link className="link small" href={`/runs/${placed.task.run}/tasks/${encodeURIComponent(placed.task.id)}`}>
              {text.openTask}
            </Link>
          )}
          <span className="grow" />
          <span className="small faint">{text.editsFile(fileName)}</span>
          <Button kind="quiet" local hint="Esc" act={() => choose(null)}>
            {text.close}
          </Button>
        </header>
        {mine.stale && <Changed stale={mine.stale} was={mine.seen?.form ?? null} load={mine.load} keep={mine.keep} />}
        {mine.refusal && (
          <div className="refusal" role="alert">
            {mine.refusal.errors.length > 0 ? (
              mine.refusal.errors.map((one) => (
                <span key={one.message}>
                  <b>{one.message}</b> {one.help}
                </span>
              ))
            ) : (
              <b>{mine.refusal.message}</b>
            )}
            {mine.refusal.errors.length === 0 && mine.refusal.help && <span>{mine.refusal.help}</span>}
          </div>
        )}
        <TaskFields form={mine.form} set={mine.set} refusal={mine.refusal} />
        <footer className="actions">
          <Button kind="primary" hint={task ? "Ctrl S" : undefined} forbidden={forbidden} act={mine.save}>
            {task ? text.save(fileName) : text.addTo(fileName)}
          </Button>
          {task && mine.dirty && (
            <Button local act={mine.revert}>
              {text.revert}
            </Button>
          )}
          <span className="grow" />
          {task && (
            <Button kind="danger" forbidden={forbidden} act={remove}>
              {text.remove}
            </Button>
          )}
        </footer>
      </form>
      <YamlLines file={fileName} source={file.text} task={task} before={mine.before} wrong={wrong} />
    </section>
  );
}

interface ChangedProps {
  stale: Stale;
  was: Form | null;
  load: () => void;
  keep: () => void;
}

/** The file was written from elsewhere: what is different, and the two ways on. */
function Changed({ stale, was, load, keep }: ChangedProps) {
  const { form } = stale;
  const names = form && was ? differing(was, form) : [];
  return (
    <div className="stale" role="alert" data-state="needs">
      <State state="needs" word={<b>{text.stale}</b>} />
      {!form && <p>{text.staleGone}</p>}
      {form && names.length === 0 && <p>{text.staleOther}</p>}
      {form && was && names.length > 0 && (
        <dl className="facts">
          {names.map((name) => (
            <div key={name} style={{ display: "contents" }}>
              <dt>{name === "work" ? text[form.kind] : text[name]}</dt>
              <dd>
                {text.staleWas} <code>{was[name] || text.empty}</code>, {text.staleIs}{" "}
                <code>{form[name] || text.empty}</code>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <div className="actions">
        <Button kind="primary" act={load}>
          {text.load}
        </Button>
        {form && (
          <Button local act={keep}>
            {text.keep}
          </Button>
        )}
        <span className="small faint">{text.loadHelp}</span>
      </div>
    </div>
  );
}
