import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Away, Refusal } from "../api/http";
import { words } from "../words";
import { Refused } from "./Messages";

interface FormDialogProps {
  title: string;
  detail?: ReactNode;
  ok: string;
  /** Done when the form is sent; a refusal is shown in it, and it stays open. */
  submit: () => Promise<unknown>;
  close: () => void;
  children: ReactNode;
}

export function FormDialog({ title, detail, ok, submit, close, children }: FormDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [refusal, setRefusal] = useState<Refusal | Away | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setRefusal(null);
    try {
      await submit();
      close();
    } catch (error) {
      if (!(error instanceof Refusal) && !(error instanceof Away)) throw error;
      setRefusal(error);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} className="form-dialog" aria-labelledby="form-title" onCancel={close}>
      <form onSubmit={send}>
        <div className="body">
          <h2 id="form-title">{title}</h2>
          {detail && <div className="dim">{detail}</div>}
          <div className="form-grid">{children}</div>
          <Refused error={refusal} />
        </div>
        <footer className="actions">
          <button type="submit" className="button primary" aria-busy={busy || undefined}>
            {ok}
          </button>
          <button type="button" className="button quiet" onClick={close}>
            {words.dialog.cancel}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
