import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Store, useStore } from "../lib/store";
import { words } from "../words";

interface Asked {
  title: string;
  detail?: ReactNode;
  /** What is to be written: nothing where only yes or no is asked. */
  input?: { kind: "words" | "amount" | "line" | "choice"; value?: string; placeholder?: string; options?: string[] };
  ok: string;
  danger?: boolean;
  answer: (value: string | null) => void;
}

const asked = new Store<Asked | null>(null);

/** Asks the user once; null where it was called off. */
export function askUser(question: Omit<Asked, "answer">): Promise<string | null> {
  return new Promise((resolve) => {
    asked.set({
      ...question,
      answer: (value) => {
        asked.set(null);
        resolve(value);
      },
    });
  });
}

export const confirmed = async (title: string, ok: string, danger = true): Promise<boolean> =>
  (await askUser({ title, ok, danger })) !== null;

export function Dialogs() {
  const question = useStore(asked);
  return question ? <Asking key={question.title} question={question} /> : null;
}

function Asking({ question }: { question: Asked }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [value, setValue] = useState(question.input?.value ?? "");
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (question.input && !value.trim()) return;
    question.answer(value);
  };
  const { input } = question;
  return (
    <dialog ref={dialog} aria-labelledby="asked" onCancel={() => question.answer(null)}>
      <form onSubmit={submit}>
        <div className="body">
          <h2 id="asked">{question.title}</h2>
          {question.detail && <div className="dim">{question.detail}</div>}
          {input?.kind === "words" && (
            <textarea
              className="input"
              rows={5}
              aria-label={question.title}
              value={value}
              placeholder={input.placeholder}
              onChange={(event) => setValue(event.target.value)}
              onKeyDown={(event) => (event.metaKey || event.ctrlKey) && event.key === "Enter" && submit(event)}
            />
          )}
          {input?.kind === "choice" && (
            <select
              className="input"
              aria-label={question.title}
              value={value}
              onChange={(event) => setValue(event.target.value)}
            >
              {input.options?.map((option) => (
                <option key={option}>{option}</option>
              ))}
            </select>
          )}
          {input && input.kind !== "words" && input.kind !== "choice" && (
            <input
              className="input"
              aria-label={question.title}
              inputMode={input.kind === "amount" ? "decimal" : "text"}
              value={value}
              placeholder={input.placeholder}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </div>
        <footer className="actions">
          <button type="submit" className={question.danger ? "button danger" : "button primary"}>
            {question.ok}
          </button>
          <button type="button" className="button quiet" onClick={() => question.answer(null)}>
            {words.dialog.cancel}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
