import { close, messages } from "../lib/messages";
import { useStore } from "../lib/store";
import { words } from "../words";
import { Icon } from "./Icon";

export function Messages() {
  const shown = useStore(messages);
  return (
    <div className="messages" role="status" aria-live="polite">
      {shown.map((message) => (
        <div key={message.id} className="message" data-kind={message.kind}>
          <header>
            <span className="grow">{message.title}</span>
            <button type="button" className="link" aria-label={words.dialog.close} onClick={() => close(message.id)}>
              <Icon name="close" />
            </button>
          </header>
          {message.detail && <p>{message.detail}</p>}
          {message.help && <p className="dim">{message.help}</p>}
        </div>
      ))}
    </div>
  );
}

/** In the place of what could not be shown. */
export function Refused({ error }: { error: (Error & { help?: string | null }) | null }) {
  return error ? (
    <div className="refusal" role="alert">
      <b>{error.message}</b>
      {error.help && <span>{error.help}</span>}
    </div>
  ) : null;
}
