// A task in the form: what was seen, what is typed, and what to do where the file was changed in between.

import { useEffect, useState } from "react";
import { Refusal } from "../../api/http";
import { refuse, say } from "../../lib/messages";
import { board } from "../../words/board";
import { addTask, changeTask } from "./acts";
import { type FileTasks, readFile } from "./data";
import { changedFields, EMPTY, type Form, formOf, newFields } from "./form";

interface Seen {
  version: string;
  text: string;
  form: Form;
}

export interface Stale {
  /** The task as it is now; null where it is gone. */
  form: Form | null;
  file: FileTasks;
}

function seenIn(file: FileTasks, task: string | null): Seen | null {
  if (task === null) return { version: file.version, text: file.text, form: EMPTY };
  const found = file.tasks.find((one) => one.id === task);
  return found ? { version: file.version, text: file.text, form: formOf(found, file.text) } : null;
}

export interface TaskForm {
  seen: Seen | null;
  form: Form;
  set: <K extends keyof Form>(name: K, value: Form[K]) => void;
  dirty: boolean;
  stale: Stale | null;
  refusal: Refusal | null;
  /** The file before what was saved here last. */
  before: string | null;
  save: () => Promise<void>;
  revert: () => void;
  load: () => void;
  keep: () => void;
}

export function useTaskForm(
  project: string,
  task: string | null,
  file: FileTasks,
  fileName: string,
  saved: (id: string) => void,
): TaskForm {
  const [seen, setSeen] = useState<Seen | null>(() => seenIn(file, task));
  const [form, setForm] = useState<Form>(seen?.form ?? EMPTY);
  const [stale, setStale] = useState<Stale | null>(null);
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [before, setBefore] = useState<string | null>(null);
  const dirty = seen !== null && JSON.stringify(form) !== JSON.stringify(seen.form);

  const take = (now: Seen | null) => {
    setSeen(now);
    setForm(now?.form ?? EMPTY);
    setStale(null);
    setRefusal(null);
  };

  // What is not being changed here follows the file.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another version of the file matters
  useEffect(() => {
    if (!dirty && seen?.version !== file.version) take(seenIn(file, task));
  }, [file.version]);

  const save = async () => {
    if (!seen) return;
    if (task !== null && !dirty) {
      say(board.edit.nothing);
      return;
    }
    setRefusal(null);
    try {
      if (task === null) {
        const made = await addTask(project, newFields(form));
        say(board.edit.added(made.id, fileName));
        saved(made.id);
        return;
      }
      const id = form.id.trim() !== task ? form.id.trim() : null;
      const made = await changeTask(project, task, changedFields(seen.form, form), id, seen.version);
      setBefore(seen.text);
      setSeen({ ...seen, version: made.version, form });
      say(board.edit.saved(made.id, fileName));
      saved(made.id);
    } catch (error) {
      if (!(error instanceof Refusal)) refuse(error);
      else if (error.status === 412) {
        const newer = await readFile(project);
        setStale({ file: newer, form: seenIn(newer, task)?.form ?? null });
      } else setRefusal(error);
    }
  };

  return {
    seen,
    form,
    set: (name, value) => setForm((now) => ({ ...now, [name]: value })),
    dirty,
    stale,
    refusal,
    before,
    save,
    revert: () => take(seen),
    load: () => stale && take(seenIn(stale.file, task)),
    // What was typed stays; the rest is as it is in the file now.
    keep: () => {
      const now = stale && seenIn(stale.file, task);
      if (!now || !seen) return;
      const mine = Object.fromEntries(
        Object.entries(form).filter(([name, value]) => seen.form[name as keyof Form] !== value),
      );
      setSeen(now);
      setForm({ ...now.form, ...mine });
      setStale(null);
    },
  };
}
