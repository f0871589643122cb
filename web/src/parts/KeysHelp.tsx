import { useEffect, useRef } from "react";
import { known, useKeys } from "../lib/keys";
import { Store, useStore } from "../lib/store";
import { words } from "../words";

const open = new Store(false);

export function KeysHelp() {
  const shown = useStore(open);
  useKeys([{ keys: "?", label: words.keys.help, act: () => open.set(true) }]);
  return shown ? <Shown /> : null;
}

function Shown() {
  const dialog = useRef<HTMLDialogElement>(null);
  const layers = useStore(known);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => open.set(false);
  const all = [...layers].reverse().flat();
  const mod = navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl ";
  return (
    <dialog ref={dialog} aria-labelledby="keys" onCancel={close} onClose={close}>
      <div className="body">
        <h2 id="keys">{words.keys.title}</h2>
        <dl className="facts">
          {all.map((key) => (
            <div key={key.keys} style={{ display: "contents" }}>
              <dt>
                <kbd>{key.keys.replace("mod+", mod)}</kbd>
              </dt>
              <dd>{key.label}</dd>
            </div>
          ))}
        </dl>
      </div>
      <footer className="actions">
        <button type="button" className="button primary" onClick={close}>
          {words.dialog.close}
        </button>
      </footer>
    </dialog>
  );
}
